import resource
import socket
from collections.abc import Iterator

import pytest

from benchmarks.server import Site, serving_feeds
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer, Server

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


def test_ipv6_address_is_read_without_a_setting_and_a_link_to_one_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "address_family", socket.AF_INET6)
    with FeedServer(("::1", 0)) as one, FeedServer(("::1", 0)) as other:
        ports = [server.root.rpartition(":")[2] for server in (one, other)]
        one.serve("/a", atom([E("2")], prev="/a1"))
        one.serve("/a1", atom([E("1")], prev=f"http://[::1]:{ports[1]}/a2"))
        run = project.crawl(f"http://[::1]:{ports[0]}/a")
        assert (run.changes, other.requests) == ({"2": "new", "1": "new"}, [])
    assert project.verdict() == ("incomplete", ["private-address"])
