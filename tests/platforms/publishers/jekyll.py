"""Jekyll with jekyll-feed and jekyll-sitemap, as on GitHub Pages: a feed of ten posts."""

from __future__ import annotations

from tests.platforms.publisher import Feed, MarkdownSite, run

CONFIG = """
title: A site
description: Posts
url: "{root}"
theme: minima
plugins:
  - jekyll-feed
  - jekyll-sitemap
"""


class Jekyll(MarkdownSite):
    name = "Jekyll"
    feeds = (Feed("", "/feed.xml", answers=False),)
    # The date in the head replaces that of the name.
    file = "_posts/2020-01-01-post-{number}.md"
    head = ("layout: post", "tags: [news]")

    @property
    def version(self) -> str:
        return run("jekyll", "--version", cwd=self.folder).split()[-1]

    def set_up(self) -> None:
        self.put("_config.yml", CONFIG.format(root=self.root))
        self.put("index.md", "---\nlayout: home\n---\n")
        self.put("about.md", "---\nlayout: page\ntitle: About\npermalink: /about/\n---\n\nThis site.\n")

    def build(self) -> None:
        run("jekyll", "build", "--destination", self.dist, cwd=self.source, JEKYLL_ENV="production")
