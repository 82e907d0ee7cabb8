"""The pictures of the README show what is printed today: `python -m tests.docs.pictures` makes them anew."""

import re
from pathlib import Path

import pytest
from lxml import etree

from tests.docs import pictures, shell
from tests.server import FeedServer

pytestmark = pytest.mark.sqlite_only("the store that a reader has by default")
LARGEST = 150_000
DAY = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?")


def without_days(text: str) -> str:
    return shell.comparable(DAY.sub("DAY", text))


@pytest.fixture
def run(tmp_path: Path, server: FeedServer) -> pictures.Run:
    return pictures.Run(tmp_path, server)


@pytest.mark.slow("starts the commands of the pictures")
def test_terminal_prints_what_its_picture_shows(run: pictures.Run) -> None:
    screen = run.screen()
    text = pictures.text_of(screen)
    assert pictures.text_in_svg(pictures.svg(screen)) == text
    assert without_days(pictures.text_in_svg(pictures.TERMINAL.read_text("utf-8"))) == without_days(text)


@pytest.mark.parametrize("path", [pictures.TERMINAL, pictures.REPORT], ids=lambda path: path.name)
def test_pictures_are_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


@pytest.mark.parametrize("path", sorted(pictures.TERMINAL.parent.glob("*.svg")), ids=lambda path: path.name)
def test_drawings_need_nothing_from_the_net(path: Path) -> None:
    text = path.read_text("utf-8")
    etree.fromstring(text.encode())
    assert not re.search(r"url\((?!#)|href=|<script|@import|@font-face", text)
