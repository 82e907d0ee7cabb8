"""What the census needs of a publishing program: posts come and go, and feeds show them."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from tests.ports import NoServerError, free_port, started

# Where `.ci/platforms` puts what is no package of Debian's.
INSTALLED = Path(os.environ.get("PLATFORMS") or Path.home() / ".cache" / "fhcrawl-platforms")


class Change(str, Enum):
    EDIT = "edit"
    DELETE = "delete"
    ADD = "add"
    BACKDATE = "backdate"


@dataclass(frozen=True)
class Post:
    """A post. Its title is `Post N`, and in feeds it is found by that.

    :param published: in UTC
    """

    number: int
    published: datetime
    text: str = "The text."

    @property
    def title(self) -> str:
        return f"Post {self.number}"


@dataclass(frozen=True)
class Feed:
    """A feed of a program.

    :param label: tells it from the program's other feeds; '' if it is the only one
    :param path: below the program's root
    :param answers: the server has the older entries, at whatever URLs
    :param pages: how many documents hold all entries at first; None: by the size of the first one
    :param ends: how many documents show that there are no more
    :param shows: the changes that this feed shows
    :param options: of the crawl, besides the URL
    """

    label: str
    path: str
    answers: bool = True
    pages: int | None = None
    ends: int = 1
    shows: frozenset[Change] = frozenset(Change)
    options: tuple[str, ...] = ()


class Publisher(ABC):
    """A program, installed for one census into a folder, and serving on loopback.

    :param folder: empty, for all that it writes
    """

    name: ClassVar[str] = ""
    feeds: ClassVar[Sequence[Feed]] = ()
    program: ClassVar[Path | None] = None  # a file of it
    installer: ClassVar[str] = ".ci/platforms"
    package: ClassVar[str] = ""  # Debian's, if it is one

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()

    @property
    def root(self) -> str:
        """Where it is served: without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def version(self) -> str:
        """Its version, as people write it: without Debian's epoch, changes and revision."""
        found = run("dpkg-query", "-W", "-f", "${Version}", self.package, cwd=self.folder)
        return re.split(r"[+-]", found.rpartition(":")[2])[0]

    def check_installed(self) -> None:
        """:raises NoServerError: if the program is not here"""
        if self.program is not None and not self.program.exists():
            raise NoServerError(f"{self.name} is not here: bash {self.installer}")

    @abstractmethod
    def serving(self) -> contextlib.AbstractContextManager[None]: ...

    @abstractmethod
    def write(self, posts: Sequence[Post]) -> None:
        """Publish posts, or replace those with the same numbers; the oldest comes first."""

    @abstractmethod
    def remove(self, number: int) -> None: ...

    def publish(self) -> None:  # noqa: B027
        """Make what was written public: static sites are built."""

    @contextlib.contextmanager
    def thread(self, handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> Iterator[None]:
        with http.server.ThreadingHTTPServer(("127.0.0.1", self.port), handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()

    @contextlib.contextmanager
    def process(self, *command: str, cwd: Path | None = None, **environment: str) -> Iterator[None]:
        """Run a server until it answers at the port, and stop it at the end."""
        env = {**os.environ, **environment}
        with started(command, self.folder / "server.log", self._is_up, cwd=cwd or self.folder, env=env):
            yield

    @contextlib.contextmanager
    def script(self, path: Path, **environment: str) -> Iterator[None]:
        """Serve a CGI script at the root.

        :param environment: of the script, besides what CGI gives it
        """
        env = {"SERVER_PORT": str(self.port), "TZ": "UTC", **environment}
        with self.thread(functools.partial(_Script, path, env)):
            yield

    def _is_up(self) -> bool:
        try:
            urllib.request.urlopen(self.root, timeout=60).close()  # noqa: S310
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True


def run(*command: str | Path, cwd: Path, text: str | None = None, **environment: str) -> str:
    """Run a command to its end; what it prints.

    :param text: its standard input
    :raises NoServerError: if it is not there, or fails
    """
    try:
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env={**os.environ, **environment},
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise NoServerError(f"{command[0]} is not here: bash .ci/platforms") from error
    if done.returncode:
        raise NoServerError(f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Repository(Publisher):
    """A repository of commits: they are added only, and none of them changes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._numbers: set[int] = set()

    @abstractmethod
    def commit(self, posts: Sequence[Post]) -> None: ...

    def write(self, posts: Sequence[Post]) -> None:
        new = [post for post in posts if post.number not in self._numbers]
        self._numbers.update(post.number for post in new)
        self.commit(new)

    def remove(self, number: int) -> None:
        pass


class StaticSite(Publisher):
    """A program that writes files, which are served as they are.

    Its source is in `self.source`, and `build` writes into `self.dist`.

    :cvar file: of a post, below `self.source`
    :cvar post: its text, a format string
    """

    file: ClassVar[str] = ""
    post: ClassVar[str] = ""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.source, self.dist = folder / "source", folder / "dist"

    @abstractmethod
    def set_up(self) -> None: ...

    @abstractmethod
    def build(self) -> None: ...

    def text_of(self, post: Post) -> str:
        return self.post.format(post=post)

    def put(self, path: str, text: str) -> None:
        file = self.source / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def write(self, posts: Sequence[Post]) -> None:
        for post in posts:
            self.put(self.file.format(number=post.number), self.text_of(post))

    def remove(self, number: int) -> None:
        (self.source / self.file.format(number=number)).unlink()

    def publish(self) -> None:
        self.build()

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        self.source.mkdir()
        self.dist.mkdir()
        self.set_up()
        with self.thread(functools.partial(_Files, directory=str(self.dist))):
            yield


class MarkdownSite(StaticSite):
    """A static site whose posts are files in Markdown, with a head in YAML.

    :cvar head: lines of a post's head, besides its title and its date
    """

    head: ClassVar[tuple[str, ...]] = ()

    def text_of(self, post: Post) -> str:
        lines = (f"title: {post.title}", f"date: {post.published:%Y-%m-%dT%H:%M:%SZ}", *self.head)
        head = "\n".join(line.format(number=post.number) for line in lines)
        return f"---\n{head}\n---\n\n{post.text}\n"

    def publish(self) -> None:
        # Some programs leave there what they wrote for a post that was deleted.
        for one in self.dist.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        self.build()


class NodeSite(MarkdownSite):
    """A program of npm's.

    :cvar module: the package that has the command, and its version
    :cvar command: in `node_modules/.bin`; `.ci/platforms` names the folder by it too
    """

    module: ClassVar[str] = ""
    command: ClassVar[str] = ""

    @property
    def _modules(self) -> Path:
        return INSTALLED / self.command / "node_modules"

    @property
    def version(self) -> str:
        return self.version_of(self.module)

    def version_of(self, package: str) -> str:
        file = self._modules / package / "package.json"
        return str(json.loads(file.read_text(encoding="utf-8"))["version"])

    def check_installed(self) -> None:
        if not self._modules.exists():
            raise NoServerError(f"{self.name} is not here: bash .ci/platforms")

    def set_up(self) -> None:
        (self.source / "node_modules").symlink_to(self._modules)

    def execute(self, *arguments: str) -> None:
        run(self._modules / ".bin" / self.command, *arguments, cwd=self.source, TZ="UTC")


class Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class _Files(Quiet, http.server.SimpleHTTPRequestHandler):
    extensions_map: ClassVar[dict[str, str]] = {  # type: ignore[misc]
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".xml": "application/xml",
        ".rss": "application/rss+xml",
        ".atom": "application/atom+xml",
    }


class _Script(Quiet, http.server.BaseHTTPRequestHandler):
    def __init__(self, script: Path, environment: dict[str, str], *args: Any) -> None:
        self.script, self.environment = script, environment
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
            "HTTP_IF_MODIFIED_SINCE": self.headers.get("If-Modified-Since", ""),
        }
        done = subprocess.run([str(self.script)], env=environment, capture_output=True, check=True)
        head, body = re.split(rb"\r?\n\r?\n", done.stdout, maxsplit=1)
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
