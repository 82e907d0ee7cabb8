"""blosxom: a file for each post, whose time is the post's; a feed of five, and one of each year."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.platforms.publisher import Feed, Post, Publisher

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
        with self.script(SCRIPT, BLOSXOM_CONFIG_DIR=str(self.folder)):
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
