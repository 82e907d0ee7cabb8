import pytest

from tests.benchmarks.test_crawl import ratios_of

URL = "https://example.org/index.xml"


@pytest.mark.nightly("runs a benchmark")
def test_benchmark_reports_all_ratios() -> None:
    times = [
        f"{size}: time, fhcrawl/{other}"
        for size in ("5 KB", "150 KB", "0.2 MB")
        for other in ("feedparser", "lxml")
    ]
    assert ratios_of("reading", "--rounds", "1", "--large", "0.2") == [*times, "0.2 MB: memory/document"]
