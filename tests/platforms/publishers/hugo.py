"""Hugo: a feed of all posts, unless a limit is set, as themes tell their users to."""

from __future__ import annotations

import re

from tests.platforms.publisher import Feed, MarkdownSite, run

CONFIG = """
baseURL = "{root}/"
languageCode = "en-us"
title = "A site"
[services.rss]
limit = {limit}
"""
SINGLE = "<!doctype html><title>{{ .Title }}</title><h1>{{ .Title }}</h1>{{ .Content }}\n"
LIST = """<!doctype html><title>{{ .Title }}</title>
{{ range .Paginator.Pages }}<h2><a href="{{ .RelPermalink }}">{{ .Title }}</a></h2>{{ end }}
"""


class Hugo(MarkdownSite):
    name = "Hugo"
    feeds = (Feed("limited", "/index.xml", answers=False),)
    file = "content/posts/post-{number}.md"
    head = ("tags: [news]",)
    limit = 20

    @property
    def version(self) -> str:
        # "hugo v0.111.3+extended linux/amd64 …"
        [found] = re.findall(r"^hugo v([0-9.]+)", run("hugo", "version", cwd=self.folder))
        return str(found)

    def set_up(self) -> None:
        self.put("config.toml", CONFIG.format(root=self.root, limit=self.limit))
        self.put("layouts/_default/single.html", SINGLE)
        self.put("layouts/_default/list.html", LIST)
        self.put("content/about.md", "---\ntitle: About\n---\n\nThis site.\n")

    def build(self) -> None:
        run("hugo", "--destination", self.dist, cwd=self.source)


class HugoAll(Hugo):
    feeds = (Feed("all", "/index.xml", pages=1),)
    limit = -1
