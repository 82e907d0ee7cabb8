"""Command lines that cannot be used: one sentence, before anything is requested or written."""

import shlex

import pytest

from tests.projects import Project

FEED = "crawl history -a feed=http://127.0.0.1/"
REFUSED = {
    "export": "write fhcrawl export -o history.jsonl",
    "export -o x.csv --foo=1 --bar": "There is no option --foo=1 or --bar: `fhcrawl export",
    "history --jsn http://example.org/ 1": "There is no option --jsn: `fhcrawl history --help` lists all",
    "report --foo -o x.html": "There is no option --foo: `fhcrawl report --help` lists all",
    "subscribe --foo": "There is no option --foo: `fhcrawl subscribe --help` lists all",
    "unsubscribe --foo": "There is no option --foo: `fhcrawl unsubscribe --help` lists all",
    "copystore --foo sqlite:///x": "There is no option --foo: `fhcrawl copystore --help` lists",
    "export -o history.docx": "no format 'docx'",
    "export -o x.jsonl --feed http://example.org/": "`fhcrawl feeds` lists what is",
    "export -o /proc/none/x.jsonl": "cannot be written",
    "export -o x.jsonl -s FHCRAWL_STORE_URL=sqlite:////no/x": "cannot be opened",
    "export -o x.atom": "write --feed URL",
    "export -o set/": "--base https://example.org/feed/",
    "export -o set/ --base copies": "--base https://example.org/feed/",
    "export -o set/ --base http://example.org --archive-size 0": "write 1 or more",
    "export -o x.jsonl --base http://example.org": "-o FOLDER/",
    "export -o x.jsonl --since yesterday": "write 2003, 2003-12-13",
    "export -o x.jsonl --tombstones": "-o FILE.atom",
    "export -o x.opml --gaps": "OPML has no entries",
    "export -o none://example.org/x.jsonl": "FEED_STORAGES has nothing for none",
    "export -o -": "-o -: no format; write -o -:jsonl\n",
    "export -o x.csv --fields titel": "There is no field 'titel': write title",
    "export -o x.csv --profile blog": "There is no profile 'blog': write",
    "export -o x.atom --extensions --excel": "--extensions and --excel: atom has no columns",
    "copystore": "write fhcrawl copystore postgresql:///fhcrawl",
    "copystore mysql://x/y": "names a kind of database that fhcrawl does not support, mysql",
    "feeds http://example.org/": "is not in the store; `fhcrawl feeds` lists what is",
    "feeds --verdict whole": "invalid choice: 'whole'",
    "feeds -s FHCRAWL_STORE_URL=sqlite:////no/x": "cannot be opened: sqlite:////no/x (unable",
    "history": "write fhcrawl history FEED ID",
    "history http://example.org/ 1": "`fhcrawl feeds` lists what is",
    "demo now": "now: there is no such argument",
    "demo -s FHCRAWL_WARC=x.txt": "write a path that ends in .warc.gz",
    "report": "write fhcrawl report -o report.html",
    "report -o /proc/none/x.html": "cannot be written",
    "report -o x.html -s FHCRAWL_STORE_URL=sqlite:////no/x": "cannot be opened",
    "subscribe": "write fhcrawl subscribe https://example.org/index.atom",
    "subscribe missing.opml": "missing.opml is neither a file nor the URL of a feed",
    "subscribe ftp://example.org/": "is not the URL of a feed",
    "subscribe .": "The list of feeds cannot be read",
    "unsubscribe": "write fhcrawl unsubscribe https://example.org/index.atom",
    "unsubscribe https://example.org/": "is not subscribed; `fhcrawl feeds` lists the feeds",
    "crawl histroy": "There is no spider histroy: write one of history",
    "crawl http://a.example/": "write scrapy crawl history http://a.example/\n",
    "crawl history": "No feed to crawl: write fhcrawl crawl https://example.org/index.atom",
    "crawl history --fed=x": "There is no option --fed=x: `fhcrawl crawl --help` lists all\n",
    "crawl history -o x.atom": "write fhcrawl export -o x.atom\n",
    "crawl history -o x.jsonl -O y.csv": "only one of -o/--output",
    "crawl history -O y:opml": "write fhcrawl export -o y:opml\n",
    "crawl history -o x.docx": "Unrecognized output format 'docx'",
    "crawl history -a feed=example.org/feed": "write https://example.org/feed",
    "crawl history -a feed=ftp://example.org/feed": "is not the URL of a feed",
    "crawl history -a feeds=missing.txt": "The list of feeds cannot be read: missing.txt",
    "crawl history -a fed=http://127.0.0.1/": "There is no argument fed: write one of deltafetch_reset, due,",
    "crawl history -a feed=http://ann:s3cret@127.0.0.1/": "write http://127.0.0.1/ with HTTPAUTH_USER",
    f"{FEED} -a deltafetch_reset=maybe": "deltafetch_reset is maybe: write 1 or 0",
    f"{FEED} -a due=soon": "-a due is soon: write 1 or 0",
    f"{FEED} -s FHCRAWL_DUE_MIN_SECONDS=90000": "is more than FHCRAWL_DUE_MAX_SECONDS",
    f"{FEED} -s FHCRAWL_DUE_MAX_SECONDS=1e9": "FHCRAWL_DUE_MAX_SECONDS is '1e9': write a number",
    f"{FEED} -s FHCRAWL_DUE_MAX_SECONDS=99999999": "write no more than 31536000",
    f"{FEED} -s FHCRAWL_MAX_PAGES=-1": "'-1': write a number",
    f"{FEED} -s FHCRAWL_MAXPAGES=3": "There is no setting FHCRAWL_MAXPAGES: write FHCRAWL_MAX_PAGES",
    f"{FEED} -s FHCRAWL_X=1": "setting FHCRAWL_X: docs/reference/settings.md lists them",
    f"{FEED} -s DELTAFETCH_ENABLED=maybe": "is 'maybe': write 1 or 0",
    f"{FEED} -s FHCRAWL_KEEP_XML_ENABLED=yes": "FHCRAWL_KEEP_XML_ENABLED is 'yes': write 1 or 0",
    f"{FEED} -s FHCRAWL_STORE_URL=sqlite:////no/x.db": "The store cannot be opened: sqlite:////no/x.db",
    f"{FEED} -s FHCRAWL_STORE_URL=nonsense": "is not a database URL",
    f"{FEED} -s FHCRAWL_STORE_URL=mysql://x/y": "does not support, mysql",
    f"{FEED} -s FHCRAWL_STORE_URL=postgresql://ann:s3cr@s3cret@h/d": "write @ in the password as %40",
    f"{FEED} -s FHCRAWL_STORE_URL=postgresql://ann:s3cret/h/d": "is not a database URL",
    f"{FEED} -s FHCRAWL_ALLOWED_PRIVATE_HOSTS=10.0.0.1/8": "and 10.0.0.1/8 has host bits set: write host,",
    f"{FEED} -s HTTPAUTH_PASS=s3cret": "HTTPAUTH_DOMAIN is not set: write",
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
