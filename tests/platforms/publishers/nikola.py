"""Nikola, a generator of static sites, with the settings of `nikola init`."""

from __future__ import annotations

from pathlib import Path

from tests.platforms.publisher import INSTALLED, Feed, Post, StaticSite, run

CONFIGURATION = """
{configuration}
SITE_URL = "{root}/"
OUTPUT_FOLDER = {output!r}
GENERATE_ATOM = True
FEED_LENGTH = INDEX_DISPLAY_POST_COUNT = 10
"""
POST = """\
.. title: {post.title}
.. slug: post-{post.number}
.. date: {post.published:%Y-%m-%d %H:%M:%S} UTC

{post.text}
"""


class Nikola(StaticSite):
    """A blog with RSS, which has the newest posts, and Atom, with links from page to page."""

    name = "Nikola"
    feeds = (Feed("RSS", "/rss.xml", answers=False), Feed("Atom", "/feed.atom"))
    installed = INSTALLED / "nikola" / "bin"

    @property
    def version(self) -> str:
        return self._run("version", cwd=self.folder).split()[-1].lstrip("v")

    def _run(self, *arguments: str | Path, cwd: Path) -> str:
        return run(self.installed / "nikola", *arguments, cwd=cwd)

    def set_up(self) -> None:
        self._run("init", "-q", self.source, cwd=self.folder)
        path = self.source / "conf.py"
        configuration = path.read_text(encoding="utf-8")
        path.write_text(
            CONFIGURATION.format(configuration=configuration, root=self.root, output=str(self.dist)),
            encoding="utf-8",
        )

    def path_of(self, number: int) -> Path:
        return self.source / "posts" / f"post-{number}.rst"

    def text_of(self, post: Post) -> str:
        return POST.format(post=post)

    def build(self) -> None:
        self._run("build", "-q", cwd=self.source)
