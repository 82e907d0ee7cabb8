"""A crawl that is watched: in a terminal, and without one."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from fhcrawl.reporting.summary import FAILURES
from tests.feeds import E, atom
from tests.projects import USER_AGENT, Project
from tests.server import FeedServer
from tests.terminal import WIDTH, Terminal

shown = pytest.mark.any_store("what becomes of printed text")
# How a terminal is told to erase a line, and all that it is told.
ERASE = re.compile(r"\r?\x1b\[2K")
TOLD = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[\w.]+\] (INFO|WARNING|ERROR): ")


class Held:
    """A server with two feeds, of which the archive at the end of one is not served before `release`."""

    def __init__(self, server: FeedServer) -> None:
        self.urls = [server.url("/gap"), server.url("/long")]
        released = threading.Event()
        self.release = released.set
        server.serve("/gap", atom([E("1")], prev="/gone", title="With a gap"))
        server.serve("/long", atom([E("3"), E("2")], prev="/a1", title="Long\x85ago"))
        head, old = "<fh:archive/>", "2002-05-01T00:00:00Z"
        server.serve("/a1", atom([E("1", updated=old)], prev="/a2", updated=old, head=head))
        server.serve("/a2", atom([E("0", updated=old)], head=head, updated=old))

        def hold(path: str) -> None:
            assert path != "/a2" or released.wait(120)

        server.on_request = hold


@pytest.fixture
def held(server: FeedServer) -> Iterator[Held]:
    holding = Held(server)
    yield holding
    holding.release()


def command(urls: list[str], *settings: str) -> list[str]:
    wanted = [f"USER_AGENT={USER_AGENT}", "CONCURRENT_REQUESTS_PER_DOMAIN=4", "STATS_DUMP=0", *settings]
    given = [part for setting in wanted for part in ("-s", setting)]
    return ["crawl", "history", "-a", f"feed={' '.join(urls)}", "-o", "out.jsonl", *given]


def watch(
    project: Project, urls: list[str], *settings: str, width: int = WIDTH, term: str = "xterm-256color"
) -> Terminal:
    known = {"TERM": term, "NO_COLOR": "1", "COLUMNS": "", "LINES": ""}
    return Terminal(partial(project.start, *command(urls, *settings), **known), width)


# A process of a terminal that belongs to another one: a shell's, when `&` ends the line.
IN_BACKGROUND = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def is_shown(lines: list[str]) -> bool:
    """Whether the display shows all that is known while an archive is waited for."""
    return "Problems   1" in lines and any(line.endswith(" 2002-05") for line in lines)


@pytest.mark.parametrize("width", [60, 100, 200])
@shown
def test_terminal_has_one_display_and_complete_log_lines(held: Held, project: Project, width: int) -> None:
    terminal = watch(project, held.urls, width=width)
    lines = terminal.until(is_shown)
    # One display, at the foot, whatever was logged before.
    [begin] = [number for number, line in enumerate(lines) if line.startswith("Feeds ")]
    assert lines[begin] == "Feeds      1 of 2 done, 1 in progress, 0 waiting"
    assert lines[begin + 1].startswith("Documents  3  (")
    assert lines[begin + 2].startswith("Entries    4 new, 0 updated, 0 deleted  (")
    assert lines[begin + 6].split() == ["Long\\x85ago", "2", "3", "2002-05"]
    assert not any(lines[begin + 7 :])
    held.release()
    lines = terminal.wait()
    assert not any(line.startswith(("Feeds ", "In progress")) for line in lines)
    assert not terminal.screen.cursor.hidden
    # No display and no line break of ours within a line of the log.
    text = TOLD.sub("", ERASE.sub("\n", terminal.raw.decode()))
    records = [line for line in text.split("\n") if "] INFO: " in line or "] WARNING: " in line]
    assert len(records) > 10
    assert [line for line in records if not RECORD.match(line) or "Feeds " in line] == []
    gone = f"WARNING: {held.urls[0].replace('gap', 'gone')} is missing (404)\r\n"
    assert text.count(gone) == 1


@shown
def test_terminal_ends_with_a_table_and_advice(held: Held, project: Project) -> None:
    held.release()
    lines = watch(project, held.urls, "LOG_LEVEL=WARNING").wait()
    begin = next(number for number, line in enumerate(lines) if line.startswith("Feed "))
    gap, long = lines[begin + 1 : begin + 3]
    assert " ".join(gap.split()) == "With a gap 1 +1 2003-12-13 incomplete"
    assert " ".join(long.split()) == "Long\\x85ago 4 +4 2002-05-01 to 2003-12-13 complete"
    totals = "2 feeds: 1 incomplete, 1 complete; entries: 5 new, 0 updated, 0 deleted"
    assert lines[begin + 3] == totals
    assert lines[begin + 5].endswith("/gone (With a gap) is missing (404)")
    assert lines[begin + 6].startswith("What to do: ")
    # The table has it already.
    assert not any("verdicts] " in line for line in lines)
    # Another run: what is known is skipped.
    lines = watch(project, held.urls, "LOG_LEVEL=WARNING").wait()
    [long] = [line for line in lines if line.startswith("Long")]
    assert " ".join(long.split()) == "Long\\x85ago 4 0 2002-05-01 to 2003-12-13 complete"


@shown
def test_terminal_ends_with_the_result_of_the_export(server: FeedServer, project: Project) -> None:
    server.serve("/one", atom([E("1")], head="<fh:complete/>"))
    first, again = (watch(project, [server.url("/one")]).wait() for _ in range(2))
    assert "Nothing new" not in " ".join(first)
    reported = "Nothing new since the last export: out.jsonl is unchanged."
    assert f"1 feed: 1 complete {reported}" in " ".join(" ".join(again).split())
    server.serve("/one", atom([E("1"), E("2")], head="<fh:complete/>"))
    (project.folder / "out.jsonl").unlink()
    (project.folder / "out.jsonl").mkdir()
    failure = FAILURES["feedexport/failed_count/"]
    lines = watch(project, [server.url("/one")]).wait(code=1)
    total = "1 feed: 1 complete; entries: 1 new, 0 updated, 0 deleted"
    end = lines.index(total)
    assert (
        " ".join(line.strip() for line in lines[end:] if line)
        == f"{total} {failure} 1 change is not exported yet."
    )
    run = project.scrapy(*command([server.url("/one")]))
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].endswith(f"ERROR: {failure}")


@shown
def test_problems_are_seen_when_the_log_is_a_file(held: Held, project: Project) -> None:
    terminal = watch(project, held.urls, "LOG_FILE=log")
    lines = terminal.until(is_shown)
    assert lines[0] == f"WARNING: {held.urls[0].replace('gap', 'gone')} is missing (404)"
    assert lines[1].startswith("Feeds ")
    held.release()
    lines = terminal.wait()
    assert not any("INFO" in line for line in lines)
    totals = "2 feeds: 1 incomplete, 1 complete; entries: 5 new, 0 updated, 0 deleted"
    assert totals in lines
    log = (project.folder / "log").read_text()
    assert f"  {totals}\n" in log
    assert "\x1b" not in log


@pytest.mark.parametrize(("term", "enabled"), [("dumb", 1), ("xterm-256color", 0), ("in background", 1)])
@shown
def test_terminal_without_display_has_lines(held: Held, project: Project, term: str, enabled: int) -> None:
    held.release()
    if term == "in background":
        # It leaves the terminal to others.
        crawl = [sys.executable, "-c", IN_BACKGROUND, sys.executable, "-m", "scrapy", *command(held.urls)]
        env = project.environment(TERM="xterm-256color")
        options = {"cwd": project.folder, "env": env, "start_new_session": True}
        terminal = Terminal(partial(subprocess.Popen, crawl, **options))
    else:
        terminal = watch(project, held.urls, f"FHCRAWL_PROGRESS_ENABLED={enabled}", term=term)
    terminal.wait()
    assert b"\x1b" not in terminal.raw
    assert b"INFO: Feeds: 2 of 2 done, 0 in progress; documents: 4 (" in terminal.raw


@shown
def test_no_terminal_means_plain_lines_at_an_interval(held: Held, project: Project) -> None:
    path = project.folder / "stderr"
    with path.open("wb") as file:
        # No display without a terminal, whatever the environment variables are.
        environment = {"FORCE_COLOR": "1", "TERM": "xterm"}
        args = command(held.urls, "LOGSTATS_INTERVAL=0.1")
        process = project.start(*args, stdout=file, stderr=file, **environment)
        reported = "INFO: Feeds: 1 of 2 done, 1 in progress; documents: 3 ("
        while reported not in path.read_text():
            assert process.poll() is None
        held.release()
        assert process.wait(60) == 0
    log = path.read_text()
    assert "\x1b" not in log
    assert "Crawled " not in log
    assert "INFO: Feeds: 2 of 2 done, 0 in progress; documents: 4 (" in log
    assert "entries: 5 new, 0 updated, 0 deleted (" in log
    table = log.partition("INFO: The feeds of this run:\n")[2].splitlines()
    assert table[1].split()[:8] == ["With", "a", "gap", "archived", "1", "0", "1", "+1"]
    assert table[2].split()[:7] == ["Long\\x85ago", "archived", "3", "0", "4", "+4", "2002-05-01"]
    missing = log.partition("WARNING: What is missing, and what to do:\n")[2].splitlines()
    assert missing[0].endswith("/gone (With a gap) is missing (404)")
    assert missing[1].startswith("  What to do: ")


@pytest.mark.parametrize("table", ["feeds", "entries"])
def test_feed_that_the_store_refuses_is_done(server: FeedServer, project: Project, table: str) -> None:
    server.serve("/one", atom([E("1")]))
    server.serve("/two", atom([E("2")]))
    project.crawl(server.url("/one"))
    project.database.refuse(table, "1 = 1", "refused")
    run = project.crawl(server.url("/one"), server.url("/two"))
    [line] = [line for line in run.log.splitlines() if "INFO: Feeds: 2 of 2 done, 0 in progress; " in line]
    assert ("problems: 1" in line) is (table == "entries")
    # The table has what is known of it.
    assert ("was not crawled" in run.log) is (table == "feeds")


def test_dates_and_counts_are_those_of_the_store(server: FeedServer, project: Project) -> None:
    server.serve("/dates", atom([E("1", updated=None), E("2", updated="2010-01-01T00:00:00Z"), E("3")]))
    server.serve("/none", atom([E("1", updated=None)], updated=None))
    # Without an interval there are no lines.
    run = project.crawl(server.url("/dates"), server.url("/none"), settings={"LOGSTATS_INTERVAL": 0})
    assert "Feeds: " not in run.log
    table = run.log.partition("INFO: The feeds of this run:\n")[2].splitlines()
    assert " 2003-12-13 to 2010-01-01  unknown" in table[1]
    assert table[2].split()[-3:] == ["-", "unknown", server.url("/none")]
