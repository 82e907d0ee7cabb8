"""Command lines that cannot be used: one sentence, before anything is requested or written."""

import shlex
import sys

import pytest

from tests.projects import Project

FEED = "crawl history -a feed=http://127.0.0.1/"
REFUSED = {
    "export": "-o is required: fhcrawl export -o history.jsonl",
    "export -o x.csv --foo=1 --bar": "There is no option --foo=1 or --bar; `fhcrawl export",
    "history --jsn http://example.org/ 1": "There is no option --jsn; did you mean --json? `fhcrawl history",
    "report --foo -o x.html": "There is no option --foo; `fhcrawl report --help` lists all",
    "subscribe --foo": "There is no option --foo; `fhcrawl subscribe --help` lists all",
    "unsubscribe --foo": "There is no option --foo; `fhcrawl unsubscribe --help` lists all",
    "copystore --foo sqlite:///x": "There is no option --foo; `fhcrawl copystore --help` lists",
    "export -o history.docx": "-o history.docx: unknown format 'docx'; use -o FILE:FORMAT, or a file",
    "export -o x.jsonl --feed http://example.org/": "`fhcrawl feeds` lists the feeds in it",
    "export -o x.atom": "choose one with --feed URL",
    "export -o set/": "--base https://example.org/feed/",
    "export -o set/ --base copies": "--base https://example.org/feed/",
    "export -o set/ --base http://example.org --archive-size 0": "must be 1 or more",
    "export -o x.jsonl --base http://example.org": "-o FOLDER/",
    "export -o x.jsonl --since yesterday": "use 2003, 2003-12-13",
    "export -o x.jsonl --tombstones": "-o FILE.atom",
    "export -o x.opml --gaps": "OPML has no entries",
    "export -o none://example.org/x.jsonl": "FEED_STORAGES has no storage for none",
    "export -o -": "-o -: no format; use -o -:jsonl\n",
    "export -o x.csv --fields titel": "There is no field 'titel'; did you mean 'title'",
    "export -o x.csv --profile blog": "There is no profile 'blog'; choose from: podcast, news",
    "export -o x.atom --extensions --excel": "--extensions and --excel: atom has no columns",
    "copystore": "fhcrawl copystore postgresql:///fhcrawl",
    "copystore mysql://x/y": "that fhcrawl does not support, mysql",
    "feeds http://example.org/": "is not in the store; `fhcrawl feeds` lists the feeds in it",
    "feeds --verdict whole": "invalid choice: 'whole'",
    "history": "The feed's URL is required, and at most one id: fhcrawl history FEED [ID]",
    "history http://example.org/ 1": "`fhcrawl feeds` lists the feeds in it",
    "demo now": "Unexpected argument: now",
    "demo -s FHCRAWL_WARC=x.txt": "use a path that ends in .warc.gz",
    "report": "-o is required: fhcrawl report -o report.html",
    "subscribe": "A feed is required: fhcrawl subscribe https://example.org/index.atom",
    "subscribe missing.opml": "missing.opml is neither a file nor the URL of a feed",
    "subscribe ftp://example.org/": "is not the URL of a feed",
    "subscribe /dev/null": "There are no feeds in /dev/null",
    "subscribe .": "Cannot read the list of feeds",
    "unsubscribe": "A feed is required: fhcrawl unsubscribe https://example.org/index.atom",
    "unsubscribe https://example.org/": "is not subscribed; `fhcrawl feeds` lists the feeds",
    "crawl histroy": "There is no spider histroy; available spiders: history",
    "crawl http://a.example/": "The spider must come before the URL: scrapy crawl history http://a.example/\n",
    "crawl history": "No feed to crawl; use fhcrawl crawl https://example.org/index.atom",
    "crawl history --fed=x": "There is no option --fed=x; did you mean --feeds? `fhcrawl crawl --help`",
    "crawl history -o x.atom": "run fhcrawl export -o x.atom\n",
    "crawl history -o x.jsonl -O y.csv": "only one of -o/--output",
    "crawl history -O y:opml": "run fhcrawl export -o y:opml\n",
    "crawl history -o x.doc": "-o x.doc: unknown format 'doc'; use -o FILE:FORMAT, or a file",
    "crawl history -O -:doc": "-o -:doc: unknown format 'doc'; use -o FILE:FORMAT, or a file",
    "crawl history -o x.xlsx": "-o x.xlsx: spreadsheet programs open CSV; use -o FILE.csv --excel",
    "export -o x.xlsx": "-o x.xlsx: spreadsheet programs open CSV; use -o FILE.csv --excel",
    "export --versions -o x.atom": "--versions requires rows; use -o FILE.jsonl, FILE.csv or FILE.parquet",
    "export --deleted -o x.opml": "--deleted requires rows",
    "export --deleted --versions -o x.csv": "--versions includes deletions; remove --deleted",
    "export --deleted --gaps -o x.csv": "gaps are not deleted entries",
    f"{FEED} -s FHCRAWL_KEEP_VERSIONS_ENABLED=x": "FHCRAWL_KEEP_VERSIONS_ENABLED must be 1 or 0, not 'x'",
    f"{FEED} --excel -o x.jsonl": "--excel requires CSV; use -o FILE.csv",
    "export --excel -o x.parquet": "--excel requires CSV; use -o FILE.csv",
    f"{FEED} -s FHCRAWL_STORE_URL=a/b.sqlite": "is not a database URL; use sqlite:///a/b.sqlite",
    "copystore backup.sqlite": "The argument is not a database URL; use sqlite:///backup.sqlite",
    "copystore ann:s3cret@h/d.x": "is not a database URL; use sqlite:////var/lib/fhcrawl/store.sqlite",
    "crawl history -o v1.x/file": "-o v1.x/file: no format; use -o FILE:FORMAT, or a file",
    "crawl history -o -": "-o -: no format; use -o -:jsonl\n",
    "crawl history -a feed=example.org/feed": "use https://example.org/feed",
    "crawl history -a feed=ftp://example.org/feed": "is not the URL of a feed",
    "crawl history -a feeds=missing.txt": "Cannot read the list of feeds missing.txt",
    "crawl history -a fed=http://127.0.0.1/": "There is no argument fed; valid arguments: archive,",
    "crawl history -a feed=http://ann:s3cret@127.0.0.1/": "use http://127.0.0.1/ with HTTPAUTH_USER",
    f"{FEED} --json -o -:csv": "--json and -o - both write to stdout",
    f"{FEED} --json --dry-run": "--json and --dry-run both write to stdout",
    f"{FEED} -a deltafetch_reset=maybe": "deltafetch_reset must be 1 or 0, not maybe",
    f"{FEED} -a due=soon": "-a due must be 1 or 0, not soon",
    f"{FEED} -s FHCRAWL_DUE_MIN_SECONDS=90000": "must not be greater than FHCRAWL_DUE_MAX_SECONDS",
    f"{FEED} -s FHCRAWL_DUE_MAX_SECONDS=1e9": "must be a number (0 turns it off), not '1e9'",
    f"{FEED} -s FHCRAWL_DUE_MAX_SECONDS=99999999": "must be at most 31536000, not 99999999",
    f"{FEED} -s FHCRAWL_MAX_PAGES=-1": "must be a number (0 turns it off), not '-1'",
    f"{FEED} -s FHCRAWL_MAXPAGES=3": "There is no setting FHCRAWL_MAXPAGES; did you mean FHCRAWL_MAX_PAGES?",
    f"{FEED} -s FHCRAWL_X=1": "setting FHCRAWL_X; docs/reference/settings.md lists all settings",
    f"{FEED} -s DELTAFETCH_ENABLED=maybe": "must be 1 or 0, not 'maybe'",
    f"{FEED} -s FHCRAWL_KEEP_XML_ENABLED=yes": "FHCRAWL_KEEP_XML_ENABLED must be 1 or 0, not 'yes'",
    f"{FEED} -s FHCRAWL_STORE_URL=nonsense": "is not a database URL",
    f"{FEED} -s FHCRAWL_STORE_URL=mysql://x/y": "does not support, mysql",
    f"{FEED} -s FHCRAWL_STORE_URL=postgresql://ann:s3cr@s3cret@h/d": "write @ in the password as %40",
    f"{FEED} -s FHCRAWL_STORE_URL=postgresql://ann:s3cret/h/d": "is not a database URL",
    f"{FEED} -s FHCRAWL_ALLOWED_PRIVATE_HOSTS=10.0.0.1/8": "10.0.0.1/8 has host bits set; use a host,",
    f"{FEED} -s HTTPAUTH_PASS=s3cret": "HTTPAUTH_DOMAIN is not set; set",
}
# The command line is right, but not the system.
FAILED = {
    "export -o /proc/none/x.jsonl": "Cannot write to",
    "export -o x.jsonl -s FHCRAWL_STORE_URL=sqlite:////no/x": "cannot be opened",
    "feeds -s FHCRAWL_STORE_URL=sqlite:////no/x": "cannot be opened: sqlite:////no/x (unable",
    "report -o /proc/none/x.html": "Cannot write to",
    "report -o x.html -s FHCRAWL_STORE_URL=sqlite:////no/x": "cannot be opened",
    f"{FEED} -s FHCRAWL_STORE_URL=sqlite:////no/x.db": "The store cannot be opened: sqlite:////no/x.db",
    f"{FEED} -s FHCRAWL_STORE_URL=postgresql://u@127.0.0.1:1/d": "Connection refused",
    "export -o x.jsonl -s FHCRAWL_STORE_URL=postgresql://u@127.0.0.1:1/d": "Connection refused",
    "enqueue http://a.example/ -s REDIS_URL=redis://127.0.0.1:1/0 -s FHCRAWL_STORE_URL=postgresql://x/d": (
        "Cannot use Redis: "
    ),
}


@pytest.mark.in_process
@pytest.mark.any_store("what command lines say")
@pytest.mark.parametrize("line", REFUSED)
def test_command_line_that_cannot_be_used_gets_a_sentence(project: Project, line: str) -> None:
    done = project.scrapy(*shlex.split(line))
    assert (done.returncode, REFUSED[line] in done.stderr) == (2, True), done.stderr
    assert not [word for word in ("Traceback", "Spider opened", "s3cret") if word in done.stderr]
    found = {path.name for path in project.folder.iterdir() if path.name[0] != "."}
    assert found <= {"scrapy.cfg", "fhcrawl-demo"}


@pytest.mark.in_process
@pytest.mark.any_store("what command lines say")
@pytest.mark.parametrize("line", FAILED)
def test_failure_of_the_system_is_reported_without_usage(project: Project, line: str) -> None:
    done = project.scrapy(*shlex.split(line))
    name = line.partition(" ")[0]
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"fhcrawl {name}: error: ")
    assert (FAILED[line] in done.stderr, "usage" in done.stderr.lower()) == (True, False)


@pytest.mark.in_process
@pytest.mark.any_store("what command lines say")
def test_parquet_without_pyarrow_is_a_sentence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for line in ("crawl history -o x.parquet", "crawl other -O x:parquet", "export -o x.parquet"):
        done = project.scrapy(*line.split())
        assert done.returncode == 2
        install = "run pip install 'fhcrawl[parquet]', or with pipx: pipx inject fhcrawl pyarrow"
        assert done.stderr.endswith(f"error: Parquet requires pyarrow: {install}\n")
