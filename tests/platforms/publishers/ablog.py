"""ABlog, which makes a blog of Sphinx' documents, with a feed for each year."""

from __future__ import annotations

from typing import ClassVar

from tests.platforms.publisher import INSTALLED, Feed, StaticSite, run

PROGRAMS = INSTALLED / "ablog" / "bin"
CONFIGURATION = """
extensions = ["ablog"]
project = blog_title = "A site"
blog_baseurl = "{root}/"
blog_feed_archives = True
blog_feed_fulltext = True
blog_feed_length = {length}
"""
INDEX = "A site\n======\n\n.. postlist:: 5\n"
POST = """\
.. post:: {post.published:%b %d, %Y %H:%M}

{post.title}
=========

{post.text}
"""


class ABlog(StaticSite):
    name = "ABlog"
    file, post = "posts/post-{number}.rst", POST
    length: ClassVar[int] = 45
    # The posts are of at most four calendar years, which overlap with the feed.
    feeds = (Feed("a year fits into a feed", "/blog/atom.xml", pages=5, ends=2),)

    @property
    def version(self) -> str:
        code = "import ablog; print(ablog.__version__)"
        return run(PROGRAMS / "python", "-c", code, cwd=self.folder).strip()

    def set_up(self) -> None:
        self.put("conf.py", CONFIGURATION.format(root=self.root, length=self.length))
        self.put("index.rst", INDEX)

    def build(self) -> None:
        run(PROGRAMS / "sphinx-build", "-q", "-b", "html", self.source, self.dist, cwd=self.folder, TZ="UTC")


class ShortABlog(ABlog):
    name = "ABlog"
    length = 10
    feeds = (Feed("a year does not fit", "/blog/atom.xml", answers=False),)
