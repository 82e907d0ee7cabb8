"""starlight-blog, a plugin for Astro, which writes an archive for each month (`.ci/servers` installs it)."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import starlight
from tests.platforms.publisher import Feed, Post, StaticSite


class StarlightBlog(StaticSite):
    name, program, installer = "starlight-blog", starlight.ASTRO, ".ci/servers"
    file = "src/content/docs/blog/post-{number}.md"
    # The feed, and an archive for each month before its own.
    feeds = (Feed("", "/blog/rss.xml", pages=36),)

    @property
    def version(self) -> str:
        return starlight.PACKAGES["starlight-blog"]

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        # Astro looks for its packages in the folders above.
        with tempfile.TemporaryDirectory(prefix="site-", dir=starlight.FOLDER) as folder:
            self.source = Path(folder) / "source"
            with super().serving():
                yield

    def set_up(self) -> None:
        starlight.set_up(self.source, self.root)

    def text_of(self, post: Post) -> str:
        day = f"{post.published:%Y-%m-%dT%H:%M:%SZ}"
        return starlight.POST.format(name=post.number, day=day, text=post.text)

    def build(self) -> None:
        shutil.copytree(starlight.build(self.source), self.dist, dirs_exist_ok=True)
