"""Eleventy with its plugin for feeds: a feed of ten posts, a sitemap of a few lines."""

from __future__ import annotations

from tests.platforms.publisher import Feed, NodeSite

CONFIG = """
import {{ feedPlugin }} from "@11ty/eleventy-plugin-rss";
export default function (config) {{
    config.addPlugin(feedPlugin, {{
        type: "atom",
        outputPath: "/feed/feed.xml",
        collection: {{ name: "posts", limit: 10 }},
        metadata: {{
            language: "en", title: "A site", subtitle: "Posts", base: "{root}/",
            author: {{ name: "The author" }},
        }},
    }});
    return {{ dir: {{ input: "content" }} }};
}}
"""
SITEMAP = """---
permalink: /sitemap.xml
layout: false
eleventyExcludeFromCollections: true
---
<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{{% for one in collections.all %}}
<url><loc>{root}{{{{ one.url }}}}</loc><lastmod>{{{{ one.date.toISOString() }}}}</lastmod></url>
{{% endfor %}}
</urlset>
"""
INDEX = """---
title: Posts
---
{% for one in collections.posts %}<h2><a href="{{ one.url }}">{{ one.data.title }}</a></h2>{% endfor %}
"""


class Eleventy(NodeSite):
    name = "Eleventy"
    feeds = (Feed("", "/feed/feed.xml", answers=False),)
    file = "content/blog/post-{number}.md"
    module, command = "@11ty/eleventy", "eleventy"

    def set_up(self) -> None:
        super().set_up()
        self.put("eleventy.config.mjs", CONFIG.format(root=self.root))
        self.put("content/sitemap.xml.njk", SITEMAP.format(root=self.root))
        self.put("content/blog/blog.json", '{"tags": "posts"}')
        self.put("content/index.njk", INDEX)
        self.put("content/blog.njk", INDEX)
        self.put("content/about.md", "---\ntitle: About\n---\n\nThis site.\n")

    def build(self) -> None:
        self.execute(f"--output={self.dist}", "--quiet")
