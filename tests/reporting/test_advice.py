"""What to do about each kind of reason."""

from __future__ import annotations

import re

import pytest

from fhcrawl.crawling import reading
from fhcrawl.documents import Bounds, limits
from fhcrawl.reporting.advice import ADVICE, FAILURES, OTHERWISE, SERVER, advice, failures
from tests.projects import ROOT


def kinds_in_readme() -> set[str]:
    """The kinds of reasons that README.md names."""
    readme = (ROOT / "README.md").read_text()
    paragraph = readme.partition("Reasons (`kind` in `scrapy feeds --json`): ")[2].partition("\n\n")[0]
    return set(re.findall("`([a-z0-9-]+)`", paragraph))


def test_every_kind_of_the_readme_has_advice_and_no_other() -> None:
    named = kinds_in_readme()
    assert "http-404" in named
    assert named <= set(ADVICE)
    assert {kind for kind in ADVICE if not kind.startswith("http-")} <= named


def kinds_in_the_code() -> set[str]:
    """The kinds that a Loss, a Reason or a NotAFeedError is made with."""
    pattern = r'(?:Loss\(\s*State\.\w+,|Reason\(|NotAFeedError\(|RefusedUrl\(|\.mark_failed\()\s*"([a-z-]+)"'
    sources = (path.read_text() for path in (ROOT / "fhcrawl").rglob("*.py"))
    return {kind for source in sources for kind in re.findall(pattern, source)}


def test_every_kind_of_the_code_has_advice() -> None:
    kinds = kinds_in_the_code()
    assert {"loop", "robots-txt", "html", "downgrade", "pipeline-error"} <= kinds
    assert kinds <= set(ADVICE)


@pytest.mark.parametrize(
    ("kind", "said"), [("http-503", SERVER), ("http-418", OTHERWISE), ("of-tomorrow", OTHERWISE)]
)
def test_other_kinds_have_advice_too(kind: str, said: str) -> None:
    assert advice(kind) == said


def test_whatever_makes_the_exit_code_1_is_said_in_a_sentence() -> None:
    for begin, said in FAILURES.items():
        assert failures(["fhcrawl/feed/complete", f"{begin}Somewhere"]) == [said]
    assert failures(["fhcrawl/feed/complete"]) == []


@pytest.mark.parametrize("bound", sorted(limits.KINDS))
def test_what_is_beyond_a_bound_of_documents_has_its_setting_raised(bound: str) -> None:
    loss = reading.beyond(bound, Bounds())
    assert "FHCRAWL_MAX_" in loss.detail
    assert advice(loss.kind).startswith("raise the setting that it names, if that can be")


def test_advice_for_what_is_too_large_names_no_setting() -> None:
    """Of a body that is compressed too often, say, DOWNLOAD_MAXSIZE is not to blame."""
    assert not re.search("[A-Z]{2}", advice("too-large"))
