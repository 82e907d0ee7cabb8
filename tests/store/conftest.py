"""What the tests of stores have in common."""

import pytest

from tests.databases import Database


@pytest.fixture
def url(database: Database) -> str:
    return database.url
