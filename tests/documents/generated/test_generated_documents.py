"""Of generated documents, fhcrawl reads what they say."""

import pytest

from tests.documents.generated.comparing import hunt

QUICK, ALL = 500, 20_000


def test_generated_documents_are_read_as_they_are_meant() -> None:
    assert not list(hunt(range(QUICK)))


@pytest.mark.nightly("it reads thousands of documents")
def test_many_generated_documents_are_read_as_they_are_meant() -> None:
    assert not list(hunt(range(QUICK, ALL)))
