"""What tests do with stores, and with exports from them."""

from pathlib import Path

from fhcrawl.exporters.storages import FileFeedStorage, WrittenFile
from fhcrawl.logical_feed.results import CommitBatch, DocumentResult
from fhcrawl.store import Store, WalkStart


def write_part(path: Path, content: bytes = b"", is_appended: bool = False) -> WrittenFile:
    """Write an export as a process does that dies before it names the file."""
    storage = FileFeedStorage(str(path), feed_options={"format": "jsonl", "overwrite": not is_appended})
    try:
        file = storage.open()
        file.write(content)
        storage.store(file)
    except OSError:
        storage.release()
        raise
    storage._lock.close()
    assert storage.written is not None
    return storage.written


def begin_walk(store: Store, feed: str, run: int, now: str) -> WalkStart:
    """Begin the walk of one feed; raise the error if it is left alone."""
    known = store.walks.begin([feed], run, now)[feed]
    if isinstance(known, Exception):
        raise known
    return known


def commit(store: Store, result: DocumentResult, batch: CommitBatch) -> None:
    store.documents.write(result, batch)
