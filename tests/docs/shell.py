"""Runs the shell examples of a page; feeds on loopback stand in the place of https://example.org."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

from fhcrawl.commands.demo import Publisher
from tests.feeds import E, atom
from tests.projects import ROOT
from tests.server import Answer, FeedServer

SITE = "https://example.org"
HOME = "/home/you"
PROMPT = "$ "
MONTHS = 3
# What differs from run to run, and from machine to machine.
VARIES = {
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?"): "TIME",
    re.compile(r"(?<=since )\d{4}-\d\d-\d\d\b"): "DAY",
    re.compile(r"\b\d:\d\d:\d\d\b"): "DURATION",
    re.compile(r"[\d.]+/s\b"): "SPEED",
    re.compile(r"127\.0\.0\.1:\d+"): "ADDRESS",
    # Columns are as wide as the URLs.
    re.compile(r"[\s─━-]+"): " ",
}
PODCAST = """<?xml version="1.0"?>
<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
<title>Ferry Tales</title><link>{root}/</link><description>A podcast</description>
{items}
</channel></rss>
"""
EPISODE = """<item><guid>{root}/episodes/{number}</guid><title>Episode {number}</title>
<pubDate>Sat, 0{number} Feb 2003 08:00:00 GMT</pubDate>
<enclosure url="{root}/audio/{number}.mp3" type="audio/mpeg" length="9"/></item>"""
API = '<{}/wordpress/wp-json/>; rel="https://api.w.org/"'
LIST = (
    "/wordpress/wp-json/wp/v2/posts?per_page=100&orderby=id&order=asc&page=1"
    "&_fields=id%2Cguid%2Clink%2Cmodified_gmt"
)
WORDPRESS = "<generator>https://wordpress.org/?v=6.1</generator>"


def install(folder: Path, control: int | None = None) -> Path:
    """Make a folder with the commands `fhcrawl` and `scrapy`, as a virtual environment has it.

    :param control: the connection to the server that forks the commands; None: they are started
    """
    folder.mkdir(parents=True)
    for name in ("fhcrawl", "scrapy", "python"):
        module = "" if name == "python" else f"-m {name} "
        if module and control is not None:
            module = f"-S -m tests.fork_server {control} {name} "
        command = folder / name
        command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} {module}"$@"\n')
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return folder


def serve(server: FeedServer) -> None:
    """Serve what the examples name: feeds with a complete history, with a gap, of a podcast, of WordPress."""
    publisher = Publisher(MONTHS, server.root)
    paths = ["/index.atom", *(f"/2021/{month:02}.atom" for month in range(1, MONTHS + 1))]
    for path in paths:
        server.serve(path, publisher.document(path) or "")
    server.serve("/blog.atom", atom([E("b2", title="Later")], prev="/blog/2003.atom", title="A Blog"))
    items = "\n".join(EPISODE.format(root=server.root, number=number) for number in (3, 2, 1))
    server.serve("/podcast.rss", PODCAST.format(root=server.root, items=items))
    for number in (1, 2, 3):
        server.answers[f"/audio/{number}.mp3"] = Answer(b"not music", content_type="audio/mpeg")
    for page, number in (("", 2), ("?paged=2", 1)):
        entries = [E(f"p{number}", title=f"Post {number}")]
        body = atom(entries, head=WORDPRESS, title="Posts")
        server.serve(f"/wordpress/feed/{page}", body, headers={"Link": API.format(server.root)})
    server.answers["/wordpress/feed/?paged=3"] = Answer(b"", 404, headers={"Link": API.format(server.root)})
    posts = [{"id": n, "guid": {"rendered": f"p{n}"}, "modified_gmt": "2003-12-13T18:30:02"} for n in (1, 2)]
    server.serve(LIST, json.dumps(posts), content_type="application/json", headers={"X-WP-Total": "2"})


def environment(folder: Path) -> dict[str, str]:
    """The environment of a reader, with the commands that `install` has put beside their home."""
    return {"HOME": str(folder), "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}", "LANG": "C.UTF-8"}


def run(
    command: str, folder: Path, server: FeedServer, control: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run an example in the folder, which is the reader's home."""
    return subprocess.run(
        ["/bin/bash", "-c", command.replace(SITE, server.root)],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
        pass_fds=() if control is None else (control,),
    )


def as_printed(output: str, folder: Path, server: FeedServer) -> str:
    lines = output.replace(server.root, SITE).replace(str(folder), HOME).strip("\n").splitlines()
    return "\n".join(line.rstrip() for line in lines)


def comparable(output: str) -> str:
    for pattern, name in VARIES.items():
        output = pattern.sub(name, output)
    return output.strip()
