import pytest

from fhcrawl.documents.xml import parsing
from tests.benchmarks.test_crawl import ratios_of
from tests.feeds import E, atom, read, rss

URL = "https://example.org/index.xml"


@pytest.mark.nightly("runs a benchmark")
def test_benchmark_reports_all_ratios() -> None:
    times = [
        f"{size}: time, fhcrawl/{other}"
        for size in ("5 KB", "150 KB", "0.2 MB")
        for other in ("feedparser", "lxml")
    ]
    assert ratios_of("reading", "--rounds", "1", "--large", "0.2") == [*times, "0.2 MB: memory/document"]


@pytest.mark.parametrize("format_", [atom, rss])
def test_large_documents_are_read_as_small_ones_are(format_: object, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [E(str(number), f"<p>{number} & more</p>" * 100) for number in range(800)]
    body = format_(entries).encode()  # type: ignore[operator]
    assert len(body) > parsing.LARGE
    end = body.rindex(b"</entry>" if format_ is atom else b"</item>") + 3
    in_pieces, cut = read(body, URL), read(body[:end], URL)
    monkeypatch.setattr(parsing, "LARGE", len(body) + 1)
    assert in_pieces == read(body, URL)
    assert cut == read(body[:end], URL)
    assert (len(in_pieces.entries), in_pieces.fault) == (800, None)
    assert (len(cut.entries), cut.fault is None) == (799, False)
