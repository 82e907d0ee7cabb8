"""Links of a head section: two URLs of one resource do not contradict each other."""

import pytest

from fhcrawl.documents.links import Links


def others(*urls: str) -> list[str]:
    found = Links()
    for url in urls:
        found.add("prev-archive", url)
    assert found.first == {"prev-archive": urls[0]}
    return found.others.get("prev-archive", [])


@pytest.mark.parametrize(
    ("url", "other"),
    [
        *(("http://h.example/a", "http://H.Example/a"), ("http://h.example/a", "http://h.example:80/a")),
        *(("https://h.example:443/a", "https://h.example/a"), ("http://h.example:/a", "http://h.example/a")),
        ("http://h.example", "http://h.example/"),
        ("http://h.example/~a?b=-", "http://h.example/%7ea?b=%2D"),
        ("http://h.example/%c3%a9", "http://h.example/%C3%A9"),
        ("http://h.example/%C3%A9", "http://h.example/\u00e9"),
    ],
)
def test_another_spelling_of_a_url_is_the_same_one(url: str, other: str) -> None:
    assert others(url, other) == []
    assert others(other, url) == []


@pytest.mark.parametrize(
    ("url", "other"),
    [
        *(("http://h.example/a", "https://h.example/a"), ("http://h.example/a", "http://h.example/a/")),
        *(("http://h.example/a", "http://h.example/A"), ("http://h.example/a", "http://h.example:443/a")),
        ("http://h.example/a/b", "http://h.example/a%2Fb"),
        *(("http://h.example/?a=%26", "http://h.example/?a=&"), ("http://h.example/a", "http://[/a")),
        ("http://h.example/a", ""),
    ],
)
def test_another_url_is_another_one(url: str, other: str) -> None:
    assert others(url, other) == [other]


def test_the_same_other_url_is_kept_once_and_not_too_many_are() -> None:
    assert others("http://h/", "http://h/1", "http://h/1") == ["http://h/1"]
    assert len(others("http://h/", *(f"http://h/{n}" for n in range(20)))) == 10
