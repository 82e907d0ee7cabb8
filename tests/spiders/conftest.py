import pytest

from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.walks import Play, Walk


@pytest.fixture
def play(server: FeedServer, project: Project) -> Play:
    return Walk(server, project).play
