"""Static sites whose posts are files in Markdown, with a head in YAML."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import ClassVar

from tests.platforms.publisher import INSTALLED, NotInstalledError, Post, StaticSite, run


class MarkdownSite(StaticSite):
    """A site with one file for each post.

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
        """The version of an installed package."""
        file = self._modules / package / "package.json"
        return str(json.loads(file.read_text(encoding="utf-8"))["version"])

    def check_installed(self) -> None:
        if not self._modules.exists():
            raise NotInstalledError(f"{self.name} is not here: bash .ci/platforms")

    def set_up(self) -> None:
        (self.source / "node_modules").symlink_to(self._modules)

    def execute(self, *arguments: str) -> None:
        """Run its command in `self.source`."""
        run(self._modules / ".bin" / self.command, *arguments, cwd=self.source, TZ="UTC")
