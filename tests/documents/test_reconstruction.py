"""draft-nottingham-atompub-feed-history-07, appendix B, gives the same logical feed as fhcrawl's rules."""

from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents import FeedDocument
from fhcrawl.logical_feed import ChainPosition, Kind, Outcome, Version, Winner
from fhcrawl.logical_feed.chain import kind, older_document
from fhcrawl.logical_feed.results import decide, digest, identity, latest_time, order
from tests.feeds import read

FH = 'xmlns:fh="http://purl.org/syndication/history/1.0"'
LATEST = latest_time("2020-01-01T00:00:00Z")

Store = dict[str, str | None]  # titles by id
Web = dict[str, bytes]


class Item(NamedTuple):
    id: str
    title: str
    dated: bool


class Chain(NamedTuple):
    """Documents from the oldest to the subscription document, and how they name the one before them."""

    documents: list[list[Item]]
    spelling: str

    def web(self, length: int) -> Web:
        """What is published when the chain has a length: its newest one is the subscription document."""
        *archives, last = (self.body(number) for number in range(length))
        return {**{url(number): body for number, body in enumerate(archives)}, "http://example.org/": last}

    def body(self, number: int) -> bytes:
        head, item = HEADS[self.spelling], ATOM_ENTRY if self.spelling in ATOM_SPELLINGS else RSS_ITEM
        wrap = ATOM_FEED if self.spelling in ATOM_SPELLINGS else RSS_FEED
        link = quoteattr(url(number - 1)) if number else None
        entries = "".join(
            item.format(id=id_, title=title, updated=UPDATED.format(time(number)) if dated else "")
            for id_, title, dated in self.documents[number]
        )
        return wrap.format(head=head(link), updated=time(number), entries=entries).encode()


# Every archive is dated later than the ones before it.
def time(number: int) -> str:
    return f"2003-{number + 1:02}-01T00:00:00Z"


def url(number: int) -> str:
    return f"http://example.org/{number}"


UPDATED = "<a:updated>{}</a:updated>"
ATOM = 'xmlns:a="http://www.w3.org/2005/Atom"'
ATOM_FEED = f"<a:feed {ATOM} {FH}>{{head}}<a:updated>{{updated}}</a:updated>{{entries}}</a:feed>"
ATOM_ENTRY = "<a:entry><a:id>{id}</a:id><a:title>{title}</a:title>{updated}</a:entry>"
RSS_FEED = f"<rss {ATOM} {FH}><channel>{{head}}<a:updated>{{updated}}</a:updated>{{entries}}</channel></rss>"
RSS_ITEM = "<item><guid>{id}</guid><title>{title}</title>{updated}</item>"


def rfc_5005(link: str | None) -> str:
    return "<fh:archive/>" + (f'<a:link rel="prev-archive" href={link}/>' if link else "")


def draft_00(link: str | None) -> str:
    return "<fh:stateful>1</fh:stateful>" + (f'<a:link rel="prev" href={link}/>' if link else "")


def draft_04(link: str | None) -> str:
    return "<fh:incremental>true</fh:incremental>" + (f"<fh:prev>{link[1:-1]}</fh:prev>" if link else "")


HEADS = {"rfc 5005": rfc_5005, "rfc 5005 in rss": rfc_5005, "draft 00": draft_00, "draft 04": draft_04}
ATOM_SPELLINGS = {"rfc 5005", "draft 00"}


def get(web: Web, address: str) -> FeedDocument:
    return read(web[address], address)


# Step 8 taken literally never adds the newest archive: its link is the last to be popped, and then L is
# empty. So step 6 is done once more for it. Without archives there is nothing to pop.
def reconstruct_by_appendix_b(web: Web, store: Store, last_stored: str | None) -> Store:
    # 1. "Create an empty list L."
    waiting: list[str] = []
    # 2. "Consider the URI of the last archive document successfully stored to the local store S as A."
    # 3. "Consider the set of entries in document D as E."
    document = get(web, "http://example.org/")
    entries = titles(document)
    # 4. "If the document D has a "prev-archive" link relation value P in its head section, and P is not A,
    # 1. Append P to L. 2. Dereference P and use the resulting feed document as D."
    # 5. "Repeat the previous step until no new P is found."
    while (before := document.links.get("prev-archive")) and before != last_stored:
        waiting.append(before)
        document = get(web, before)
    while waiting:
        # 6. "Add all of document D's entries to the local store S, replacing any entries with the same
        # identity."
        store |= titles(document)
        # 7. "Pop the last "prev-archive" link relation from L, dereference its value and use the resulting
        # feed document as D."
        document = get(web, waiting.pop())
        # 8. "Repeat the previous two steps until L is empty."
        store |= titles(document)
    # 9. "Add the entries E to the local store S, replacing any entries with the same identity."
    return store | entries


def titles(document: FeedDocument) -> Store:
    return {entry.id or "": entry.title for entry in document.entries}


def reconstruct_by_our_rules(web: Web, shuffle: st.DataObject) -> Store:
    walked: list[tuple[ChainPosition, FeedDocument]] = []
    place, address = ChainPosition(1, 0), "http://example.org/"
    while True:
        document = get(web, address)
        walked.append((place, document))
        link = older_document(document)
        if link is None:
            break
        place, address = place.older_position(), link.url
    assert kind(walked[0][1]) is Kind.ARCHIVED
    winners: dict[str, Winner] = {}
    store: Store = {}
    for place, document in shuffle.draw(st.permutations(walked)):
        add(document, place, winners, store)
    return store


def add(document: FeedDocument, place: ChainPosition, winners: dict[str, Winner], store: Store) -> None:
    for position, entry in enumerate(document.entries):
        id_ = identity(entry, document)
        assert id_
        version = Version(
            id_,
            order(entry.updated, document.updated, place, position, not place.step).counted(LATEST),
            digest(entry),
        )
        winner = winners.get(id_)
        outcome = decide(version, winner)
        if outcome in {Outcome.NEW, Outcome.UPDATED}:
            store[id_] = entry.title
        if winner is None or version.order.is_newer(winner.order):
            winners[id_] = Winner(version.order, version.digest)


ITEMS = st.builds(Item, st.sampled_from("abcdef"), st.sampled_from(["one", "two", "three"]), st.booleans())
DOCUMENTS = st.lists(ITEMS, max_size=4, unique_by=lambda item: item.id)
CHAINS = st.builds(Chain, st.lists(DOCUMENTS, min_size=1, max_size=8), st.sampled_from(sorted(HEADS)))


@given(chain=CHAINS, data=st.data())
def test_appendix_b_of_draft_07_gives_the_same_logical_feed(chain: Chain, data: st.DataObject) -> None:
    web = chain.web(len(chain.documents))
    assert reconstruct_by_our_rules(web, data) == reconstruct_by_appendix_b(web, {}, None)


@given(chain=CHAINS, data=st.data())
def test_appendix_b_in_two_runs_gives_the_same_logical_feed(chain: Chain, data: st.DataObject) -> None:
    length = len(chain.documents)
    first = data.draw(st.integers(1, length))
    store = reconstruct_by_appendix_b(chain.web(first), {}, None)
    last_stored = url(first - 2) if first > 1 else None
    store = reconstruct_by_appendix_b(chain.web(length), store, last_stored)
    assert reconstruct_by_our_rules(chain.web(length), data) == store
