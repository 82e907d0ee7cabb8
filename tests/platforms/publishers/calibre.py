"""calibre's content server: a library as an OPDS catalog, whose feeds have 30 books a page."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from collections.abc import Iterator, Sequence

from tests.platforms.publisher import Feed, Post, Publisher, run

# "Onewest" in hexadecimal: in the order of "newest".
NEWEST = "/opds/navcatalog/4f6e6577657374"
# Its robots.txt disallows everything: this copy has none.
SERVER = """
import calibre.srv.code
from calibre.srv.standalone import main

del calibre.srv.code.robots
options = ["--listen-on=127.0.0.1", "--port={port}", "--enable-local-write", "--disable-use-bonjour"]
main(["calibre-server", *options, {library!r}])
"""


class Calibre(Publisher):
    name, package = "calibre", "calibre"
    feeds = (Feed("with a robots.txt that allows it", NEWEST),)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        self._ids: dict[int, int] = {}
        library, settings = str(self.folder / "library"), str(self.folder / "settings")
        command = ("calibredb", "list", "--with-library", library)
        run(*command, cwd=self.folder, CALIBRE_CONFIG_DIRECTORY=settings)
        script = SERVER.format(port=self.port, library=library)
        with self.process("calibre-debug", "-c", script, CALIBRE_CONFIG_DIRECTORY=settings):
            yield

    def _do(self, command: str, body: bytes = b"", mime: str = "application/json") -> dict[str, int]:
        request = urllib.request.Request(f"{self.root}/cdb/{command}", body, {"Content-Type": mime})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            answer: dict[str, int] = json.load(response)
        return answer

    def write(self, posts: Sequence[Post]) -> None:
        for post in posts:
            if post.number not in self._ids:
                book = self._do("add-book/0/y/book.txt", post.title.encode(), "text/plain")
                self._ids[post.number] = book["book_id"]
            fields = {"title": post.title, "comments": post.text, "timestamp": post.published.isoformat()}
            self._do(f"set-fields/{self._ids[post.number]}", json.dumps({"changes": fields}).encode())

    def remove(self, number: int) -> None:
        self._do(f"delete-books/{self._ids.pop(number)}", b"{}")
