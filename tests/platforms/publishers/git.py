"""gitweb and cgit: feeds of the newest commits, which begin at any commit."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.platforms.publisher import Change, Feed, Post, Repository, run

ADDED = frozenset({Change.ADD})
COMMIT = """commit refs/heads/master
committer Author <author@example.org> {time} +0000
data {size}
{text}
M 644 inline file
data {size}
{text}
"""


class _Git(Repository):
    @property
    def _path(self) -> Path:
        return self.folder / "site.git"

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        run("git", "init", "--bare", "--initial-branch", "master", self._path, cwd=self.folder)
        with self.serving_repository():
            yield

    @abstractmethod
    def serving_repository(self) -> contextlib.AbstractContextManager[None]: ...

    def commit(self, posts: Sequence[Post]) -> None:
        commits = []
        for post in posts:
            text = f"{post.title}\n\n{post.text}"
            time = int(post.published.timestamp())
            commits.append(COMMIT.format(time=time, size=len(text), text=text))
        head = self._path / "refs" / "heads" / "master"
        if commits and head.exists():
            first, line, rest = commits[0].partition("M 644")
            commits[0] = f"{first}from {head.read_text(encoding='utf-8').strip()}\n{line}{rest}"
        run("git", "fast-import", "--quiet", cwd=self._path, text="".join(commits))


class Gitweb(_Git):
    name, program, package = "gitweb", Path("/usr/share/gitweb/gitweb.cgi"), "gitweb"
    # Each page begins with the last commit of the page before it; the last one has the first commit only.
    feeds = (
        Feed("RSS", "/?p=site.git;a=rss", pages=7, shows=ADDED),
        Feed("Atom", "/?p=site.git;a=atom", pages=7, shows=ADDED),
    )

    @contextlib.contextmanager
    def serving_repository(self) -> Iterator[None]:
        configuration = self.folder / "gitweb.conf"
        configuration.write_text(f'$projectroot = "{self.folder}";\n', encoding="utf-8")
        with self.script(self.program, GITWEB_CONFIG=str(configuration)):
            yield


class Cgit(_Git):
    name, program, package = "cgit", Path("/usr/lib/cgit/cgit.cgi"), "cgit"
    feeds = (Feed("", "/site/atom/", pages=14, shows=ADDED),)

    @contextlib.contextmanager
    def serving_repository(self) -> Iterator[None]:
        configuration = self.folder / "cgitrc"
        configuration.write_text(f"virtual-root=/\nrepo.url=site\nrepo.path={self._path}\n", encoding="utf-8")
        with self.script(self.program, CGIT_CONFIG=str(configuration)):
            yield
