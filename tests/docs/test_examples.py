"""The shell examples of the documentation work, and print what the pages show.

`pytest tests/docs --lane=full --update-golden` writes outputs anew: read what differs before it is committed.
"""

import shutil
import sys
from pathlib import Path

import pytest

from tests import fork_server
from tests.docs import shell
from tests.docs.pages import CONSOLE, DOCS, PAGES, PROMPT, Example, examples, source
from tests.projects import ROOT
from tests.server import FeedServer

pytestmark = [
    pytest.mark.sqlite_only("the store that a reader has by default"),
    pytest.mark.full_lane("starts the commands of the pages"),
]
WITH_CONSOLE = [page for page in PAGES if CONSOLE.search(source(page))]
# The page is about commands in the folder of a project.
IN_PROJECT = "howto/scrapy"


@pytest.mark.parametrize("page", WITH_CONSOLE)
def test_examples_print_what_the_page_shows(
    page: str, server: FeedServer, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shell.install(tmp_path / "bin", _control())
    shell.serve(server)
    home = tmp_path / "home"
    home.mkdir()
    if page == IN_PROJECT:
        shutil.copy(ROOT / "scrapy.cfg", home)
    for path in (DOCS / "examples").iterdir():
        (home / path.name).write_text(path.read_text("utf-8").replace(shell.SITE, server.root), "utf-8")
    before = source(page)
    after = CONSOLE.sub(lambda block: "".join(_run(e, home, server) for e in examples(block[0])), before)
    if request.config.getoption("--update-golden") and shell.comparable(after) != shell.comparable(before):
        (DOCS / f"{page}.md").write_text(after, "utf-8")
    assert shell.comparable(after) == shell.comparable(source(page))


def _control() -> int | None:
    return fork_server.running().control.fileno() if sys.platform == "linux" else None


def _run(example: Example, home: Path, server: FeedServer) -> str:
    done = shell.run(example.command, home, server, _control())
    assert done.returncode == 0, (example.command, done.stdout)
    assert example.output is None or done.stdout, example.command
    shown = "" if example.output is None else shell.as_printed(done.stdout, home, server) + "\n"
    return f"{PROMPT}{example.command}\n{shown}"
