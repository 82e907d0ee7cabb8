"""Every reader with mutated fixtures, and with what fuzzing has found (see tests/fuzz/)."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.readers import FINDINGS, READERS, seeds, tokens

FOUND = sorted(path for path in FINDINGS.rglob("*") if path.is_file())
MOST_REPEATS = 300


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@st.composite
def mutated(draw: st.DrawFn, reader: str) -> bytes:
    """A seed with pieces of it, or tokens, put into it, over it, or in place of others of its pieces."""
    data = draw(st.sampled_from(seeds(reader)))
    for _ in range(draw(st.integers(1, 4))):
        start, end, source, length = (draw(st.integers(0, len(data))) for _ in range(4))
        piece = draw(st.sampled_from([b"", data[source : source + length % 64], *tokens()]))
        repeats = draw(st.sampled_from([1, 1, 1, 2, MOST_REPEATS]))
        data = data[:start] + piece * repeats + data[draw(st.sampled_from([start, start, start + 1, end])) :]
    return data


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_input_is_read_or_refused(reader: str, data: st.DataObject) -> None:
    READERS[reader](data.draw(mutated(reader)))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("path", FOUND, ids=name_of)
def test_finding_of_the_fuzzer_raises_nothing(path: Path) -> None:
    READERS[path.parent.name](path.read_bytes())


def test_every_reader_has_seeds() -> None:
    assert all(map(seeds, READERS))
