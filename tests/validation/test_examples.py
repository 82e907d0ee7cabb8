"""The examples of RFC 5005 pass, served at the URLs that they name."""

from pathlib import Path

import pytest

from fhcrawl.validation import Severity
from tests.validation.histories import check, response

DOCUMENTS = Path(__file__).parent.parent / "data" / "documents"
# The hosts of the examples, the months of their archives, and those that these name, which are not shown.
SETS = {
    "atom": ("http://example.org", "2003/11", "2003/10"),
    "rss": ("http://liftoff.example.net", "2003/05", "2003/04"),
}


def example(name: str) -> str:
    return (DOCUMENTS / name).read_text("utf-8")


def oldest(archive: str, newest: str, own: str) -> str:
    """The archive before an example's, without entries."""
    head, tag, _rest = archive.partition("<entry>" if "<entry>" in archive else "<item>")
    text = head.replace('rel="prev-archive"', 'rel="next-archive"')
    text = text.replace(own, "@").replace(newest, own).replace("@", newest)
    text = text.replace("2003-11-24", "2003-10-24").replace("Fri, 30 May", "Wed, 30 Apr")
    return text + ("</feed>" if tag == "<entry>" else "</channel></rss>")


def archived(kind: str) -> dict[str, str]:
    """The subscription document, the archive that it names, and the one before that, by URL."""
    root, newest, own = SETS[kind]
    archive = example(f"rfc5005-{kind}-archive.{kind}")
    return {
        f"{root}/index.{kind}": example(f"rfc5005-{kind}-subscription.{kind}"),
        f"{root}/{newest}/index.{kind}": archive,
        f"{root}/{own}/index.{kind}": oldest(archive, newest, own),
    }


HISTORIES = {
    "archived Atom": archived("atom"),
    "archived RSS": archived("rss"),
    "complete Atom": {
        "http://netmovies.example.org/jdoe/queue/index.atom": example("rfc5005-atom-complete.atom")
    },
    "complete RSS": {"http://netmovies.example.org/index.rss": example("rfc5005-rss-complete.rss")},
}


@pytest.mark.parametrize("name", HISTORIES)
def test_examples_of_the_rfc_pass(name: str) -> None:
    documents = HISTORIES[name]
    responses = {url: response(url, text.encode()) for url, text in documents.items()}
    findings, summary = check(responses, next(iter(documents)))
    assert [f for f in findings if f.severity in (Severity.ERROR, Severity.WARNING)] == []
    assert (summary.documents, summary.is_whole) == (len(documents), True)


@pytest.mark.parametrize("kind", SETS)
def test_paged_examples_lack_only_their_next_page(kind: str) -> None:
    url = f"{SETS[kind][0]}/index.{kind}"
    page = response(url, example(f"rfc5005-{kind}-paged.{kind}").encode())
    findings, _summary = check({url: page}, url)
    assert [f.rule for f in findings if f.severity in (Severity.ERROR, Severity.WARNING)] == ["walk-ends"]
