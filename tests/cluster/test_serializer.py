"""Requests of walks can be carried to another machine."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.request import request_from_dict

from fhcrawl.cluster import serializer
from fhcrawl.spiders.history import HistorySpider

SPIDER = HistorySpider({})
latin = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["If-None-Match", "X-Key"]), latin.map(lambda v: v.encode("latin-1"))),
    st.dictionaries(st.text(max_size=5), plain, max_size=3),
    st.sampled_from(["parse", "parse_part"]),
    st.integers(-5, 5),
)
def test_request_is_the_same_on_the_other_side(
    headers: dict[str, bytes], values: dict[str, object], callback: str, priority: int
) -> None:
    sent = Request(
        "https://example.org/ä?b=%20c",
        callback=getattr(SPIDER, callback),
        errback=SPIDER.lose,
        headers=headers,
        meta=values,
        cb_kwargs={"feed": "https://example.org/", "values": values},
        dont_filter=True,
        priority=priority,
        body=bytes(range(256)),
    )
    line = serializer.dumps(sent.to_dict(spider=SPIDER))
    assert "\n" not in line
    got = request_from_dict(serializer.loads(line), spider=SPIDER)
    assert got.to_dict(spider=SPIDER) == sent.to_dict(spider=SPIDER)


def test_line_is_json() -> None:
    line = serializer.dumps(Request("https://example.org/").to_dict())
    assert json.loads(line)["url"] == "https://example.org/"
