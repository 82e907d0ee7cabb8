"""Hexo with hexo-generator-feed and hexo-generator-sitemap: a feed of 20 posts."""

from __future__ import annotations

import json

from tests.platforms.publisher import Feed, NodeSite

CONFIG = """
title: A site
url: {root}
permalink: :year/:month/:day/:title/
public_dir: {dist}
timezone: UTC
theme: landscape
syntax_highlighter: ''
"""
GENERATORS = [f"hexo-generator-{name}" for name in ("archive", "feed", "index", "sitemap")]
RENDERERS = [f"hexo-renderer-{name}" for name in ("ejs", "marked", "stylus")]
PLUGINS = (*GENERATORS, *RENDERERS, "hexo-theme-landscape")


class Hexo(NodeSite):
    name = "Hexo"
    feeds = (Feed("", "/atom.xml", answers=False),)
    file = "source/_posts/post-{number}.md"
    head = ("tags: [news]",)
    module, command = "hexo", "hexo"

    def set_up(self) -> None:
        super().set_up()
        versions = {name: self.version_of(name) for name in ("hexo", *PLUGINS)}
        package = {"name": "site", "private": True, "hexo": {"version": ""}, "dependencies": versions}
        self.put("package.json", json.dumps(package))
        self.put("_config.yml", CONFIG.format(root=self.root, dist=self.dist))
        self.put("source/about/index.md", "---\ntitle: About\n---\n\nThis site.\n")

    def build(self) -> None:
        self.execute("generate")
