from collections.abc import Callable

import pytest

from fhcrawl.documents import UpdateSchedule
from tests.feeds import ATOM, URL, ids, kinds, read

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
def test_entry_that_is_not_read_is_reported_as_lost(document: str) -> None:
    found = read(document.encode(), URL)
    assert (ids(found), kinds(found)) == (["a"], ["entry-lost"])


@pytest.mark.parametrize("around", ["content", "x"])
def test_entry_in_another_element_is_foreign_markup(around: str) -> None:
    other = f"<{around} type='application/xml'>{ENTRY.format('')}</{around}>"
    inside = f"<entry><id>a</id><title>t</title>{other}</entry>"
    assert not read(f'<feed xmlns="{ATOM}">{inside}</feed>'.encode(), URL).problems


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
        found = read(document.encode(), URL)
        assert (ids(found), found.problems) == (["a"], [])


OPEN_SEARCH = "http://a9.com/-/spec/opensearch/1.1/"
OPEN_SEARCH_RSS = "http://a9.com/-/spec/opensearchrss/1.0/"


@pytest.mark.parametrize(
    ("form", "namespace"), [(atom, OPEN_SEARCH), (rss, OPEN_SEARCH_RSS), (rss, OPEN_SEARCH)]
)
def test_number_of_all_entries_is_read(form: Callable[[str], str], namespace: str) -> None:
    def total(text: str) -> int | None:
        found = form(f'<o:totalResults xmlns:o="{namespace}">{text}</o:totalResults>')
        return read(found.encode(), URL).total

    assert total(" 1234 ") == 1234
    assert [total(text) for text in ("", "-1", "many", "\u0663", "9" * 5000)] == [None] * 5


SY = ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
DAY = 86400


def period(seconds: int) -> UpdateSchedule:
    return UpdateSchedule(period=seconds)


@pytest.mark.parametrize(
    ("elements", "schedule"),
    [
        # a number of minutes
        *(({"ttl": "60"}, UpdateSchedule(ttl=60)), ({"ttl": " 5\n"}, UpdateSchedule(ttl=5))),
        *(({"ttl": text}, None) for text in ("0", "-5", "soon", "9" * 10, "٣")),
        # the period is divided by the frequency
        ({"sy:updatePeriod": "hourly"}, period(3600)),
        ({"sy:updatePeriod": " Daily ", "sy:updateFrequency": "2"}, period(DAY // 2)),
        *(
            ({"sy:updatePeriod": "weekly"}, period(7 * DAY)),
            ({"sy:updatePeriod": "monthly"}, period(30 * DAY)),
        ),
        ({"sy:updatePeriod": "yearly", "sy:updateFrequency": "365"}, period(DAY)),
        ({"sy:updateFrequency": "4"}, period(DAY // 4)),
        ({"sy:updatePeriod": "hourly", "sy:updateFrequency": "100000"}, period(1)),
        ({"sy:updatePeriod": "hourly", "sy:updateFrequency": "often"}, period(3600)),
        ({"sy:updatePeriod": "never"}, None),
        # a time without fractions
        ({"sy:updateBase": "2000-01-01T12:00"}, UpdateSchedule(period=DAY, base="2000-01-01T12:00:00Z")),
        (
            {"sy:updateBase": "2000-01-01T12:00:00.1234567+02:00"},
            UpdateSchedule(period=DAY, base="2000-01-01T10:00:00Z"),
        ),
        ({"sy:updateBase": "once"}, period(DAY)),
        ({}, None),
    ],
)
def test_update_schedule_is_read(elements: dict[str, str], schedule: UpdateSchedule | None) -> None:
    head = "".join(f"<{name}{SY}>{text}</{name}>" for name, text in elements.items())
    assert read(rss(head).encode(), URL).update_schedule == schedule
