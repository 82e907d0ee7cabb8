"""nanoc with its helpers for blogs and sitemaps: a feed of five posts, its default."""

from __future__ import annotations

from tests.platforms.publisher import Feed, StaticSite, run

CONFIG = """
base_url: "{root}"
output_dir: "{dist}"
prune: {{ auto_prune: true }}
data_sources: [{{ type: filesystem, encoding: utf-8 }}]
title: A site
author_name: The author
author_uri: "{root}/"
"""
# As `nanoc create-site` has them, and one for the files in XML.
RULES = """
compile '/**/*.html' do
  filter :erb
  layout '/default.*'
  if item.identifier =~ '**/index.*'
    write item.identifier.to_s
  else
    write item.identifier.without_ext + '/index.html'
  end
end

compile '/*.xml' do
  filter :erb
  write item.identifier.to_s
end

layout '/**/*', :erb
"""
HELPERS = "".join(f"use_helper Nanoc::Helpers::{name}\n" for name in ("Blogging", "LinkTo", "XMLSitemap"))
LAYOUT = """<!DOCTYPE html>
<html lang="en">
  <head><meta charset="utf-8"><title><%= @item[:title] %></title></head>
  <body><h1><%= @item[:title] %></h1><%= yield %></body>
</html>
"""
INDEX = """---
title: A site
---
<% sorted_articles.each do |post| %><%= link_to(post[:title], post) %><% end %>
"""
FILES = {
    "Rules": RULES,
    "lib/default.rb": HELPERS,
    "layouts/default.html": LAYOUT,
    "content/index.html": INDEX,
    "content/feed.xml": "---\nis_hidden: true\n---\n<%= atom_feed %>\n",
    "content/sitemap.xml": "---\nis_hidden: true\n---\n<%= xml_sitemap %>\n",
}
POST = """---
title: {post.title}
kind: article
created_at: {post.published:%Y-%m-%dT%H:%M:%SZ}
---
<p>{post.text}</p>
"""


class Nanoc(StaticSite):
    name, package = "nanoc", "nanoc"
    feeds = (Feed("", "/feed.xml", answers=False),)
    file, post = "content/blog/post-{number}.html", POST

    def set_up(self) -> None:
        self.put("nanoc.yaml", CONFIG.format(root=self.root, dist=self.dist))
        for path, text in FILES.items():
            self.put(path, text)

    def build(self) -> None:
        run("nanoc", "compile", cwd=self.source, LC_ALL="C.UTF-8", TZ="UTC")
