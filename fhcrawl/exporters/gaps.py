"""Pseudo-entries for the gaps of a feed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from fhcrawl.items import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.store import Feed

CATEGORY = "fhcrawl-gap"
TITLE = "Some entries may be missing"


# RFC 5005, 4.2: "Clients SHOULD warn users when they are not able to reconstruct the entire logical feed
# (e.g., by alerting the user that an archive document is unavailable, or displaying pseudo-entries that
# inform the user that some entries may be missing)."
def entries(feed: Feed) -> Iterator[dict[str, Any]]:
    """Yield an entry for each reason of a feed's verdict; a reason has the same id in each export."""
    for reason in feed.reasons:
        name = "\n".join((feed.feed, reason.kind, reason.url))
        text = f"{reason.url} {reason.detail} (since {reason.since})"
        yield {
            **dict.fromkeys(FIELDS),
            "feed": feed.feed,
            "id": f"urn:sha256:{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}",
            "title": TITLE,
            "link": reason.url,
            "published": reason.since,
            "updated": reason.since,
            "authors": [],
            "categories": [CATEGORY],
            "summary": text,
            "enclosures": [],
            "document": feed.feed,
        }
