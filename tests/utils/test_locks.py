"""Locks of exported files: of all who can write them, and nobody's trap."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from fhcrawl.exporters.storages import replacing
from fhcrawl.utils import locks
from fhcrawl.utils.locks import locked
from tests.feeds import E, atom
from tests.projects import Project, read_export
from tests.server import FeedServer

NAME = "out.jsonl"
LOCK = f".{NAME}.lock"
# Prints its steps, and continues on input; it prints only once that it waits.
APPENDING = """
import os, sys, time
from pathlib import Path
from fhcrawl.exporters import storages

def pause(seconds):
    time.sleep = sleep
    print("waits", os.getpid(), flush=True)

sleep, time.sleep = time.sleep, pause
path = Path(sys.argv[1]) / "out.jsonl"
storage = storages.FileFeedStorage(str(path), feed_options={"format": "jsonl"})
file = storage.open()
print("writes", os.getpid(), flush=True)
file.write(sys.stdin.readline().encode())
storage.store(file)
os.replace(storage.written.written, path)
storage.release()
"""


@pytest.fixture
def appending(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts processes that append to the file, each with a folder for temporary files of its own."""
    begun: list[subprocess.Popen[str]] = []

    def start(*prefix: str) -> subprocess.Popen[str]:
        temporary = tmp_path / f"tmp{len(begun)}"
        temporary.mkdir()
        (tmp_path / "out").mkdir(exist_ok=True)
        process = subprocess.Popen(
            [*prefix, sys.executable, "-c", APPENDING, str(tmp_path / "out")],
            env={**os.environ, "TMPDIR": str(temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def reported(process: subprocess.Popen[str]) -> tuple[str, int]:
    assert process.stdout is not None
    what, pid = process.stdout.readline().split()
    return what, int(pid)


def tell(process: subprocess.Popen[str], line: str) -> None:
    stdin: IO[str] | None = process.stdin
    assert stdin is not None
    stdin.write(line)
    stdin.close()
    process.stdin = None


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def in_a_namespace() -> tuple[str, ...]:
    for rights in ((), ("--user", "--map-root-user")):
        prefix = ("unshare", *rights, "--pid", "--fork", "--kill-child")
        if not subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
            return prefix
    return ()


@pytest.mark.slow("starts processes")
@pytest.mark.parametrize("prefix", [(), in_a_namespace()], ids=["temporary folders", "process namespaces"])
def test_concurrent_appends_from_different_namespaces_do_not_mix(
    appending: Callable[..., subprocess.Popen[str]], tmp_path: Path, prefix: tuple[str, ...]
) -> None:
    """In containers, the numbers of processes are often the same, and their temporary folders never."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).write_text("0\n")
    one = appending(*prefix)
    what, pid = reported(one)
    assert what == "writes"
    two = appending(*prefix)
    what, other = reported(two)
    assert what == "waits"
    assert not prefix or pid == other
    tell(one, "1\n")
    assert reported(two)[0] == "writes"
    tell(two, "2\n")
    assert [process.wait() for process in (one, two)] == [0, 0]
    assert (tmp_path / "out" / NAME).read_text() == "0\n1\n2\n"
    assert names(tmp_path / "out") == [NAME]


@pytest.mark.slow("starts a process")
def test_what_a_killed_process_left_is_gone_after_the_next_export(
    appending: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    killed = appending()
    assert reported(killed)[0] == "writes"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert len(names(tmp_path / "out")) == 2
    with replacing(tmp_path / "out" / NAME) as file:
        file.write(b"1\n")
    assert names(tmp_path / "out") == [NAME]


def plant_link(lock: Path) -> None:
    (lock.parent / "kept").write_text("kept")
    lock.symlink_to(lock.parent / "kept")


def plant_file(lock: Path) -> None:
    lock.write_text("somebody's")


@pytest.mark.parametrize(
    "plant", [plant_link, os.mkfifo, Path.mkdir, plant_file], ids=["link", "fifo", "folder", "file"]
)
def test_what_was_planted_in_place_of_the_lock_is_left_alone_and_named(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    plant(tmp_path / LOCK)
    before = names(tmp_path)
    with pytest.raises(OSError, match=rf"{LOCK} in the same folder is not a lock file.*remove it"):
        locked(tmp_path / NAME).__enter__()
    assert names(tmp_path) == before
    assert (tmp_path / LOCK).lstat().st_size == (tmp_path / before[0]).lstat().st_size
    assert not (tmp_path / "kept").exists() or (tmp_path / "kept").read_text() == "kept"


def test_lock_is_found_by_other_users_whatever_the_umask_is(tmp_path: Path) -> None:
    lock, before = tmp_path / LOCK, os.umask(0o077)
    try:
        with locked(tmp_path / NAME):
            assert lock.stat().st_mode & 0o777 == 0o666
            # Somebody removes it by hand, and another process makes its own: that one is not removed.
            lock.unlink()
            lock.touch()
    finally:
        os.umask(before)
    assert names(tmp_path) == [LOCK]


def test_lock_is_refused_while_another_export_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.01)
    path = tmp_path / NAME
    with locked(path):
        with pytest.raises(OSError, match="two exports have this"), locked(path):
            pass
        monkeypatch.setattr(locks, "_LOCKED", set())
        with pytest.raises(OSError, match="another export is writing to it"), locked(path):
            pass
        with locked(tmp_path / "other"):
            pass
        assert names(tmp_path) == [LOCK]
    assert names(tmp_path) == []


def test_lock_that_was_removed_before_it_was_locked_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who had it removed it, and a third one made a new one, which the second does not have."""
    path, lock = tmp_path / NAME, tmp_path / LOCK
    flock = fcntl.flock
    pauses: list[float] = []

    def late(number: int, how: int) -> None:
        monkeypatch.setattr("fcntl.flock", flock)
        lock.unlink()
        lock.touch()
        flock(number, how)

    monkeypatch.setattr("fcntl.flock", late)
    monkeypatch.setattr("time.sleep", pauses.append)
    with locked(path):
        assert len(pauses) == 1
        monkeypatch.setattr(locks, "_LOCKED", set())
        monkeypatch.setattr(locks, "LOCK_SECONDS", 0)
        with pytest.raises(BlockingIOError), locked(path):
            pass
    assert names(tmp_path) == []


def test_folder_in_which_nothing_can_be_locked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(OSError, match="cannot be locked; export to another folder"), locked(tmp_path / NAME):
        pass


def test_exports_leave_nothing_in_their_folder_and_say_what_is_in_their_way(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("1")]))
    folder = project.folder / "exports"
    folder.mkdir()
    os.mkfifo(folder / LOCK)
    run = project.crawl(server.url("/index"), output=None, args=("-o", f"exports/{NAME}"))
    assert run.exit_code == 1
    assert any(f"{LOCK} in the same folder is not a lock file of an export" in w for w in run.warnings())
    assert "Traceback" not in run.log
    done = project.scrapy("export", "-o", f"exports/{NAME}")
    assert done.returncode == 1
    assert "is not a lock file of an export" in done.stderr
    assert names(folder) == [LOCK]
    (folder / LOCK).unlink()
    run = project.crawl(server.url("/index"), output=None, args=("-o", f"exports/{NAME}"))
    assert (run.exit_code, names(folder)) == (0, [NAME])
    assert [entry["id"] for entry in read_export(folder / NAME)] == ["1"]
    assert project.scrapy("export", "-o", f"exports/{NAME}").returncode == 0
    args = ("--base", "http://example.org/", "--format", "atom")
    assert project.scrapy("export", "-o", "exports/", *args).returncode == 0
    assert names(folder) == ["index.atom", NAME]
