from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fhcrawl.logical_feed.archive_urls import ahead

ROOT = "http://h1.example.org:8080"
COMMON = {
    "months, padded": ("/2003/04/ /2003/03/ /2003/02/ /2003/01/", "/2002/12/ /2002/11/ /2002/10/ /2002/09/"),
    "months, not padded": ("/2003/4 /2003/3 /2003/2 /2003/1", "/2002/12 /2002/11 /2002/10 /2002/9"),
    "months in one number": ("/200304 /200303 /200302 /200301", "/200212 /200211 /200210 /200209"),
    "month before year": ("/4-2003 /3-2003 /2-2003 /1-2003", "/12-2002 /11-2002 /10-2002 /9-2002"),
    "months in a query": (
        "/feed?y=2003&m=04 /feed?y=2003&m=03 /feed?y=2003&m=02 /feed?y=2003&m=01",
        "/feed?y=2002&m=12 /feed?y=2002&m=11 /feed?y=2002&m=10 /feed?y=2002&m=09",
    ),
    "months twice": (
        "/2003/04/a-200304 /2003/03/a-200303 /2003/02/a-200302 /2003/01/a-200301",
        "/2002/12/a-200212 /2002/11/a-200211 /2002/10/a-200210 /2002/09/a-200209",
    ),
    "months with a first day": (
        "/20030401 /20030301 /20030201 /20030101",
        "/20021201 /20021101 /20021001 /20020901",
    ),
    "a year twice": (
        "/2003/2003-04 /2003/2003-03 /2003/2003-02 /2003/2003-01",
        "/2002/2002-12 /2002/2002-11 /2002/2002-10 /2002/2002-09",
    ),
    "every second month": ("/2003/07 /2003/05 /2003/03 /2003/01", "/2002/11 /2002/09 /2002/07 /2002/05"),
    "years": ("/2003/ /2002/ /2001/ /2000/", "/1999/ /1998/ /1997/ /1996/"),
    "a counter": ("/archive-60 /archive-59 /archive-58 /archive-57", "/archive-56 /archive-55"),
    "a counter that ends": ("/6 /5 /4 /3", "/2 /1"),
    "a counter among other numbers": ("/v2/7/9.xml /v2/7/8.xml /v2/7/7.xml /v2/7/6.xml", "/v2/7/5.xml"),
    "two counters": ("/2-9 /3-8 /4-7 /5-6", "/6-5 /7-4"),
    "pages": ("/?page=7 /?page=8 /?page=9 /?page=10", "/?page=11 /?page=12"),
    "pages, padded": ("/?page=07 /?page=08 /?page=09 /?page=10", "/?page=11 /?page=12"),
    "offsets": ("/?start=20 /?start=40 /?start=60 /?start=80", "/?start=100 /?start=120"),
    "days": ("/2003/11/05 /2003/11/04 /2003/11/03 /2003/11/02", "/2003/11/01"),
    "letters of both cases": ("/Ab/7.XML /Ab/6.XML /Ab/5.XML /Ab/4.XML", "/Ab/3.XML"),
}
NOTHING = {
    "one prediction came true": "/2003/11/ /2003/10/ /2003/09/",
    "the second did not": "/8 /7 /6 /4",
    "the first did not": "/9 /7 /6 /5",
    "another word": "/a/7 /a/6 /a/5 /b/4",
    "another case": "/A/7 /A/6 /A/5 /a/4",
    "nothing changes": "/7 /7 /7 /7",
    "no numbers": "/d /c /b /a",
    "percent-encoded octets": "/%43 /%42 /%41 /%40",
    "the first of a month": "/2003/11/04 /2003/11/03 /2003/11/02 /2003/11/01",
    "the last of a counter": "/4 /3 /2 /1",
    "9 or 09": "/13 /12 /11 /10",
}


def urls(paths: str) -> list[str]:
    return [ROOT + path for path in paths.split()]


@pytest.mark.parametrize("pattern", COMMON)
def test_common_patterns_are_learnt(pattern: str) -> None:
    seen, expected = map(urls, COMMON[pattern])
    predicted = ahead(seen, 4)
    assert predicted[: len(expected)] == expected
    assert ahead(seen, 1) == expected[:1]


@pytest.mark.parametrize("case", NOTHING)
def test_what_is_no_pattern_is_not_guessed(case: str) -> None:
    assert ahead(urls(NOTHING[case]), 4) == []


def test_numbers_of_the_host_stay() -> None:
    assert ahead([f"http://h{n}.example.org/" for n in (9, 8, 7, 6)], 4) == []


def test_width_is_known_when_it_was_seen() -> None:
    assert ahead(urls("/13 /12 /11 /10"), 1) == []
    assert ahead(urls("/05 /13 /12 /11 /10"), 1) == urls("/09")
    assert ahead(urls("/104 /13 /12 /11 /10"), 1) == urls("/9")


def test_a_year_and_a_number_too_large_for_a_month_are_counters() -> None:
    assert ahead(urls("/2003/43 /2003/42 /2003/41 /2003/40"), 2) == urls("/2003/39 /2003/38")


texts = st.text("abcXYZ-_/%=&.", max_size=6)
months = st.integers(1950 * 12, 2050 * 12)


def written(month: int, form: str) -> str:
    return form.format(y=month // 12, m=month % 12 + 1)


@given(
    months,
    st.sampled_from(
        ["{y}/{m:02}", "{y}/{m}", "{y}{m:02}", "{m:02}-{y}", "?y={y}&m={m:02}", "{y}/a-{y}-{m:02}"]
    ),
    st.sampled_from(["/", "/feed-7/", "/x%20y/"]),
    st.integers(1, 9),
)
@example(2001 * 12, "{y}{m:02}", "/", 9)
def test_predicted_months_are_those_that_come(start: int, form: str, before: str, most: int) -> None:
    # A whole year, so that it is seen whether months are padded.
    chain = [f"{ROOT}{before}{written(start - n, form)}.atom" for n in range(13 + most)]
    assert ahead(chain[:13], most) == chain[13:]


@given(
    st.integers(500, 10**6),
    st.integers(-20, 20).filter(bool),
    st.sampled_from(["/{:08}.atom", "/{:08}", "?before={:08}&x=1", "/a{:08}b/9x"]),
)
def test_predicted_counters_are_those_that_come(start: int, step: int, form: str) -> None:
    chain = [ROOT + form.format(start + n * step) for n in range(8)]
    assert ahead(chain[:4], 4) == chain[4:]


anything = st.text(max_size=30) | st.from_regex(
    r"https?://[a-z0-9]{1,5}(/[0-9a-f%]{1,22}){0,3}", fullmatch=True
)


@given(st.lists(anything, min_size=4, max_size=20), st.integers(0, 9))
def test_nothing_raises(seen: list[str], most: int) -> None:
    assert len(ahead(seen, most)) <= most


@given(st.lists(st.tuples(texts, st.integers(0, 3000)), min_size=1, max_size=3), st.lists(st.integers(-3, 3)))
def test_only_numbers_change_and_nothing_is_asked_for_twice(
    parts: list[tuple[str, int]], changes: list[int]
) -> None:
    steps = [*changes, 0, 0, 0][: len(parts)]

    def made(n: int) -> str:
        numbers = [max(0, number + n * step) for (_, number), step in zip(parts, steps, strict=True)]
        return (
            ROOT + "/" + "".join(f"{text}{number}" for (text, _), number in zip(parts, numbers, strict=True))
        )

    seen = [made(n) for n in range(5)]
    predicted = ahead(seen, 5)
    assert len({*seen, *predicted}) == len({*seen}) + len(predicted)
    letters = str.maketrans("", "", "0123456789")
    assert {url.translate(letters) for url in predicted} <= {seen[-1].translate(letters)}
