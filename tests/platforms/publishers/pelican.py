"""Pelican, a generator of static sites, with its usual sitemap plugin."""

from __future__ import annotations

from pathlib import Path

from tests.platforms.publisher import INSTALLED, Feed, Post, StaticSite, run

PROGRAM = INSTALLED / "pelican" / "bin" / "pelican"
SETTINGS = """
AUTHOR = "An author"
SITENAME = "A site"
SITEURL = FEED_DOMAIN = "{root}"
TIMEZONE = "UTC"
DEFAULT_LANG = "en"
FEED_ALL_ATOM = "feeds/all.atom.xml"
FEED_MAX_ITEMS = 10
CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None
PLUGINS = ["sitemap"]
SITEMAP = {{"format": "xml"}}
"""
POST = "Title: {post.title}\nDate: {post.published:%Y-%m-%d %H:%M:%S}\nCategory: Posts\n\n{post.text}\n"


class Pelican(StaticSite):
    """A blog with the settings of `pelican-quickstart`, and a limit for feeds."""

    name = "Pelican"
    feeds = (Feed("", "/feeds/all.atom.xml", answers=False),)

    @property
    def version(self) -> str:
        return run(PROGRAM, "--version", cwd=self.folder).strip()

    def set_up(self) -> None:
        (self.source / "content").mkdir()
        (self.source / "pelicanconf.py").write_text(SETTINGS.format(root=self.root), encoding="utf-8")

    def path_of(self, number: int) -> Path:
        return self.source / "content" / f"post-{number}.md"

    def text_of(self, post: Post) -> str:
        return POST.format(post=post)

    def build(self) -> None:
        run(PROGRAM, "content", "-s", "pelicanconf.py", "-o", self.dist, "-d", cwd=self.source)
