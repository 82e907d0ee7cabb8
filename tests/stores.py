"""What tests do with stores."""

from fhcrawl.store import Store, WalkStart


def begin_walk(store: Store, feed: str, run: int, now: str) -> WalkStart:
    """Begin the walk of one feed; raise the error if it is left alone."""
    known = store.walks.begin([feed], run, now)[feed]
    if isinstance(known, Exception):
        raise known
    return known
