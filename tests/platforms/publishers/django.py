"""Django's syndication framework: paged without links, paged with links, all at once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.platforms.publisher import INSTALLED, Feed, Post, Publisher, run

PYTHON = INSTALLED / "django" / "bin" / "python"
SITE = """
import json, sys
from datetime import datetime
from pathlib import Path
from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.contrib.sitemaps.views import sitemap
from django.contrib.syndication.views import Feed
from django.core.paginator import Paginator
from django.http import HttpResponse, Http404
from django.urls import path
from django.utils.feedgenerator import Atom1Feed
import django

settings.configure(DEBUG=False, SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], USE_TZ=True,
    INSTALLED_APPS=["django.contrib.sitemaps"], TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}])
django.setup()
FILE = Path(__file__).with_name("posts.json")

def posts():
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    for number, (published, text) in found.items():
        yield {"n": int(number), "at": datetime.fromisoformat(published), "text": text}

def newest():
    return sorted(posts(), key=lambda one: (one["at"], one["n"]), reverse=True)

class Everything(Feed):
    title, link, description = "Site", "/", "Posts"
    def items(self): return newest()
    def item_title(self, one): return f"Post {one['n']}"
    def item_description(self, one): return one["text"]
    def item_link(self, one): return f"/posts/{one['n']}/"
    def item_pubdate(self, one): return one["at"]

class Paged(Everything):
    def get_object(self, request): return request
    def items(self, request):
        page = Paginator(newest(), 10)
        number = int(request.GET.get("page", 1))
        if number > page.num_pages: raise Http404
        return page.page(number).object_list

class WithLinks(Atom1Feed):
    def add_root_elements(self, handler):
        super().add_root_elements(handler)
        if self.feed["next"]:
            handler.addQuickElement("link", "", {"rel": "next", "href": self.feed["next"]})

class Linked(Paged):
    feed_type = WithLinks
    def feed_extra_kwargs(self, request):
        number = int(request.GET.get("page", 1))
        pages = Paginator(newest(), 10).num_pages
        url = request.build_absolute_uri(f"{request.path}?page={number + 1}")
        return {"next": url if number < pages else None}

class Posts(Sitemap):
    def items(self): return newest()
    def location(self, one): return f"/posts/{one['n']}/"
    def lastmod(self, one): return one["at"]

urlpatterns = [
    path("", lambda request: HttpResponse("<p>A site")),
    path("all/", Everything()), path("paged/", Paged()), path("linked/", Linked()),
    path("sitemap.xml", sitemap, {"sitemaps": {"posts": Posts}},
        name="django.contrib.sitemaps.views.sitemap"),
]
if __name__ == "__main__":
    sys.modules[settings.ROOT_URLCONF] = sys.modules["__main__"]
    from django.core.management import execute_from_command_line
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", sys.argv[1]])
"""


class Django(Publisher):
    name, program = "Django", PYTHON
    feeds = (
        Feed("paged, without links", "/paged/", options=("-s", "FHCRAWL_PROBE=1")),
        Feed("paged, with links", "/linked/"),
        Feed("all", "/all/", pages=1),
    )

    @property
    def version(self) -> str:
        return run(PYTHON, "-m", "django", "--version", cwd=self.folder).strip()

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        (self.folder / "site.py").write_text(SITE, encoding="utf-8")
        with self.process(str(PYTHON), "site.py", f"127.0.0.1:{self.port}"):
            yield

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._posts: dict[int, tuple[str, str]] = {}

    def write(self, posts: Sequence[Post]) -> None:
        self._posts |= {post.number: (post.published.isoformat(), post.text) for post in posts}

    def remove(self, number: int) -> None:
        del self._posts[number]

    def publish(self) -> None:
        (self.folder / "posts.json").write_text(json.dumps(self._posts), encoding="utf-8")
