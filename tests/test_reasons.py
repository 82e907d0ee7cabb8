"""What each kind of reason means: its name, what to do about it, and when it is looked at again."""

import copy
import json
import pickle
import re

import pytest

from fhcrawl.reasons import ReasonKind, Retry
from tests.projects import ROOT

# No document or feed has one of these: they stand for what has no member.
STANDINS = {ReasonKind.HTTP_5XX, ReasonKind.OTHER}


@pytest.mark.parametrize("kind", ReasonKind)
def test_every_kind_has_advice(kind: ReasonKind) -> None:
    assert re.fullmatch(r"[a-z].+[^.\s]", kind.advice)
    assert kind.is_gap or kind.retry is Retry.NEVER


@pytest.mark.parametrize("kind", ReasonKind)
def test_every_reason_kind_is_used(kind: ReasonKind) -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "fhcrawl").rglob("*.py")]
    is_used = any(re.search(rf"ReasonKind\.{kind.name}\b", source) for source in sources)
    assert is_used or kind in STANDINS or kind.startswith("http-")


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("http-503", ReasonKind.HTTP_5XX),
        ("http-418", ReasonKind.OTHER),
        ("http-404", ReasonKind.HTTP_404),
        ("of-tomorrow", ReasonKind.OTHER),
    ],
)
def test_every_name_is_a_kind(name: str, alike: ReasonKind) -> None:
    kind = ReasonKind(name)
    assert (kind.advice, kind.retry, kind.is_gap) == (alike.advice, alike.retry, alike.is_gap)
    for same in (kind, copy.deepcopy(kind), pickle.loads(pickle.dumps(kind))):  # noqa: S301 - what it has just made
        assert (same.value, str(same), f"{same}", hash(same)) == (name, name, name, hash(name))
        assert json.dumps(same) == f'"{name}"'
    assert not name.startswith("http-") or ReasonKind.http(int(name[5:])) == kind


def test_advice_for_what_is_too_large_names_no_setting() -> None:
    """Of a body that is compressed too often, say, DOWNLOAD_MAXSIZE is not to blame."""
    assert not re.search("[A-Z]{2}", ReasonKind.TOO_LARGE.advice)
