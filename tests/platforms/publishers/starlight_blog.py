"""starlight-blog, a plugin for Astro, which writes an archive for each month (`.ci/servers` installs it)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import starlight
from tests.platforms.publisher import Feed, NotInstalledError, Post, StaticSite, run


class StarlightBlog(StaticSite):
    """A blog with links from its feed to the archives."""

    name = "starlight-blog"
    # The feed, and an archive for each month before its own.
    feeds = (Feed("", "/blog/rss.xml", pages=36),)

    @property
    def version(self) -> str:
        return starlight.PACKAGES["starlight-blog"]

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        if not starlight.NODE.exists() or not starlight.ASTRO.exists():
            raise NotInstalledError("starlight-blog is not here: bash .ci/servers")
        # Astro looks for its packages in the folders above.
        with tempfile.TemporaryDirectory(prefix="site-", dir=starlight.FOLDER) as folder:
            self.source = Path(folder) / "source"
            with super().serving():
                yield

    def set_up(self) -> None:
        package = {"name": "site", "type": "module", "private": True, "dependencies": starlight.PACKAGES}
        docs = self.source / "src" / "content" / "docs"
        docs.mkdir(parents=True)
        (self.source / "package.json").write_text(json.dumps(package), encoding="utf-8")
        config = starlight.CONFIG.replace("ROOT", self.root)
        (self.source / "astro.config.mjs").write_text(config, encoding="utf-8")
        (self.source / "src" / "content.config.ts").write_text(starlight.CONTENT, encoding="utf-8")
        (docs / "index.md").write_text("---\ntitle: Site\n---\n", encoding="utf-8")

    def path_of(self, number: int) -> Path:
        return self.source / "src" / "content" / "docs" / "blog" / f"post-{number}.md"

    def text_of(self, post: Post) -> str:
        day = f"{post.published:%Y-%m-%dT%H:%M:%SZ}"
        return starlight.POST.format(name=post.number, day=day, text=post.text)

    def build(self) -> None:
        environment = {**os.environ, "ASTRO_TELEMETRY_DISABLED": "1", "CI": "1"}
        run(starlight.NODE, starlight.ASTRO, "build", cwd=self.source, **environment)
        shutil.copytree(self.source / "dist", self.dist, dirs_exist_ok=True)
