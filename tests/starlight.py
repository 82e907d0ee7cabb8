"""A site of starlight-blog, a plugin for Astro: it writes an RSS feed with an archive a month at each build.

It comes from npm, with a Node that Astro can use: `.ci/servers` installs both into the folder that the
variable STARLIGHT_BLOG names, or into `~/.cache/fhcrawl-starlight-blog`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from tests.ports import NoServerError
from tests.server import FeedServer
from tests.servers import leave_out

FOLDER = Path(os.environ.get("STARLIGHT_BLOG") or Path.home() / ".cache" / "fhcrawl-starlight-blog")
PACKAGES = {"astro": "7.3.5", "@astrojs/starlight": "0.42.4", "starlight-blog": "0.30.0"}
CONFIG = """
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import starlightBlog from 'starlight-blog'

const plugins = [starlightBlog({ title: 'Blog' })]
export default defineConfig({
  site: 'ROOT',
  integrations: [starlight({ title: 'Site', pagefind: false, plugins })],
})
"""
CONTENT = """
import { defineCollection } from 'astro:content'
import { docsLoader } from '@astrojs/starlight/loaders'
import { docsSchema } from '@astrojs/starlight/schema'
import { blogSchema } from 'starlight-blog/schema'

const schema = docsSchema({ extend: (context) => blogSchema(context) })
export const collections = { docs: defineCollection({ loader: docsLoader(), schema }) }
"""
POST = "---\ntitle: Post {name}\ndate: {day}\n---\n\n{text}\n"
BEGIN = date(2024, 1, 3)
DAYS_APART = 6


NODE = FOLDER / "node_modules" / ".bin" / "node"
ASTRO = FOLDER / "node_modules" / "astro" / "bin" / "astro.mjs"


@contextlib.contextmanager
def new_site(server: FeedServer) -> Iterator[Site]:
    """Yield a site without posts; below the packages, as Astro expects."""
    if not NODE.exists() or not ASTRO.exists():
        names = " ".join(f"{name}@{version}" for name, version in PACKAGES.items())
        leave_out(f"starlight-blog is not in {FOLDER}: npm install --prefix {FOLDER} node@24 {names}")
    with tempfile.TemporaryDirectory(prefix="site-", dir=FOLDER) as folder:
        yield Site(Path(folder), server)


def set_up(folder: Path, root: str) -> None:
    """Write a site without posts."""
    # Astro finds its plugins by the dependencies.
    package = {"name": "site", "type": "module", "private": True, "dependencies": PACKAGES}
    docs = folder / "src" / "content" / "docs"
    docs.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps(package))
    (folder / "astro.config.mjs").write_text(CONFIG.replace("ROOT", root))
    (folder / "src" / "content.config.ts").write_text(CONTENT)
    (docs / "index.md").write_text("---\ntitle: Site\n---\n")


def build(folder: Path) -> Path:
    """The folder of the files that Astro writes."""
    shutil.rmtree(folder / "dist", ignore_errors=True)
    environment = {**os.environ, "ASTRO_TELEMETRY_DISABLED": "1", "CI": "1"}
    command = [str(NODE), str(ASTRO), "build"]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if run.returncode:
        raise NoServerError(f"Astro does not build the site: {run.stderr.decode()}")
    return folder / "dist"


class Site:
    def __init__(self, folder: Path, server: FeedServer) -> None:
        self._folder = folder
        self._server = server
        self._posts = folder / "src" / "content" / "docs" / "blog"
        set_up(folder, server.root)
        self._posts.mkdir()

    @property
    def feed(self) -> str:
        return self._server.url("/blog/rss.xml")

    def url(self, name: str) -> str:
        return self._server.url(f"/blog/post-{name}/")

    def write(self, name: str, text: str, day: date) -> None:
        (self._posts / f"post-{name}.md").write_text(POST.format(name=name, day=day, text=text))

    def write_nth(self, number: int, text: str = "The text.") -> str:
        self.write(str(number), text, BEGIN + timedelta(days=DAYS_APART * number))
        return self.url(str(number))

    def remove(self, number: int) -> str:
        (self._posts / f"post-{number}.md").unlink()
        return self.url(str(number))

    def build(self) -> list[str]:
        dist = build(self._folder)
        found = sorted(dist.glob("blog/**/*.xml"))
        for path in found:
            # As static servers do, by the time of the file: a document that is the same counts as changed.
            stamp = f'"{path.stat().st_mtime_ns:x}"'
            content = path.read_bytes()
            self._server.serve(
                f"/{path.relative_to(dist)}", content, content_type="application/xml", etag=stamp
            )
        return [f"/{path.relative_to(dist)}" for path in found]
