from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crawling import Project
from tests.server import FeedServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest_plugins = ["tests.browser"]


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with FeedServer() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)
