"""What comes out: text from feeds drives no terminal, forges no log line, is no formula and no path."""

import csv
import io
import json
import os
import pty
import re
from pathlib import Path

import pytest

from fhcrawl.exporters.rows import CsvItemExporter
from tests.databases import on_postgresql
from tests.feeds import E, atom, rss
from tests.projects import Project, read_export
from tests.server import Answer, FeedServer

# XML has no control characters except tabs and line ends; JSON has all.
FORGED = "2026-01-01 00:00:00 [root] ERROR: forged"
NASTY = f"../../etc/x\n{FORGED}\r{FORGED}\u2028{FORGED}\x85{FORGED}\u202egnp\x9b31mred\x7f\u2066"
WORSE = f"\x1b[31m\x1b]0;title\x07\x08\0{NASTY}"
UNFIT = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def hostile_feeds(server: FeedServer) -> list[str]:
    """A feed for each way that text comes into a log: good and bad entries, ids, links, errors, headers."""
    document = atom([E(NASTY), E(None, title=NASTY)], prev=f"/a1?{NASTY}", title=NASTY)
    server.serve(
        "/atom", document.replace("</feed>", f"<entry><id>2</id><updated>{NASTY}</updated></entry></feed>")
    )
    server.serve("/rss", rss([E(NASTY)], links={"next": f"https://[{NASTY}"}))
    items = [{"id": WORSE, "title": WORSE}, {"title": WORSE}, {"id": "3", "date_published": WORSE}]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": WORSE, "items": items, "next_url": WORSE}
    server.serve("/json", json.dumps(feed))
    server.serve("/broken", f"<feed {WORSE}")
    server.serve("/root", '<x\u202ey xmlns="a\u2028b"/>')
    server.answers["/moved"] = Answer(status=302, headers={"Location": "/to\x1b[31m\x9b\x7f"})
    lines = b"HTTP/1.1 500 \x1b[31mno\r\nX\x1b[31m\r\nContent-Encoding: \x1b[31m\r\nContent-Length: 0\r\n\r\n"
    server.answers["/headers"] = Answer(raw=lambda file: file.writelines([lines]))
    return [server.url(f"/{name}") for name in ("atom", "rss", "json", "broken", "root", "moved", "headers")]


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_hostile_feed_writes_neither_to_the_terminal_nor_to_paths(
    server: FeedServer, project: Project, level: str
) -> None:
    before = {path.name for path in project.folder.iterdir()}
    run = project.crawl(*hostile_feeds(server), settings={"LOG_LEVEL": level, "RETRY_TIMES": 1})
    assert run.exit_code == 0
    assert len(run.items) >= 4
    assert UNFIT.findall(run.log) == []
    assert not [line for line in run.log.splitlines() if line.startswith(FORGED)]
    assert "forged" in run.log
    for args in ((), ("--json",)):
        listed = project.scrapy("feeds", *args)
        assert "forged" in listed.stdout
        assert UNFIT.findall(listed.stdout) == []
        assert FORGED not in listed.stdout.splitlines()
    assert any(NASTY.partition("\r")[0] in (feed["title"] or "") for feed in project.feeds())
    ours = {".scrapy": ["fhcrawl.sqlite"]} if not on_postgresql() else {}
    assert {path.name for path in project.folder.iterdir()} - before == {*ours, "out.jsonl", "stats.json"}
    for folder, names in ours.items():
        assert [path.name for path in (project.folder / folder).iterdir()] == names


def test_error_of_a_pipeline_cannot_forge_log_lines(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1", title=NASTY)]))
    (project.folder / "nasty.py").write_text(
        "class Pipeline:\n    def process_item(self, item):\n        raise ValueError(item.title)\n"
    )
    pipelines = {"fhcrawl.pipelines.DuplicatesPipeline": 100, "nasty.Pipeline": 200}
    settings = {"ITEM_PIPELINES": json.dumps(pipelines)}
    run = project.crawl(server.url("/index"), settings=settings)
    assert "ValueError: ../../etc/x" in run.log
    assert UNFIT.findall(run.log) == []
    assert not [line for line in run.log.splitlines() if line.startswith(FORGED)]


@pytest.mark.parametrize("name", ["csv", "jsonl", "json", "xml"])
def test_export_to_a_terminal_does_not_drive_it(server: FeedServer, project: Project, name: str) -> None:
    project.crawl(*hostile_feeds(server), settings={"RETRY_TIMES": 0})
    outer, inner = pty.openpty()
    process = project.start("export", "-o", f"-:{name}", stdout=inner)
    os.close(inner)
    shown = b""
    try:
        while piece := os.read(outer, 65536):
            shown += piece
    except OSError:  # the end of a terminal
        pass
    assert process.wait(30) == 0
    text = shown.decode().replace("\r\n", "\n")
    assert "forged" in text
    assert UNFIT.findall(text) == []
    # A file has the bytes as they are.
    piped = project.scrapy("export", "-o", f"-:{name}")
    assert "\x85" in piped.stdout


FORMULAS = [
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\ufeff=1", "\uff1d1"),
    *('=cmd|" /C calc"!A0', "'=1"),
]
PLAIN = ["", "text", "1-1", "a=b", "mail@example.org", '"quoted"', "a,b;c"]


def test_csv_keeps_formulas_unless_requested(server: FeedServer, project: Project) -> None:
    titles = [text for text in (*FORMULAS, *PLAIN) if text]
    items = [{"id": f"{number}", "summary": text} for number, text in enumerate(titles)]
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": items}
    server.serve("/index", json.dumps(feed))
    project.crawl(server.url("/index"), output="out.csv")
    exact = {row["id"]: row["summary"] for row in read_export(project.folder / "out.csv")}
    assert exact == {str(number): text for number, text in enumerate(titles)}
    done = project.scrapy("export", "-o", "whole.csv", "--excel")
    assert done.returncode == 0, done.stderr
    assert_escaped(project.folder / "whole.csv", exact)
    escaped = {"FHCRAWL_CSV_EXCEL_ENABLED": 1}
    other = project.folder / "other"
    other.mkdir()
    type(project)(other).crawl(server.url("/index"), output="out.csv", settings=escaped)
    assert_escaped(other / "out.csv", exact)


def assert_escaped(path: Path, exact: dict[str, str]) -> None:
    rows = {row["id"]: row["summary"] for row in read_export(path)}
    assert rows == {i: f"'{text}" if text in FORMULAS else text for i, text in exact.items()}


def test_a_list_is_no_formula_and_null_stays_empty() -> None:
    file = io.BytesIO()
    exporter = CsvItemExporter(file, excel=True, fields_to_export=["a", "b", "c"])
    exporter.start_exporting()
    exporter.export_item({"a": ["=1"], "b": None, "c": "-"})
    exporter.finish_exporting()
    text = file.getvalue().decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(text, newline="")))[1] == ['["=1"]', "", "'-"]
