"""The files for operators in docs/deploy: what they run and set exists."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from fhcrawl import settings
from tests.docs import generate
from tests.docs.pages import DOCS
from tests.projects import ROOT
from tests.servers import leave_out

FILES = sorted((DOCS / "deploy").iterdir())
COMMAND = re.compile(r"\b(fhcrawl|scrapy) ((?:crawl|enqueue)\b[^;\"|]*)")
OTHERS = {"MAX_IDLE_TIME_BEFORE_CLOSE"}
FEEDS: list[dict[str, Any]] = [
    {
        "verdict": "complete",
        "crawled": "2003-01-01T00:00:00Z",
        "due": "2003-01-02T00:00:00Z",
        "subscribed": "x",
    },
    {
        "verdict": "complete",
        "crawled": "2003-01-02T00:00:00Z",
        "reasons": [{"kind": "server-error", "last_read": "x"}],
        "unexported": 2,
    },
    {"verdict": "unknown", "crawled": "2003-01-01T00:00:00Z", "skipped": "leased"},
    {"verdict": "unknown", "crawled": None, "reasons": [{"kind": "not-read"}]},
]
NOTHING: dict[str, Any] = {
    "reasons": [],
    "due": None,
    "subscribed": None,
    "entries": 1,
    "unexported": 0,
    "skipped": None,
}


def commands() -> Iterator[list[str]]:
    for path in FILES:
        for program, rest in COMMAND.findall(path.read_text("utf-8")):
            if path.suffix != ".jq":
                words = shlex.split(rest)
                yield [word for word in words if (program, word) != ("scrapy", "history")]


def test_commands_options_and_settings_exist() -> None:
    found, parsers = list(commands()), generate.parsers()
    assert sorted(name for name, *_ in found) == ["crawl", "crawl", "crawl", "enqueue"]
    for name, *arguments in found:
        parsed, others = parsers[name].parse_known_args(arguments)
        assert not [word for word in others if word.startswith("-")], (name, arguments)
        assert {each.partition("=")[0] for each in parsed.set} <= {*vars(settings), *OTHERS}
    for path in FILES:
        named = set(re.findall(r"\bFHCRAWL_[A-Z_]+", path.read_text("utf-8")))
        assert {name for name in named if not hasattr(settings, name)} == set(), path.name


def test_files_and_modules_exist() -> None:
    dockerfile = (DOCS / "deploy" / "Dockerfile").read_text("utf-8")
    copied = [
        name for line in re.findall(r"^COPY (.*) \S+$", dockerfile, re.MULTILINE) for name in line.split()
    ]
    assert "fhcrawl" in copied
    text = "".join(path.read_text("utf-8") for path in FILES)
    modules = [f"{name.replace('.', '/')}.py" for name in re.findall(r"\bpipelines_config\.\w+", text)]
    assert [name for name in (*copied, *modules) if not (ROOT / name).exists()] == []


def jq(name: str, feeds: list[dict[str, Any]]) -> str:
    if shutil.which("jq") is None:
        leave_out("jq is not installed")
    command = ["jq", "-crf", str(DOCS / "deploy" / name)]
    done = subprocess.run(command, input=json.dumps(feeds), capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow("needs jq")
def test_jq_counts_feeds() -> None:
    feeds = [{**NOTHING, **dict.fromkeys(("new", "updated", "deleted"), 1), **feed} for feed in FEEDS]
    line = json.loads(jq("run.jq", feeds))
    del line["time"]
    counts = {"feeds": 4, "failed": 2, "skipped": 1, "new": 4, "updated": 4, "deleted": 4, "unexported": 2}
    assert line == {**counts, "verdicts": {"complete": 2, "unknown": 1, "not-read": 1}}
    rows = [
        (row.split(" ")[0], row.split(" ")[1])
        for row in jq("metrics.jq", feeds).splitlines()
        if not row.startswith("#")
    ]
    assert dict(rows) == {
        'fhcrawl_feeds{verdict="complete"}': "2",
        'fhcrawl_feeds{verdict="incomplete"}': "0",
        'fhcrawl_feeds{verdict="lossy"}': "0",
        'fhcrawl_feeds{verdict="unknown"}': "1",
        'fhcrawl_feeds{verdict="not-read"}': "1",
        "fhcrawl_feeds_failed": "2",
        "fhcrawl_feeds_due": "1",
        "fhcrawl_entries": "4",
        "fhcrawl_changes_unexported": "2",
        "fhcrawl_last_crawl_timestamp_seconds": "1041465600",
    }
