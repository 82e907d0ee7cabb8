"""The command `fhcrawl`, in any folder."""

import argparse
import os
import shlex
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from scrapy.settings import Settings

from fhcrawl.__main__ import build_parser, load_commands
from fhcrawl.store import Store
from fhcrawl.utils.clock import now
from tests.feeds import E, atom
from tests.projects import ROOT, USER_AGENT, read_export
from tests.server import FeedServer
from tests.terminal import Terminal


def defaults() -> Settings:
    """fhcrawl's settings. (Those of a project would be in the environment of the other tests, too.)"""
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    return settings


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    return build_parser(load_commands(defaults()))


def examples() -> list[str]:
    return [line for command in load_commands(defaults()).values() for line in command.examples]


@pytest.mark.parametrize("example", examples())
def test_examples_of_the_help_are_command_lines(example: str, parser: argparse.ArgumentParser) -> None:
    subprocess.run(["/bin/sh", "-n"], input=example, text=True, check=True)
    words = shlex.split(example.replace("\\\n", ""))
    words = words[words.index("fhcrawl") + 1 :]
    ends = [words.index(word) for word in ("|", ">") if word in words]
    parsed = parser.parse_args(words[: min(ends, default=None)])  # exits if it cannot
    assert parsed.command in load_commands(defaults())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_the_commands(
    shell: str, parser: argparse.ArgumentParser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["--print-completion", shell])
    script = capsys.readouterr().out
    assert all(name in script for name in [*load_commands(defaults()), "reset"])


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_scrapy_is_not_imported_for_the_help(option: str, tmp_path: Path) -> None:
    source = "import atexit, sys; from fhcrawl.__main__ import main\n"
    source += f"atexit.register(lambda: print('scrapy' in sys.modules)); main(['{option}'])"
    environment = {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(tmp_path)}
    command = [sys.executable, "-c", source]
    printed = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
    assert printed.endswith("\nFalse\n")
    commands = load_commands(defaults())
    assert option == "--version" or all(
        command.summary in " ".join(printed.split()) for command in commands.values()
    )


class Anywhere:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "anywhere"
        self.folder.mkdir()
        self.data = folder / "data" / "fhcrawl"

    @property
    def environment(self) -> dict[str, str]:
        unset = ("FHCRAWL_DATA_DIR", "FHCRAWL_STORE_URL", "SCRAPY_PROJECT", "SCRAPY_SETTINGS_MODULE")
        rest = {name: value for name, value in os.environ.items() if name not in unset}
        return {**rest, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(self.data.parent)}

    def command(self, *args: str) -> list[str]:
        agent = ("-s", f"USER_AGENT={USER_AGENT}") if args[:1] == ("crawl",) else ()
        return [sys.executable, "-m", "fhcrawl", *args, *agent]

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture
def anywhere(tmp_path: Path) -> Anywhere:
    return Anywhere(tmp_path)


def test_a_feed_is_crawled_quietly_again_and_again(anywhere: Anywhere, server: FeedServer) -> None:
    server.serve("/feed", atom([E("2"), E("1")], prev="/a1", title="A feed"))
    server.serve("/a1", atom([E("0")]))
    first = anywhere.run("crawl", server.url("/feed"), "-o", "out.csv")
    assert (first.returncode, first.stdout) == (0, "")
    assert "A feed" in first.stderr
    assert "complete" in first.stderr
    assert len(first.stderr.splitlines()) <= 12
    assert {row["id"] for row in read_export(anywhere.folder / "out.csv")} == {"0", "1", "2"}
    # Nothing is new, and nothing is missing.
    again = anywhere.run("crawl", server.url("/feed"), "-o", "out.csv")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert "A feed" in anywhere.run("feeds").stdout
    assert [path.name for path in anywhere.folder.iterdir()] == ["out.csv"]
    # The log, as Scrapy has it.
    verbose = anywhere.run("crawl", server.url("/feed"), "-v")
    assert "[scrapy.core.engine] INFO: Spider opened" in verbose.stderr
    assert "The feeds of this run" in verbose.stderr


def test_a_feed_is_crawled_without_stderr(anywhere: Anywhere, server: FeedServer) -> None:
    """As some programs start others: not redirected to /dev/null, but closed."""
    server.serve("/feed", atom([E("1")]))
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *anywhere.command("crawl", server.url("/feed"))]
    command += ["-o", "out.csv"]
    subprocess.run(command, cwd=anywhere.folder, env=anywhere.environment, timeout=120, check=True)
    assert [row["id"] for row in read_export(anywhere.folder / "out.csv")] == ["1"]


def test_what_is_missing_is_printed_when_it_is_new_unless_quiet(
    anywhere: Anywhere, server: FeedServer
) -> None:
    server.serve("/feed", atom([E("1")], prev="/gone"))
    done = anywhere.run("crawl", server.url("/feed"), "-o", "out.jsonl", "--logfile", "log.txt")
    assert f"{server.url('/gone')} (Example Feed) is missing (404)" in done.stderr
    assert "INFO" not in done.stderr
    assert "[scrapy.core.engine] INFO: Spider opened" in (anywhere.folder / "log.txt").read_text()
    time.sleep(1)
    assert anywhere.run("crawl", server.url("/feed")).stderr == ""
    server.serve("/gone", "", status=410)
    assert (
        "/gone (Example Feed) has been removed permanently (410)"
        in anywhere.run("crawl", server.url("/feed")).stderr
    )
    server.serve("/feed", "", status=503)
    other = server.url("/other")
    server.serve("/other", atom([E("2")], head="<fh:complete/>"))
    feeds = server.url("/feed"), other, "-s", "RETRY_ENABLED=0"
    assert "cannot be fetched: HTTP status 503" in anywhere.run("crawl", *feeds).stderr
    time.sleep(1)
    assert anywhere.run("crawl", *feeds).stderr == ""
    server.serve("/feed", atom([E("1")], prev="/gone"))
    assert anywhere.run("crawl", server.url("/feed"), "-q").stderr == ""
    done = anywhere.run("crawl", server.url("/feed"), "-q", "--fail-on", "incomplete")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fhcrawl: --fail-on incomplete: some feeds are incomplete\n"


def test_each_feed_that_could_not_be_read_has_a_line_even_if_quiet(
    anywhere: Anywhere, server: FeedServer
) -> None:
    feed, lost, missing = map(server.url, ("/feed", "/lost", "/missing"))
    server.serve("/feed", atom([E("1")], prev="/a1"))
    server.serve("/a1", atom([E("0")]))
    server.serve("/lost", atom([E("1")]))
    assert anywhere.run("crawl", feed, lost, "-q").stderr == ""
    server.serve("/lost", "", status=503)
    unread = ["fhcrawl: No feed could be read."]
    for feeds, code, failures in (((feed, lost, missing), 0, []), ((missing, lost), 1, unread)):
        quiet = anywhere.run("crawl", *feeds, "-q", "-s", "RETRY_ENABLED=0")
        assert quiet.returncode == code
        *failed, first, other = sorted(quiet.stderr.splitlines())
        assert failed == failures
        assert first.startswith(f"fhcrawl: {lost}: ")
        assert f"{lost} cannot be fetched: HTTP status 503" in first
        assert other.startswith(f"fhcrawl: {missing}: ")
        assert f"{missing} is missing (404)" in other


def test_why_no_feed_could_be_read_is_printed_without_the_table(
    anywhere: Anywhere, server: FeedServer
) -> None:
    done = anywhere.run("crawl", server.url("/missing"), "-s", "FHCRAWL_SUMMARY_ENABLED=0")
    reason = f"{server.url('/missing')} is missing (404)"
    assert (done.returncode, done.stderr) == (1, f"fhcrawl: No feed could be read: {reason}.\n")


def test_feeds_that_another_crawl_reads_are_named_without_the_log(anywhere: Anywhere) -> None:
    feed = "http://127.0.0.1:1/held"
    anywhere.run("subscribe", feed)
    with closing(Store.open(f"sqlite:///{anywhere.data / 'fhcrawl.sqlite'}")) as store:
        store.walks.begin([feed], store.begin_run(60), now())
        done = anywhere.run("crawl", feed)
    assert f"fhcrawl: {feed} is skipped: another crawl is reading it (process " in done.stderr


def test_captures_of_other_feeds_are_told_without_the_log(anywhere: Anywhere, server: FeedServer) -> None:
    server.serve("/feed", atom([E("1")]))
    captures = anywhere.folder / "captures"
    kept = anywhere.run("crawl", server.url("/feed"), "-s", f"FHCRAWL_WARC={captures}/%(time)s.warc.gz")
    assert kept.returncode == 0, kept.stderr
    server.serve("/other", atom([E("1")]))
    done = anywhere.run("crawl", server.url("/other"), "--warc", str(captures))
    assert "fhcrawl: The WARC files have no captures of these feeds\n" in done.stderr


def test_nothing_is_printed_when_nothing_is_due(anywhere: Anywhere, server: FeedServer) -> None:
    server.serve("/feed", atom([E("1")]))
    assert anywhere.run("subscribe", server.url("/feed")).returncode == 0
    assert anywhere.run("crawl", "--due").stderr
    done = anywhere.run("crawl", "--due")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_options_are_the_spiders_arguments(anywhere: Anywhere, server: FeedServer) -> None:
    server.serve("/one", atom([E("1")]))
    server.serve("/two", atom([E("2")]))
    (anywhere.folder / "list.txt").write_text(server.url("/two"))
    done = anywhere.run("crawl", server.url("/one"), "--feeds", "list.txt", "--reset", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    assert {item["id"] for item in read_export(anywhere.folder / "out.jsonl")} == {"1", "2"}


@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (("crawl", "--jsn"), "fhcrawl crawl: error: There is no option --jsn; did you mean --json?"),
        (("export", "--jsn"), "fhcrawl export: error: There is no option --jsn"),
        (("crawl",), "fhcrawl crawl: error: No feed to crawl"),
        (("crawl", "--due"), "another store; fhcrawl --help shows which store is used here"),
        (("crawl", "example.org"), "fhcrawl crawl: error: example.org is not the URL of a feed"),
        (("crawl", "https://example.org/", "-s", "FHCRAWL_MAX_PAGE=1"), "did you mean FHCRAWL_MAX_PAGES?"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    anywhere: Anywhere, args: tuple[str, ...], reported: str
) -> None:
    done = anywhere.run(*args)
    assert done.returncode == 2
    assert reported in done.stderr
    assert "Traceback" not in done.stderr


def test_a_project_of_fhcrawls_alone_has_its_own_data(anywhere: Anywhere, server: FeedServer) -> None:
    server.serve("/feed", atom([E("1")]))
    (anywhere.folder / "scrapy.cfg").write_text("[settings]\ndefault = fhcrawl.settings\n")
    assert anywhere.run("crawl", server.url("/feed")).returncode == 0
    here = anywhere.folder / ".scrapy" / "fhcrawl.sqlite"
    assert [feed.feed for feed in Store.open(f"sqlite:///{here}").feeds.read()] == [server.url("/feed")]
    assert not anywhere.data.exists()
    here.unlink()
    (anywhere.folder / "scrapy.cfg").write_text("[settings]\ndefault = other.settings\n")
    (anywhere.folder / "other").mkdir()
    (anywhere.folder / "other" / "settings.py").write_text("BOT_NAME = 'other'\n")
    assert anywhere.run("crawl", server.url("/feed")).returncode == 0
    assert (anywhere.data / "fhcrawl.sqlite").exists()
    assert not here.exists()


@pytest.mark.parametrize("config", ["[settings]\ndefault = nowhere.settings\n", "no section\n"])
def test_a_project_that_cannot_be_read_is_one_sentence(anywhere: Anywhere, config: str) -> None:
    (anywhere.folder / "scrapy.cfg").write_text(config)
    done = anywhere.run("feeds")
    assert done.returncode == 2
    assert "fhcrawl: error: Cannot read the settings of the Scrapy project" in done.stderr
    assert "Traceback" not in done.stderr
    assert not anywhere.data.exists()


def test_a_terminal_shows_the_store_and_the_crawl(anywhere: Anywhere, server: FeedServer) -> None:
    server.serve("/feed", atom([E("1")], links={"self": "/feed"}, title="A feed"))
    environment = {**anywhere.environment, "TERM": "xterm", "COLUMNS": "", "LINES": ""}
    command = anywhere.command("crawl", server.url("/feed"))
    shown = Terminal(partial(subprocess.Popen, command, cwd=anywhere.folder, env=environment), 80)
    lines = "\n".join(shown.wait())
    assert "The store is in" in lines
    assert "A feed" in lines
    assert "INFO" not in lines
