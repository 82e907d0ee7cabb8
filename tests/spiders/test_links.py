"""Links of which a walk can follow only one, or none: what is not followed is a reason, in each run."""

import pytest

from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process
# The subscription document, and the target of the link that is not followed.
CONTRADICTORY = {
    "two links": ("prev:/a1 prev:/a2", "/a2"),
    "two links of RSS": ("rss prev:/a1 prev:/a2", "/a2"),
    "a slash more": ("prev:/a1 prev:/a1/", "/a1/"),
    "header": ('prev:/a1 Link=</a2>;rel="prev-archive"', "/a2"),
    "two headers": ("Link=</a1>;rel=prev-archive,</a2>;rel=prev-archive", "/a2"),
    "of a draft": ("prev:/a1 draft:/a2", "/a2"),
    "next": ("next:/a1 Link=</a2>;rel=next", "/a2"),
}
EMPTY = {
    "empty": "prev:",
    "empty in RSS": "rss prev:",
    "beside another": "prev:/a1 prev:",
    "of a draft": "incremental draft:",
    "header": 'Link=;rel="prev-archive"',
    "next": "next:",
    "JSON": 'raw {"version":"https://jsonfeed.org/version/1.1","items":[{"id":"n"}],"next_url":{"href":"/2"}}',
}
PLAIN = {
    "same URL": "prev:/a1 prev:a1#top Link=</%61%31>;rel=prev-archive",
    "other relations": "prev:/a1 alternate:/x alternate:/y self: Link=</z>;rel=self",
    "another resource's": "prev:/a1 Link=</a2>;rel=prev-archive;anchor=/other",
    "fh:complete": "complete prev:/a1 prev:/a2",
}


@pytest.mark.parametrize(("stated", "other"), CONTRADICTORY.values(), ids=CONTRADICTORY)
def test_link_that_is_not_followed_is_a_reason_in_each_run(play: Play, stated: str, other: str) -> None:
    verdict = (
        "incomplete contradictory-links paged" if "next:" in stated else "incomplete contradictory-links"
    )
    claim = f"verdict {verdict}; detail /a1, which is followed, and to {other}, which is not"
    play(f"/a1 1; /f n {stated}; crawl /f; exports n 1; {claim}; crawl; exports; {claim}")


@pytest.mark.parametrize("stated", EMPTY.values(), ids=EMPTY)
def test_link_that_leads_nowhere_is_a_reason_in_each_run(play: Play, stated: str) -> None:
    verdict = "incomplete empty-link paged" if "next" in stated else "incomplete empty-link"
    claim = f"verdict {verdict}; detail has an empty"
    document = stated if stated.startswith("raw") else f"n {stated}"
    play(f"/a1 empty; /f {document}; crawl /f; exports n; {claim}; crawl; {claim}")


@pytest.mark.parametrize("stated", PLAIN.values(), ids=PLAIN)
def test_links_that_agree_are_no_reason(play: Play, stated: str) -> None:
    play(f"/a1 1; /f n {stated}; crawl /f; verdict complete; crawl; verdict complete")


OTHERS = {
    "a contradiction of an archive is a reason until it heals": """
        /index 3 prev:/a2; /a2 2 prev:/a1 prev:/b1; /a1 1; crawl /index; exports 1 2 3
        verdict incomplete contradictory-links; logs which is not
        /a2 2 prev:/b1; /b1 0 prev:/a1; crawl; exports 0; verdict complete""",
    "contradictory ways to the newest document are reasons": """
        /given 1 archive current:/one current:/two; /one 2 prev:/given; crawl /given; exports 1 2
        verdict incomplete contradictory-links; detail /two
        crawl; verdict incomplete contradictory-links; detail /two""",
    # Nor do they later: behind archives that are skipped, or behind a document that has not changed.
    "a link that is no URL loses only what is behind it": """
        /a1 0 prev:BAD; /index 1 prev:/a1; crawl /index; exports 0 1; lacks nowhere; gap refused-url BAD
        crawl; verdict incomplete refused-url; gap refused-url BAD
        /index 2 prev:/a1; crawl; exports 2; verdict incomplete refused-url; gap refused-url BAD
        /index 3 prev:BAD; crawl; exports 3; verdict incomplete refused-url; gap refused-url BAD
        /index 4 prev:BAD; crawl; exports 4; verdict incomplete refused-url; gap refused-url BAD""",
}


@scripts(OTHERS, BAD=("http://127.0.0.1:99999/x", "http://127.0.0.1:abc/", "http://[::1", "urn:x"))
def test_links_that_are_not_followed(play: Play, script: str) -> None:
    play(script)
