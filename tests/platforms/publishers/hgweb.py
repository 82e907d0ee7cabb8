"""hgweb: feeds of the newest changesets, which show as many as are requested."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.platforms.publisher import Change, Feed, Post, Repository, run

ADDED = frozenset({Change.ADD})


class Hgweb(Repository):
    name, program, package = "hgweb", Path("/usr/bin/hg"), "mercurial"
    # 10, 100 and 1,000 changesets.
    feeds = (
        Feed("Atom", "/atom-log", pages=3, ends=0, shows=ADDED),
        Feed("RSS", "/rss-log", pages=3, ends=0, shows=ADDED),
    )

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        run("hg", "init", "site", cwd=self.folder)
        with self.process("hg", "-R", "site", "serve", "-a", "127.0.0.1", "-p", str(self.port)):
            yield

    def commit(self, posts: Sequence[Post]) -> None:
        for post in posts:
            (self.folder / "site" / "file").write_text(f"{post.number} {post.text}", encoding="utf-8")
            date = f"{int(post.published.timestamp())} 0"
            text = f"{post.title}\n\n{post.text}"
            options = ("--addremove", "--user", "author", "--date", date, "--message", text)
            run("hg", "commit", *options, cwd=self.folder / "site")
