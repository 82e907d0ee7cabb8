"""`fhcrawl copystore`: what it leaves if it fails."""

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer


@pytest.fixture
def damaged(server: FeedServer, project: Project) -> None:
    """A store whose entries cannot all be read."""
    server.serve("/index", atom([E(str(number), "x" * 5000) for number in range(40)]))
    project.crawl(server.url("/index"))
    file = project.folder / ".scrapy" / "fhcrawl.sqlite"
    octets = file.read_bytes()
    assert not file.with_name("fhcrawl.sqlite-wal").exists()
    middle = len(octets) // 2
    file.write_bytes(octets[:middle] + b"\xff" * (len(octets) - middle))


@pytest.mark.sqlite_only("damages a file")
@pytest.mark.usefixtures("damaged")
def test_copy_that_fails_leaves_no_file(project: Project) -> None:
    there = project.folder / "there.sqlite"
    done = project.scrapy("copystore", f"sqlite:///{there}")
    assert (done.returncode, "malformed" in done.stderr) == (1, True), done.stderr
    assert [file.name for file in project.folder.iterdir() if file.name.startswith("there")] == []


@pytest.mark.sqlite_only("damages a file")
@pytest.mark.usefixtures("damaged")
def test_copy_that_fails_leaves_a_file_that_existed(project: Project) -> None:
    there = project.folder / "there.sqlite"
    there.touch()
    done = project.scrapy("copystore", f"sqlite:///{there}")
    assert done.returncode == 1, done.stderr
    assert there.exists()
