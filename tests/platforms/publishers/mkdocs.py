"""MkDocs with Material, its blog, and mkdocs-rss-plugin: a feed of 20 posts."""

from __future__ import annotations

from tests.platforms.publisher import INSTALLED, Feed, MarkdownSite, run

BIN = INSTALLED / "mkdocs" / "bin"
CONFIG = """
site_name: A site
site_url: {root}/
theme:
  name: material
  font: false
plugins:
  - blog
  - rss:
      match_path: blog/posts/.*
      date_from_meta:
        as_creation: date
      use_git: false
"""


class MkDocs(MarkdownSite):
    name, program = "MkDocs", BIN
    feeds = (Feed("mkdocs-rss-plugin", "/feed_rss_created.xml", answers=False),)
    file = "docs/blog/posts/post-{number}.md"
    head = ("categories: [News]",)

    @property
    def version(self) -> str:
        return run(BIN / "mkdocs", "--version", cwd=self.folder).split()[2].rstrip(",")

    def set_up(self) -> None:
        self.put("mkdocs.yml", CONFIG.format(root=self.root))
        self.put("docs/index.md", "# A site\n")
        self.put("docs/blog/index.md", "# Blog\n")

    def build(self) -> None:
        run(BIN / "mkdocs", "build", "--quiet", "--site-dir", self.dist, cwd=self.source, TZ="UTC")
