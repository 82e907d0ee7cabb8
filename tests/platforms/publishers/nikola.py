"""Nikola, a generator of static sites, with the settings of `nikola init`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tests.platforms.publisher import INSTALLED, Feed, StaticSite, run

CONFIGURATION = """
SITE_URL = "{root}/"
OUTPUT_FOLDER = {output!r}
FEED_LENGTH = INDEX_DISPLAY_POST_COUNT = 10
{more}
"""
# Python 3.10 no longer has these names where Nikola 7 looks for them.
FOR_NEW_PYTHON = """
import collections, collections.abc, sys
collections.Callable = collections.abc.Callable
from nikola.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
POST = """\
.. title: {post.title}
.. slug: post-{post.number}
.. date: {post.published:%Y-%m-%d %H:%M:%S} UTC

{post.text}
"""


class Nikola(StaticSite):
    name = "Nikola"
    feeds: ClassVar[Sequence[Feed]] = (Feed("", "/rss.xml", answers=False),)
    file, post = "posts/post-{number}.rst", POST
    more: ClassVar[str] = ""

    @property
    def version(self) -> str:
        return self._run("version", cwd=self.folder).split()[-1].lstrip("v")

    def _run(self, *arguments: str | Path, cwd: Path) -> str:
        return run(INSTALLED / "nikola" / "bin" / "nikola", *arguments, cwd=cwd)

    def set_up(self) -> None:
        self._run("init", "-q", self.source, cwd=self.folder)
        usual = (self.source / "conf.py").read_text(encoding="utf-8")
        more = CONFIGURATION.format(root=self.root, output=str(self.dist), more=self.more)
        self.put("conf.py", usual + more)

    def build(self) -> None:
        self._run("build", "-q", cwd=self.source)


class Nikola7(Nikola):
    name = "Nikola"
    feeds = (Feed("Atom", "/index.atom"),)
    # Without the compiler for Markdown, which new versions of Python do not load.
    more = """
GENERATE_ATOM = True
COMPILERS = {"rest": (".rst",)}
POSTS = (("posts/*.rst", "posts", "post.tmpl"),)
PAGES = ()
"""

    def _run(self, *arguments: str | Path, cwd: Path) -> str:
        python = INSTALLED / "nikola7" / "bin" / "python"
        return run(python, "-c", FOR_NEW_PYTHON, *arguments, cwd=cwd, LC_ALL="C.UTF-8")
