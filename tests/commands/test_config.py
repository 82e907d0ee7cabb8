"""The config file of `fhcrawl`, with the commands in this process."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fhcrawl.__main__ import main
from fhcrawl.core.checks import OURS

pytestmark = pytest.mark.any_store("what command lines say")
CommandLine = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fhcrawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[CommandLine]:
    for name in ("FHCRAWL_DATA_DIR", "FHCRAWL_STORE_URL", "SCRAPY_PROJECT", "SCRAPY_SETTINGS_MODULE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("here", "config/fhcrawl"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path / "here")

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(args)
        code = ended.value.code
        assert isinstance(code, int)
        done = capsys.readouterr()
        return code, done.out, done.err

    pipe = signal.getsignal(signal.SIGPIPE)
    yield run
    signal.signal(signal.SIGPIPE, pipe)
    with contextlib.suppress(KeyError):
        del os.environ["SCRAPY_SETTINGS_MODULE"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "fhcrawl" / "config.toml"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("FHCRAWL_RECHEK = 1", "There is no setting FHCRAWL_RECHEK; did you mean FHCRAWL_RECHECK?"),
        ("DELTAFETCH_RESETS = 1", "There is no setting DELTAFETCH_RESETS; did you mean DELTAFETCH_RESET?"),
        ("DOWNLOAD_DELAI = 1", "There is no setting DOWNLOAD_DELAI; did you mean DOWNLOAD_DELAY?"),
        ("user_agent = 'x'", "There is no setting user_agent; did you mean USER_AGENT?"),
        ("[fhcrawl]\nPROBE = true", "There is no setting fhcrawl; write FHCRAWL_RECHECK = [30, 20]"),
        ("FHCRAWL_MAX_PAGES = 'many'", "FHCRAWL_MAX_PAGES must be a number"),
        ("FHCRAWL_RECHECK = [30]", "FHCRAWL_RECHECK is '30'; set it to days and a number"),
        ("FHCRAWL_PROBE = 'yes'", "FHCRAWL_PROBE must be 1 or 0, not 'yes'"),
        ("FHCRAWL_STORE_URL = 5", "FHCRAWL_STORE_URL is not a database URL"),
        ("FHCRAWL_DATA_DIR = 'here'", "FHCRAWL_DATA_DIR must be an absolute path"),
        ("DOWNLOAD_DELAY = 'two'", "DOWNLOAD_DELAY must be a number >= 0, not 'two'"),
        ("ROBOTSTXT_OBEY = [1]", "ROBOTSTXT_OBEY must be 1 or 0, not [1]"),
        ("USER_AGENT = 5", "USER_AGENT must be text in quotes, not 5"),
        ("DEFAULT_REQUEST_HEADERS = 5", "DEFAULT_REQUEST_HEADERS must be a table, not 5"),
        ("FHCRAWL_STORE_URL = 'sqlite:///:memory:'", "FHCRAWL_STORE_URL is a database in memory; use"),
        ("LOG_LEVEL = 'LOUD'", "LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL, not 'LOUD'"),
        ("RETRY_HTTP_CODES = [500, 'x']", "RETRY_HTTP_CODES must be a list of status codes, not [500, 'x']"),
        ("DOWNLOAD_MAXSIZE = -1", "DOWNLOAD_MAXSIZE must be an integer >= 0, not -1"),
        ("DOWNLOAD_SLOTS = {a = 1}", "DOWNLOAD_SLOTS must be a table of tables with options"),
        ("FEEDS = {'a.csv' = {format = 1}}", "FEEDS must be a table of tables with options"),
    ],
)
def test_refusal_is_one_sentence_with_the_file(
    fhcrawl: CommandLine, file: Path, text: str, reported: str
) -> None:
    file.write_text(text)
    code, out, err = fhcrawl("feeds")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"fhcrawl feeds: error: {file}: {reported}")
    # The help shows the path of the store, and another file replaces this one.
    assert fhcrawl("--help")[0] == 0
    assert fhcrawl("feeds", "--config", os.devnull)[0] == 0


def test_misspelt_names_on_the_command_line_are_one_sentence(fhcrawl: CommandLine, tmp_path: Path) -> None:
    for given, meant in (("USER_AGNT=x", "USER_AGENT"), ("DOWNLOD_DELAY=9", "DOWNLOAD_DELAY")):
        code, _out, err = fhcrawl("feeds", "-s", given)
        name = given.partition("=")[0]
        reported = f"fhcrawl feeds: error: There is no setting {name}; did you mean {meant}?"
        assert (code, err.splitlines()[-1]) == (2, reported)
    assert fhcrawl("feeds", "-s", "OF_ANOTHER_COMPONENT=1", "-s", "HTTPAUTH_DOMAIN=a.example")[0] == 0
    # A project's own components may have such a setting.
    (tmp_path / "here" / "scrapy.cfg").write_text("[settings]\ndefault = fhcrawl.settings\n")
    assert fhcrawl("feeds", "-s", "USER_AGENTS=x")[0] == 0


def test_a_file_that_is_not_toml_or_missing_is_one_sentence(fhcrawl: CommandLine, file: Path) -> None:
    assert fhcrawl("feeds")[0] == 0
    file.write_bytes(b"DOWNLOAD_DELAY 2")
    assert f"error: {file} is not TOML (" in fhcrawl("feeds")[2]
    code, _out, err = fhcrawl("feeds", "--config", "none.toml")
    assert (code, err.splitlines()[-1]) == (
        2,
        "fhcrawl feeds: error: Cannot read the config file none.toml (No such file or directory)",
    )


def test_configuration_file_chooses_the_store(
    fhcrawl: CommandLine, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(f"FHCRAWL_DATA_DIR = '{tmp_path}/a'")
    assert f"The store is in {tmp_path}/a\n" in fhcrawl("--help")[1]
    assert f"{tmp_path}/a/" in fhcrawl("feeds")[1]
    assert f"{tmp_path}/b/" in fhcrawl("feeds", "-s", f"FHCRAWL_DATA_DIR={tmp_path}/b")[1]
    monkeypatch.setenv("FHCRAWL_DATA_DIR", f"{tmp_path}/c")
    assert f"{tmp_path}/c/" in fhcrawl("feeds")[1]
    monkeypatch.delenv("FHCRAWL_DATA_DIR")
    # A project does not read the user's own file.
    (tmp_path / "here" / "scrapy.cfg").write_text("[settings]\ndefault = fhcrawl.settings\n")
    assert f"{tmp_path}/here/.scrapy/" in fhcrawl("feeds")[1]
    assert f"{tmp_path}/a/" in fhcrawl("feeds", "--config", str(file))[1]


def test_settings_are_printed_with_their_sources(
    fhcrawl: CommandLine, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(
        "DOWNLOAD_DELAY = 2\nFHCRAWL_PROBE = true\nHTTPAUTH_PASS = 's3cret'\nHTTPAUTH_DOMAIN = 'x'\n"
        "FHCRAWL_MAX_PAGES = 3\nUSER_AGENT = 'me (+mailto:me@example.org)'"
    )
    monkeypatch.setenv("FHCRAWL_STORE_URL", "postgresql://ann:s3cret@h/d")
    given = ("-s", "FHCRAWL_MAX_PAGES=50", "-s", 'FEEDS={"ftp://ann:s3cret@h/x.csv": {"format": "csv"}}')
    code, out, _err = fhcrawl("settings", "--json", *given)
    found = {one["name"]: (one["value"], one["source"]) for one in json.loads(out)}
    assert (code, "s3cret" in out) == (0, False)
    own = f"config file {file}"
    expected = {
        "DOWNLOAD_DELAY": (2, own),
        "FHCRAWL_PROBE": ("True", own),
        "HTTPAUTH_PASS": ("***", own),
        "USER_AGENT": ("me (+mailto:me@example.org)", own),
        "FHCRAWL_MAX_PAGES": ("50", "command line"),
        "FHCRAWL_STORE_URL": ("postgresql://h/d", "environment"),
        "FHCRAWL_WARC": (None, "default"),
        "FHCRAWL_DATA_DIR": (f"{tmp_path}/data/fhcrawl", "default"),
        "CONCURRENT_REQUESTS": (64, "default"),
    }
    assert {name: found[name] for name in expected} == expected
    assert set(OURS) <= found.keys()
    assert "RETRY_TIMES" not in found
    assert f"DOWNLOAD_DELAY = 2  ({own})\n" in fhcrawl("settings")[1]
    assert "did you mean FHCRAWL_PROBE" in fhcrawl("settings", "-s", "FHCRAWL_PROBES=1")[2]


def test_settings_of_a_project_are_told_from_defaults(fhcrawl: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "here" / "scrapy.cfg").write_text("[settings]\ndefault = of_project\n")
    (tmp_path / "here" / "of_project.py").write_text("from fhcrawl.settings import *\nFHCRAWL_PROBE = True\n")
    out = fhcrawl("settings")[1]
    assert "FHCRAWL_PROBE = true  (project)\n" in out
    assert "FHCRAWL_MAX_PAGES = 1000  (default)\n" in out


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("craw", "fhcrawl: error: There is no command craw; did you mean crawl? `fhcrawl --help` lists"),
        ("subscirbe x", "There is no command subscirbe; did you mean subscribe? `fhcrawl"),
        ("xyz", "There is no command xyz; `fhcrawl --help` lists all"),
        ("http://a.example/", "A command is required: fhcrawl crawl http://a.example/"),
        ("--versoin", "There is no option --versoin; did you mean --version? `fhcrawl --help` lists all"),
        ("--json feeds", "--json must come after the command"),
        ("feeds --jsn", "There is no option --jsn; did you mean --json? `fhcrawl feeds --help` lists all"),
        ("feeds --verdcit=lossy", "There is no option --verdcit=lossy; did you mean --verdict? `fhcrawl"),
        ("settings --confg x", "There is no option --confg; did you mean --config? `fhcrawl settings"),
        ("checks http://a.example/", "There is no command checks; did you mean check?"),
    ],
)
def test_mistyped_commands_and_options_have_a_suggestion(
    fhcrawl: CommandLine, line: str, reported: str
) -> None:
    code, out, err = fhcrawl(*line.split())
    assert (code, out, reported in err.splitlines()[-1]) == (2, "", True), err


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("LOG_LEVEL=debug", "LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL, not 'debug'"),
        (
            "HTTPERROR_ALLOWED_CODES=404,x",
            "HTTPERROR_ALLOWED_CODES must be a list of status codes",
        ),
        ("DOWNLOAD_TIMEOUT=nan", "DOWNLOAD_TIMEOUT must be a number >= 0, not 'nan'"),
        ("CONCURRENT_REQUESTS=1.5", "CONCURRENT_REQUESTS must be an integer >= 0, not '1.5'"),
        ('DOWNLOAD_SLOTS={"a": {"delay": "x"}}', "DOWNLOAD_SLOTS must be a table of tables with options"),
        ("DOWNLOAD_SLOTS=x", "DOWNLOAD_SLOTS must be a JSON object, not 'x'"),
        ("FEEDS=[1]", "FEEDS must be a JSON object, not '[1]'"),
        ('FEEDS={"a.csv": 1}', "FEEDS must be a table of tables with options"),
        ("FHCRAWL_STORE_URL=sqlite://", "FHCRAWL_STORE_URL is a database in memory; use sqlite:///"),
    ],
)
@pytest.mark.parametrize("command", [("crawl", "http://127.0.0.1:9/"), ("feeds",), ("export", "-o", "-:csv")])
def test_wrong_shape_of_a_setting_is_refused_before_a_command_runs(
    fhcrawl: CommandLine, assignment: str, said: str, command: tuple[str, ...]
) -> None:
    code, out, err = fhcrawl(*command, "-s", assignment)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"fhcrawl {command[0]}: error: {said}")
