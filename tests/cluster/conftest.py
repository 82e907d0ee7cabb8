import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.workers import Cluster
from tests.databases import Database

_numbers = itertools.count(1)


@pytest.fixture
def store_url(postgresql_url: str) -> str:
    """Of an empty store on PostgreSQL."""
    schema = f"cluster_{os.getpid()}_{next(_numbers)}"
    Database(postgresql_url).execute(f"CREATE SCHEMA {schema}")
    return f"{postgresql_url}?options=-csearch_path%3D{schema}"


@pytest.fixture
def cluster(tmp_path: Path, store_url: str, redis_url: str) -> Iterator[Cluster]:
    with contextlib.closing(Cluster(tmp_path, store_url, redis_url)) as made:
        yield made
