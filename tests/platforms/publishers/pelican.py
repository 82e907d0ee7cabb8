"""Pelican, a generator of static sites, with its usual sitemap plugin."""

from __future__ import annotations

from tests.platforms.publisher import INSTALLED, Feed, StaticSite, run

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
    name = "Pelican"
    feeds = (Feed("", "/feeds/all.atom.xml", answers=False),)
    file, post = "content/post-{number}.md", POST

    @property
    def version(self) -> str:
        return run(PROGRAM, "--version", cwd=self.folder).strip()

    def set_up(self) -> None:
        self.put("pelicanconf.py", SETTINGS.format(root=self.root))

    def build(self) -> None:
        run(PROGRAM, "content", "-s", "pelicanconf.py", "-o", self.dist, "-d", cwd=self.source)
