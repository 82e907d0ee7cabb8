from collections.abc import Callable

import pytest

from fhcrawl.documents import UpdateSchedule
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed"
ATOM = "http://www.w3.org/2005/Atom"
OLD_ATOM = "http://purl.org/atom/ns#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RSS_1 = "http://purl.org/rss/1.0/"
ENTRY = "<entry{}><id>lost</id><title>lost</title></entry>"
ITEM = "<item{}><guid>lost</guid><title>lost</title></item>"
NO_NAMESPACE = ITEM.format(' xmlns=""')


def atom(inside: str, namespace: str = ATOM) -> str:
    return f'<feed xmlns="{namespace}"><entry><id>a</id><title>t</title></entry>{inside}</feed>'


def rss(inside: str, beside: str = "") -> str:
    return f"<rss><channel><item><guid>a</guid></item>{inside}</channel>{beside}</rss>"


ITEM_OF_RSS_1 = ITEM.format(f' xmlns="{RSS_1}"')
LOST = {
    "entry without namespace": atom(ENTRY.format(' xmlns=""')),
    "entry of the older format": atom(ENTRY.format(f' xmlns="{OLD_ATOM}"')),
    "entry of the newer format": atom(ENTRY.format(f' xmlns="{ATOM}"'), OLD_ATOM),
    "item in Atom": atom(NO_NAMESPACE),
    "item of another format": rss(ITEM_OF_RSS_1),
    "item of another format beside the channel": rss("", ITEM_OF_RSS_1),
    "item of another format in a wrapper": rss(f'<items xmlns="{RSS_1}">{ITEM.format("")}</items>'),
    "entry in RSS": rss(ENTRY.format(f' xmlns="{ATOM}"')),
    "item without namespace in RSS 1.0": f'<r:RDF xmlns:r="{RDF}" xmlns="{RSS_1}"><channel/>'
    f'<item r:about="a"/>{NO_NAMESPACE}</r:RDF>',
    "entry in a wrapper beside the channel": rss("", f"<x>{ENTRY.format('')}</x>"),
    "item in an item": rss("").replace("</item>", f"{NO_NAMESPACE}</item>"),
}


@pytest.mark.parametrize("document", LOST.values(), ids=LOST)
def test_entry_that_is_not_read_is_said_to_be_lost(document: str) -> None:
    found = read(document.encode(), LOCATION)
    assert [entry.id for entry in found.entries] == ["a"]
    assert [problem.kind for problem in found.problems] == ["entry-lost"]


@pytest.mark.parametrize("around", ["content", "x"])
def test_entry_in_another_element_is_foreign_markup(around: str) -> None:
    other = f"<{around} type='application/xml'>{ENTRY.format('')}</{around}>"
    inside = f"<entry><id>a</id><title>t</title>{other}</entry>"
    assert not read(f'<feed xmlns="{ATOM}">{inside}</feed>'.encode(), LOCATION).problems


DELETED = (
    '<deleted-entry xmlns="http://purl.org/atompub/tombstones/1.0" ref="b" when="2026-01-01T00:00:00Z">'
    "{}</deleted-entry>"
)


@pytest.mark.parametrize(
    "around", [DELETED, f"<x><feed xmlns='{ATOM}'>{{}}</feed></x>"], ids=["deleted", "feed"]
)
@pytest.mark.parametrize("inside", [ENTRY.format(f' xmlns="{ATOM}"'), NO_NAMESPACE], ids=["entry", "item"])
def test_entry_of_something_else_in_the_head_is_no_entry_of_the_feed(around: str, inside: str) -> None:
    for document in (atom(around.format(inside)), rss(around.format(inside))):
        found = read(document.encode(), LOCATION)
        assert ([entry.id for entry in found.entries], found.problems) == (["a"], [])


OPEN_SEARCH = "http://a9.com/-/spec/opensearch/1.1/"
OPEN_SEARCH_RSS = "http://a9.com/-/spec/opensearchrss/1.0/"


@pytest.mark.parametrize(
    ("form", "namespace"), [(atom, OPEN_SEARCH), (rss, OPEN_SEARCH_RSS), (rss, OPEN_SEARCH)]
)
def test_number_of_all_entries_is_read(form: Callable[[str], str], namespace: str) -> None:
    def total(text: str) -> int | None:
        found = form(f'<o:totalResults xmlns:o="{namespace}">{text}</o:totalResults>')
        return read(found.encode(), LOCATION).total

    assert total(" 1234 ") == 1234
    assert [total(text) for text in ("", "-1", "many", "\u0663", "9" * 5000)] == [None] * 5


SY = ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
DAY = 86400


def update_schedule(head: str) -> UpdateSchedule | None:
    return read(rss(head).encode(), LOCATION).update_schedule


def syndication(**elements: str) -> UpdateSchedule | None:
    return update_schedule("".join(f"<sy:{name}{SY}>{text}</sy:{name}>" for name, text in elements.items()))


@pytest.mark.parametrize(
    "document", [atom(""), rss(""), '{"version": "https://jsonfeed.org/version/1.1", "items": []}']
)
def test_most_feeds_have_no_update_schedule(document: str) -> None:
    assert read(document.encode(), LOCATION).update_schedule is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("60", 60), (" 5\n", 5), ("0", None), ("-5", None), ("soon", None), ("9" * 10, None), ("٣", None)],
)
def test_ttl_is_a_number_of_minutes(text: str, minutes: int | None) -> None:
    found = update_schedule(f"<ttl>{text}</ttl>")
    assert (found and found.ttl) == minutes


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({"updatePeriod": "hourly"}, 3600),
        ({"updatePeriod": " Daily ", "updateFrequency": "2"}, DAY // 2),
        ({"updatePeriod": "weekly"}, 7 * DAY),
        ({"updatePeriod": "monthly"}, 30 * DAY),
        ({"updatePeriod": "yearly", "updateFrequency": "365"}, DAY),
        ({"updateFrequency": "4"}, DAY // 4),
        ({"updateBase": "2000-01-01T12:00"}, DAY),
        ({"updatePeriod": "hourly", "updateFrequency": "100000"}, 1),
        ({"updatePeriod": "hourly", "updateFrequency": "often"}, 3600),
        ({"updatePeriod": "never"}, None),
    ],
)
def test_period_is_divided_by_the_frequency(said: dict[str, str], seconds: int | None) -> None:
    found = syndication(**said)
    assert (found and found.period) == seconds


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("2000-01-01T12:00", "2000-01-01T12:00:00Z"),
        ("2000-01-01T12:00:00.1234567+02:00", "2000-01-01T10:00:00Z"),
        ("once", None),
    ],
)
def test_base_is_a_time_without_fractions(text: str, base: str | None) -> None:
    assert syndication(updateBase=text) == UpdateSchedule(period=DAY, base=base)
