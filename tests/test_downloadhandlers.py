import resource
from collections.abc import Iterator

import pytest

from tests.benchmarks.server import Site, serving_feeds
from tests.projects import Project

pytestmark = pytest.mark.any_store("how many connections there are")

FILES, HOSTS = 256, 300


@pytest.fixture
def urls() -> Iterator[list[str]]:
    with serving_feeds(Site(1, 1, feeds=HOSTS, hosts=HOSTS)) as served:
        usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, most))
        try:
            yield served
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))


def test_hosts_may_be_more_than_file_descriptors(urls: list[str], project: Project) -> None:
    run = project.crawl(*urls)
    assert run.exit_code == 0
    assert run.stats["fhcrawl/document/processed"] == HOSTS
