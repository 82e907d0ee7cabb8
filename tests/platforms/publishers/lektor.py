"""Lektor with lektor-atom: a feed of ten posts, and a sitemap from a template, as in its documentation."""

from __future__ import annotations

import shutil

from tests.platforms.publisher import INSTALLED, Feed, StaticSite, run

PROGRAMS = INSTALLED / "lektor" / "bin"
FIELDS = """
[fields.title]
type = string
[fields.pub_date]
type = date
[fields.body]
type = markdown
"""
FEED = """
[posts]
name = A site
source_path = /blog
url_path = /blog/feed.xml
limit = 10
"""
PAGE = """
<!doctype html>
<title>{{ this.title }}</title>
<body><h1>{{ this.title }}</h1><p class="meta">on {{ this.pub_date }}</p>{{ this.body }}</body>
"""
BLOG = """
<!doctype html>
<title>{{ this.title }}</title>
<body>{% for child in this.children %}<a href="{{ child|url }}">{{ child.title }}</a>{% endfor %}</body>
"""
SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{% for page in [site.root] if page != this recursive %}
<url><loc>{{ page|url(external=true) }}</loc></url>
{{ loop(page.children) }}
{% endfor %}
</urlset>
"""
FILES = {
    "models/blog.ini": "[model]\nname = Blog\n[children]\nmodel = blog-post\norder_by = -pub_date\n" + FIELDS,
    "models/blog-post.ini": "[model]\nname = Post\n" + FIELDS,
    "models/page.ini": "[model]\nname = Page\n" + FIELDS,
    "configs/atom.ini": FEED,
    "templates/blog.html": BLOG,
    "templates/blog-post.html": PAGE,
    "templates/page.html": PAGE,
    "templates/sitemap.xml": SITEMAP,
    "content/contents.lr": "title: A site\n",
    "content/blog/contents.lr": "_model: blog\n---\ntitle: Blog\n",
    "content/sitemap.xml/contents.lr": "_model: page\n---\n_template: sitemap.xml\n",
}
POST = "title: {post.title}\n---\npub_date: {post.published:%Y-%m-%d}\n---\nbody:\n\n{post.text}\n"


class Lektor(StaticSite):
    name, program = "Lektor", PROGRAMS
    feeds = (Feed("", "/blog/feed.xml", answers=False),)
    file, post = "content/blog/post-{number}/contents.lr", POST

    @property
    def version(self) -> str:
        return run(PROGRAMS / "lektor", "--version", cwd=self.folder).split()[-1]

    def set_up(self) -> None:
        self.put("site.lektorproject", f"[project]\nname = A site\nurl = {self.root}/\n")
        for path, text in FILES.items():
            self.put(path, text)

    def remove(self, number: int) -> None:
        shutil.rmtree((self.source / self.file.format(number=number)).parent)

    def build(self) -> None:
        run(PROGRAMS / "lektor", "build", "--output-path", self.dist, cwd=self.source, LC_ALL="C.UTF-8")
