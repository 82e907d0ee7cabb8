"""Exports that are cut off between their file and their mark."""

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fhcrawl.exporters import storages
from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine, Killed
from tests.feeds import E, atom, tombstone
from tests.stores import write_part

FEED = "http://example.org/index"


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    """A store with one change to be exported."""
    opened = Store.open(database.url)
    Engine(database.url, {FEED: atom([E("1")])}).crawl_only(FEED)
    yield opened
    opened.close()


def written(folder: Path, is_appended: bool = False) -> storages.WrittenFile:
    return write_part(folder / "out.jsonl", b"line\n", is_appended)


def in_two_folders(folder: Path) -> list[storages.WrittenFile]:
    (folder / "other").mkdir()
    return [written(folder), written(folder / "other")]


def pending(store: Store, run: int = 1) -> int:
    number = store.exports.begin(run)
    count = len(list(store.exports.read_changes(number)))
    store.exports.cancel(number)
    return count


def begin(store: Store, *files: storages.WrittenFile) -> int:
    number = store.exports.begin(1)
    store.exports.note_files(number, [list(file) for file in files])
    return number


@pytest.mark.both_stores
def test_delivery_names_the_file_and_settles_the_changes(store: Store, tmp_path: Path) -> None:
    assert pending(store) == 1
    storages.deliver(store, store.exports.begin(1), [written(tmp_path)])
    assert (tmp_path / "out.jsonl").read_bytes() == b"line\n"
    assert pending(store) == 0
    assert store.exports.find_dead() == []


def adopted(store: Store, run: int, *urls: str) -> int:
    store.exports.adopt(run, urls)
    number = store.exports.begin(run, only_released=True)
    count = len(list(store.exports.read_changes(number)))
    store.exports.cancel(number)
    assert store.exports.count_unexported(run, urls) == count
    return count


@pytest.mark.both_stores
def test_run_adopts_the_changes_of_given_feeds_else_of_subscribed_ones(store: Store) -> None:
    run = store.begin_run()
    other = "http://example.org/other"
    assert adopted(store, run) == 0
    assert adopted(store, run, other) == 0
    store.subscriptions.add({other: {}}, "2020-01-01T00:00:00Z")
    assert adopted(store, run) == 0
    assert adopted(store, run, other, FEED) == 1
    store.end_run()
    next_run = store.begin_run()
    store.subscriptions.add({FEED: {}}, "2020-01-01T00:00:00Z")
    assert adopted(store, next_run) == 1
    assert adopted(store, next_run) == 1


@pytest.mark.both_stores
def test_run_adopts_nothing_of_a_living_run(store: Store, database: Database) -> None:
    with closing(Store.open(database.url)) as living:
        living.exports.adopt(living.begin_run(), [FEED])
        run = store.begin_run()
        store.exports.adopt(run, [FEED])
        assert pending(store, run) == 0
    assert adopted(store, run, FEED) == 1


@pytest.mark.both_stores
def test_run_adopts_no_feed_whose_interrupted_delivery_is_not_settled(
    database: Database, tmp_path: Path
) -> None:
    """A walk could overwrite a change that is in the delivery's file."""
    Engine(database.url, {FEED: atom([E("1"), E("2")])}).crawl_only(FEED)
    with closing(Store.open(database.url)) as store:
        begin(store, written(tmp_path))
        database.execute("UPDATE changes SET delivery = NULL WHERE id = '2'")
        run = store.begin_run()
        store.exports.adopt(run, [FEED])
        assert pending(store, run) == 0
        storages.recover(store)
        assert adopted(store, run, FEED) == 2


@pytest.mark.parametrize(
    ("states", "counts"),
    [
        # With -O, the next export would put another file in its place.
        (["written"], False),
        (["written", "written"], False),
        (["named"], True),
        (["named", "written"], True),
        (["gone"], False),
        # A change that one of the files lacks has not been exported.
        (["named", "gone"], False),
    ],
)
@pytest.mark.both_stores
def test_delivery_that_died_is_finished_or_exported_anew(
    store: Store, tmp_path: Path, states: list[str], counts: bool
) -> None:
    files = in_two_folders(tmp_path)[: len(states)]
    begin(store, *files)
    for file, state in zip(files, states, strict=True):
        if state == "named":
            os.replace(file.written, file.name)
        elif state == "gone":
            Path(file.written).unlink()
            Path(file.name).write_text("lime\n")
    storages.recover(store)
    assert pending(store) == (not counts)
    assert store.exports.find_dead() == []
    assert not counts or all(Path(file.name).read_bytes() == b"line\n" for file in files)
    assert not any(Path(file.written).exists() for file in files)


@pytest.mark.parametrize(
    "changed", [[E("1", "old", updated="2005-01-01T00:00:00Z")], []], ids=["edited", "deleted"]
)
@pytest.mark.both_stores
def test_export_that_is_cut_off_while_another_crawl_is_open_counts_before_that_changes_anything(
    database: Database, tmp_path: Path, changed: list[E]
) -> None:
    """An entry that returns to its earlier content is exported again: the file has a later version."""

    def published(*entries: E, head: str = "") -> dict[str, str | int]:
        return {FEED: atom(list(entries), head=head)}

    if changed:
        assert Engine(database.url, published(E("1", "old"))).crawl(FEED)
    head = "" if changed else tombstone("1", "2005-01-01T00:00:00Z")
    later = Engine(database.url, published(*changed, head=head))
    Engine(database.url, published(E("1", "new", updated="2004-01-01T00:00:00Z"))).crawl_only(FEED)
    [[run]] = database.rows("SELECT run FROM feeds")
    with closing(Store.open(database.url)) as killed:
        file = written(tmp_path)
        number = killed.exports.begin(run)
        assert [entry["summary"] for entry in killed.exports.read_changes(number)] == ["new"]
        killed.exports.note_files(number, [list(file)])
        os.replace(file.written, file.name)
    change = "updated" if changed else "deleted"
    assert [(entry["id"], entry["change"]) for entry in later.crawl(FEED) or ()] == [("1", change)]


def test_delivery_that_dies_between_two_names_has_noted_its_files(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = in_two_folders(tmp_path)
    replace = os.replace

    def die_behind(source: str, target: str) -> None:
        replace(source, target)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", die_behind)
        with pytest.raises(Killed):
            storages.deliver(store, store.exports.begin(1), files)
    storages.recover(store)
    assert [Path(file.name).read_bytes() for file in files] == [b"line\n", b"line\n"]
    assert pending(store) == 0


@pytest.mark.parametrize("names", [1, 2])
def test_delivery_of_a_process_that_wakes_while_it_is_settled_counts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: int
) -> None:
    """It goes on where it slept: before the first name."""
    files = in_two_folders(tmp_path)
    number = begin(store, *files)
    is_named = storages.WrittenFile.is_named

    def wake_after(file: storages.WrittenFile) -> bool:
        found = is_named(file)
        if file == files[-1]:
            monkeypatch.undo()
            for one in files[:names]:
                os.replace(one.written, one.name)
        return found

    monkeypatch.setattr(storages.WrittenFile, "is_named", wake_after)
    assert storages.settle(store, number, files)
    assert [Path(file.name).read_bytes() for file in files] == [b"line\n", b"line\n"]
    assert pending(store) == 0


def test_process_that_wakes_when_its_delivery_is_given_up_names_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its changes would be exported twice."""
    file = written(tmp_path)
    number = begin(store, file)
    is_named, looked = storages.WrittenFile.is_named, itertools.count(1)

    def wake_after_the_second(file: storages.WrittenFile) -> bool:
        found = is_named(file)
        if next(looked) == 2:
            with pytest.raises(FileNotFoundError):
                os.replace(file.written, file.name)
        return found

    monkeypatch.setattr(storages.WrittenFile, "is_named", wake_after_the_second)
    assert not storages.settle(store, number, [file])
    assert next(looked) == 3
    assert pending(store) == 1


@pytest.mark.parametrize("difference", ["inode", "size", "time"])
def test_other_file_of_the_name_is_not_the_delivered_one(
    store: Store, tmp_path: Path, difference: str
) -> None:
    file = written(tmp_path)
    assert not file.is_named()
    os.replace(file.written, file.name)
    assert file.is_named()
    other = file._replace(**{difference: getattr(file, difference) + 1})
    assert not other.is_named()
    begin(store, other)
    storages.recover(store)
    assert pending(store) == 1


@pytest.mark.parametrize("error", [FileNotFoundError, NotADirectoryError, IsADirectoryError])
def test_delivery_that_cannot_name_all_files_names_none(
    store: Store, tmp_path: Path, error: type[OSError]
) -> None:
    """The next run exports to all of them."""
    files = in_two_folders(tmp_path)
    number = store.exports.begin(1)
    if error is IsADirectoryError:
        (tmp_path / "other" / "out.jsonl").mkdir()
    else:
        shutil.rmtree(tmp_path / "other")
    if error is NotADirectoryError:
        (tmp_path / "other").touch()
    with pytest.raises(error):
        storages.deliver(store, number, files)
    assert not storages.settle(store, number, files)
    assert not (tmp_path / "out.jsonl").exists()
    assert (pending(store), store.exports.find_dead()) == (1, [])


def test_parts_of_the_file_that_others_left_are_removed(tmp_path: Path) -> None:
    """Whoever writes beside the file has its lock."""
    left = [".out.jsonl.00000001.part", ".out.jsonl.0123abcd.part"]
    others = [".out.0123abcd.part", ".out.jsonl.gz.0123abcd.part", ".out.jsonl.kept.part", "out.jsonl.0.part"]
    for name in (*left, *others):
        (tmp_path / name).touch()
    (tmp_path / ".out.jsonl.00000002.part").mkdir()
    beside = Path(written(tmp_path).written)
    assert {path.name for path in tmp_path.iterdir()} == {*others, ".out.jsonl.00000002.part", beside.name}
    assert beside.read_bytes() == b"line\n"


def test_link_that_was_planted_for_the_part_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    monkeypatch.setattr("fhcrawl.exporters.storages.secrets.token_hex", lambda octets: "guessed")
    (tmp_path / ".out.jsonl.guessed.part").symlink_to(kept)
    with pytest.raises(FileExistsError):
        written(tmp_path)
    assert kept.read_text() == "kept"


def test_part_that_a_delivery_has_noted_never_replaces_what_came_later(store: Store, tmp_path: Path) -> None:
    """Of two files, a killed process had named the first; then another export appended to the second."""
    file = written(tmp_path)
    (tmp_path / "other").mkdir()
    later = tmp_path / "other" / "out.jsonl"
    later.write_bytes(b"before\n")
    other = written(later.parent, is_appended=True)
    begin(store, file, other)
    os.replace(file.written, file.name)
    part = write_part(later, b"later\n", is_appended=True)
    storages.recover(store)
    os.replace(part.written, later)
    storages.recover(store)
    assert later.read_bytes() == b"before\nlater\n"
    assert pending(store) == 1
    assert store.exports.find_dead() == []


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o666])
def test_file_keeps_its_permissions(tmp_path: Path, permissions: int) -> None:
    (tmp_path / "out.jsonl").touch()
    (tmp_path / "out.jsonl").chmod(permissions)
    for is_appended in (True, False):
        file = written(tmp_path, is_appended)
        assert Path(file.written).stat().st_mode & 0o777 == permissions


def test_file_that_cannot_be_copied_leaves_nothing(tmp_path: Path) -> None:
    """Appending begins with a copy."""
    (tmp_path / "out.jsonl").mkdir()
    with pytest.raises(IsADirectoryError):
        written(tmp_path, is_appended=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
