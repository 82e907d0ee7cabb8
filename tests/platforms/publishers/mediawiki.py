"""MediaWiki: its feeds of contributions, and of new pages in the last 90 days, which go on before a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from tests.platforms.publisher import Feed, Post, Publisher, run

PLACE = Path("/usr/share/mediawiki")
# So the oldest of posts that are days apart is of the last 90 days.
TIMES_AS_YOUNG = 15


class MediaWiki(Publisher):
    name, program, package = "MediaWiki", PLACE, "mediawiki"
    feeds = (
        Feed("new pages", "/index.php?title=Special:NewPages&feed=atom"),
        Feed("contributions", "/api.php?action=feedcontributions&user=Admin&feedformat=atom"),
    )

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        where = ("--confpath", self.folder, "--dbtype", "sqlite", "--dbpath", self.folder / "data")
        url = ("--server", self.root, "--scriptpath", "")
        script = PLACE / "maintenance" / "install.php"
        run("php", script, *where, *url, "--pass", "a long password", "Site", "Admin", cwd=self.folder)
        address = f"127.0.0.1:{self.port}"
        with self.process("php", "-S", address, "-t", str(PLACE), MW_CONFIG_FILE=self._settings):
            yield

    @property
    def _settings(self) -> str:
        return str(self.folder / "LocalSettings.php")

    def _run(self, script: str, *options: str | Path, text: str | None = None) -> None:
        path = PLACE / "maintenance" / script
        run("php", path, *options, cwd=self.folder, text=text, MW_CONFIG_FILE=self._settings)

    def _path(self, number: int) -> Path:
        return self.folder / "pages" / f"Post_{number}.txt"

    def write(self, posts: Sequence[Post]) -> None:
        self._path(0).parent.mkdir(exist_ok=True)
        now = datetime.now(timezone.utc)
        new: list[Path] = []
        edited: list[Path] = []
        for post in posts:
            path = self._path(post.number)
            (edited if path.exists() else new).append(path)
            path.write_text(post.text, encoding="utf-8")
            time = (now - (now - post.published) / TIMES_AS_YOUNG).timestamp()
            os.utime(path, (time, time))
        if new:
            self._run("importTextFiles.php", "--rc", "--user", "Admin", "--use-timestamp", *new)
        if edited:
            self._run("importTextFiles.php", "--rc", "--user", "Admin", "--overwrite", *edited)

    def remove(self, number: int) -> None:
        self._run("deleteBatch.php", text=f"Post {number}\n")
