"""blosxom: a file for each post, whose time is the post's; a feed of five, and one of each year."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.platforms.publisher import Feed, Post, Publisher, Quiet

SCRIPT = Path("/usr/lib/cgi-bin/blosxom")
CONFIGURATION = """
$datadir = "{folder}/data";
$url = "{root}";
$plugin_dir = "/etc/blosxom/plugins";
$plugin_state_dir = "{folder}/state";
$static_dir = "{folder}/static";
1;
"""


class Blosxom(Publisher):
    name, program, package = "blosxom", SCRIPT, "blosxom"
    # The feed itself, and those of four years.
    feeds = (Feed("", "/index.rss", pages=5, ends=2),)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        for name in ("data", "state", "static"):
            (self.folder / name).mkdir()
        configuration = CONFIGURATION.format(folder=self.folder, root=self.root)
        (self.folder / "blosxom.conf").write_text(configuration, encoding="utf-8")
        environment = {"BLOSXOM_CONFIG_DIR": str(self.folder), "SERVER_PORT": str(self.port), "TZ": "UTC"}
        with self.thread(functools.partial(_Script, environment)):
            yield

    def _path(self, number: int) -> Path:
        return self.folder / "data" / f"post{number}.txt"

    def write(self, posts: Sequence[Post]) -> None:
        for post in posts:
            path, time = self._path(post.number), post.published.timestamp()
            path.write_text(f"{post.title}\n<p>{post.text}</p>\n", encoding="utf-8")
            os.utime(path, (time, time))

    def remove(self, number: int) -> None:
        self._path(number).unlink()


class _Script(Quiet, http.server.BaseHTTPRequestHandler):
    def __init__(self, environment: dict[str, str], *args: Any) -> None:
        self.environment = environment
        super().__init__(*args)

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            **os.environ,
            **self.environment,
            "GATEWAY_INTERFACE": "CGI/1.1",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_NAME": "127.0.0.1",
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote(path),
            "QUERY_STRING": query,
        }
        done = subprocess.run([str(SCRIPT)], env=environment, capture_output=True, check=True)
        head, body = re.split(rb"\r?\n\r?\n", done.stdout, maxsplit=1)
        self.send_response(200)
        for line in head.decode().splitlines():
            name, _, value = line.partition(":")
            self.send_header(name, value.strip())
        self.end_headers()
        self.wfile.write(body)
