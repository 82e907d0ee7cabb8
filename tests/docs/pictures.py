"""Makes the pictures of the README from a real run: `python -m tests.docs.pictures`.

Feeds on loopback stand in the place of https://example.org. Look at the pictures before you commit them.
"""

import base64
import io
import re
import subprocess
import tempfile
from functools import partial
from itertools import cycle, groupby
from pathlib import Path
from urllib.parse import urlsplit

import pyte
from lxml import etree
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from fhcrawl.commands.demo import TOPICS, Publisher
from tests.browser import Browser
from tests.docs import shell
from tests.feeds import E, atom
from tests.projects import ROOT
from tests.server import FeedServer
from tests.terminal import Terminal

TERMINAL = ROOT / "docs" / "_static" / "terminal.svg"
REPORT = ROOT / "docs" / "_static" / "report.png"
COMMAND = "fhcrawl crawl --feeds podcasts.opml -o episodes.csv"
HOST = urlsplit(shell.SITE).netloc
LIST = "podcasts.opml"
OPML = """<opml version="2.0"><body>
<outline xmlUrl="{site}/index.atom"/>
<outline xmlUrl="{site}/ferry-tales.atom"/>
<outline xmlUrl="{site}/harbour-news.atom"/>
</body></opml>
"""
WIDTH, HEIGHT = 88, 20
REPORT_WIDTH = 1000
# Where the first feed of the table is.
WORST = """
const table = document.querySelector("#table"), feed = table.querySelector("tbody");
const top = table.tHead.getBoundingClientRect(), bottom = feed.getBoundingClientRect();
const clip = {x: top.x, y: top.y + scrollY, width: top.width, height: bottom.bottom - top.y, scale: 1};
return clip;
"""
# A font that a viewer would have to download.
FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)

MONTHS = 36
YEARS = range(2016, 2021)
LOST = 2018
EPISODES = 36  # a year


def serve(server: FeedServer) -> None:
    """Serve a feed with a complete history, one with a gap, and one without links to its history."""
    complete = Publisher(MONTHS, server.root)
    archives = [f"/{2021 + n // 12}/{n % 12 + 1:02}.atom" for n in range(MONTHS)]
    for path in ("/index.atom", *archives):
        server.serve(path, complete.document(path) or "")
    for year in YEARS:
        prev = f"/ferry-tales/{year - 1}.atom" if year > YEARS[0] else None
        if year != LOST:
            server.serve(f"/ferry-tales/{year}.atom", _year("Ferry Tales", year, EPISODES, prev))
    newest = _year("Ferry Tales", YEARS[-1] + 1, 8, f"/ferry-tales/{YEARS[-1]}.atom")
    server.serve("/ferry-tales.atom", newest)
    server.serve("/harbour-news.atom", _year("Harbour News", 2023, 10, None))


def _year(title: str, year: int, entries: int, prev: str | None) -> str:
    times = [f"{year}-{1 + n // 3:02}-{1 + n % 3 * 10:02}T06:00:00Z" for n in range(entries)]
    topics = zip(times, cycle(TOPICS), strict=False)
    found = [E(f"{title}:{time}", updated=time, title=topic.capitalize()) for time, topic in topics]
    return atom(found, prev=prev, updated=times[-1], title=title)


class Run:
    """A crawl of these feeds, on a terminal and in a home of its own.

    :param folder: empty folder
    """

    def __init__(self, folder: Path, server: FeedServer) -> None:
        shell.install(folder / "bin")
        self._home = folder / "home"
        self._home.mkdir()
        self._server = server
        serve(server)
        (self._home / LIST).write_text(OPML.format(site=server.root))

    def screen(self) -> pyte.Screen:
        environment = shell.environment(self._home) | {"TERM": "xterm-256color"}
        command = ["/bin/sh", "-c", COMMAND]
        start = partial(subprocess.Popen, command, cwd=self._home, env=environment)
        terminal = Terminal(start, WIDTH, HEIGHT)
        terminal.wait()
        screen = pyte.Screen(WIDTH, HEIGHT)
        output = self._as_printed(terminal.raw.decode())
        pyte.Stream(screen).feed(f"{shell.PROMPT}{COMMAND}\r\n{output}")
        return screen

    def report(self) -> Path:
        done = shell.run("fhcrawl report -o report.html", self._home, self._server)
        assert done.returncode == 0, done.stdout
        path = self._home / "report.html"
        path.write_text(self._as_printed(path.read_text("utf-8")), "utf-8")
        return path

    def _as_printed(self, output: str) -> str:
        for ours, shown in {
            self._server.root: shell.SITE,
            "127.0.0.1": HOST,
            str(self._home): shell.HOME,
        }.items():
            output = output.replace(ours, shown)
        return output


def text_of(screen: pyte.Screen) -> str:
    return "\n".join(line.rstrip() for line in screen.display).strip("\n")


def svg(screen: pyte.Screen) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    for row in range(len(text_of(screen).splitlines())):
        cells = (screen.buffer[row][column] for column in range(WIDTH))
        runs = groupby(cells, key=_style)
        console.print(Text.assemble(*(("".join(cell.data for cell in run), style) for style, run in runs)))
    picture = console.export_svg(title="", theme=DIMMED_MONOKAI, unique_id="terminal")
    return FONT.sub("", picture).replace("Fira Code", "ui-monospace")


def _style(cell: Char) -> Style:
    # It calls yellow brown, as the VGA card did.
    colour = None if cell.fg == "default" else cell.fg.replace("brown", "yellow")
    return Style(color=colour, bold=cell.bold)


def text_in_svg(picture: str) -> str:
    lines: dict[float, str] = {}
    for element in etree.fromstring(picture.encode()).iter("{*}text"):
        if "clip-path" in element.attrib:
            y = float(element.attrib["y"])
            lines[y] = lines.get(y, "") + (element.text or "")
    return "\n".join(line.replace("\xa0", " ").rstrip() for _, line in sorted(lines.items()))


def png(browser: Browser, path: Path) -> bytes:
    browser.cdp("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.open(path, width=REPORT_WIDTH)
    screenshot = {"clip": browser.run(WORST), "captureBeyondViewport": True}
    return base64.b64decode(browser.cdp("Page.captureScreenshot", screenshot)["data"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, FeedServer() as server:
        run = Run(Path(folder) / "run", server)
        TERMINAL.write_text(svg(run.screen()), "utf-8")
        browser = Browser(Path(folder) / "profile")
        REPORT.write_bytes(png(browser, run.report()))
        browser.driver.quit()


if __name__ == "__main__":
    main()
