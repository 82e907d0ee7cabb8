"""Hexo with hexo-generator-feed and hexo-generator-sitemap: a feed of 20 posts."""

from __future__ import annotations

import json

from tests.platforms.markdown import NodeSite
from tests.platforms.publisher import Feed

CONFIG = """
title: A site
url: {root}
permalink: :year/:month/:day/:title/
public_dir: {dist}
timezone: UTC
theme: landscape
syntax_highlighter: ''
"""
PLUGINS = (
    "hexo-generator-archive",
    "hexo-generator-feed",
    "hexo-generator-index",
    "hexo-generator-sitemap",
    "hexo-renderer-ejs",
    "hexo-renderer-marked",
    "hexo-renderer-stylus",
    "hexo-theme-landscape",
)


class Hexo(NodeSite):
    """What `hexo init` writes, with a feed and a sitemap."""

    name = "Hexo"
    feeds = (Feed("", "/atom.xml", answers=False),)
    file = "source/_posts/post-{number}.md"
    head = ("tags: [news]",)
    package, command = "hexo", "hexo"

    def set_up(self) -> None:
        super().set_up()
        versions = {name: self.version_of(name) for name in ("hexo", *PLUGINS)}
        package = {"name": "site", "private": True, "hexo": {"version": ""}, "dependencies": versions}
        self.put("package.json", json.dumps(package))
        self.put("_config.yml", CONFIG.format(root=self.root, dist=self.dist))
        self.put("source/about/index.md", "---\ntitle: About\n---\n\nThis site.\n")

    def build(self) -> None:
        self.execute("generate")
