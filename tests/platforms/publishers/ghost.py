"""Ghost: its feed shows 15 posts, and its Content API has all of them."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

from tests.platforms.publisher import INSTALLED, Feed, Post, Publisher
from tests.ports import NoServerError

PACKAGE = INSTALLED / "ghost" / "package"
OWNER = {
    "name": "Author",
    "email": "author@example.org",
    "password": "a-long-pass-phrase-7",
    "blogTitle": "Site",
}
READY_SECONDS = 120


class Ghost(Publisher):
    """A site as it is after its setup. Its robots.txt forbids `/ghost/`, where the API is."""

    name, program = "Ghost", PACKAGE.parent / "done"
    feeds = (
        Feed("with ROBOTSTXT_OBEY off", "/rss/", pages=4, options=("-s", "ROBOTSTXT_OBEY=False")),
        Feed("", "/rss/", answers=False),
    )

    @property
    def version(self) -> str:
        return str(json.loads((PACKAGE / "package.json").read_text())["version"])

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        content = self.folder / "content"
        shutil.copytree(PACKAGE / "content", content)
        # It looks for its version there.
        shutil.copy(PACKAGE / "package.json", self.folder)
        database = str(self.folder / "ghost.sqlite")
        config = {
            "url": f"{self.root}/",
            "server": {"host": "127.0.0.1", "port": self.port},
            "database": {"client": "sqlite3", "connection": {"filename": database}, "useNullAsDefault": True},
            "paths": {"contentPath": str(content)},
            "mail": {"transport": "stub"},
            "privacy": {"useUpdateCheck": False, "useGravatar": False},
            "security": {"staffDeviceVerification": False},
            "logging": {"level": "warn", "transports": ["stdout"]},
        }
        (self.folder / "config.production.json").write_text(json.dumps(config), encoding="utf-8")
        with self.process("node", str(PACKAGE / "index.js"), NODE_ENV="production"):
            self._wait_until_ready()
            self._numbers: dict[int, str] = {}
            self._cookie = ""
            self._request("POST", "authentication/setup/", {"setup": [OWNER]})
            signed = {"username": OWNER["email"], "password": OWNER["password"]}
            self._cookie = self._request("POST", "session/", signed)[1].partition(";")[0]
            for post in self._request("GET", "posts/?limit=all")[0]["posts"]:
                self._request("DELETE", f"posts/{post['id']}/")
            yield

    # Until it has set up its database, it answers 503.
    def _wait_until_ready(self) -> None:
        for _ in range(READY_SECONDS):
            with contextlib.suppress(urllib.error.HTTPError, json.JSONDecodeError):
                self._request("GET", "site/")
                return
            time.sleep(1)
        raise NoServerError("Ghost does not get ready")

    def _request(self, method: str, path: str, body: object = None) -> tuple[Any, str]:
        headers = {"Origin": self.root, "Cookie": getattr(self, "_cookie", ""), "Accept-Version": "v5.0"}
        headers["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.root}/ghost/api/admin/{path}"
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            text = response.read().decode()
            answer = json.loads(text) if text.startswith("{") else None
            return answer, response.headers.get("Set-Cookie") or ""

    def write(self, posts: Sequence[Post]) -> None:
        for post in posts:
            known = self._numbers.get(post.number)
            fields: dict[str, object] = {
                "title": post.title,
                "html": f"<p>{post.text}</p>",
                "status": "published",
                "published_at": f"{post.published:%Y-%m-%dT%H:%M:%S}.000Z",
            }
            if known is None:
                made = self._request("POST", "posts/?source=html", {"posts": [fields]})[0]["posts"][0]
                self._numbers[post.number] = made["id"]
            else:
                last = self._request("GET", f"posts/{known}/")[0]["posts"][0]["updated_at"]
                changed = {"posts": [{**fields, "updated_at": last}]}
                self._request("PUT", f"posts/{known}/?source=html", changed)

    def remove(self, number: int) -> None:
        self._request("DELETE", f"posts/{self._numbers.pop(number)}/")
