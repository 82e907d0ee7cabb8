from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from scrapy.robotstxt import ProtegoRobotParser

from fhcrawl.core import robotstxt
from fhcrawl.core.robotstxt import LARGEST, MOST_AGENTS, MOST_RULES, BoundedRobotParser, beginning
from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

RULES = b"User-agent: *\nDisallow: /first\n"


def padded(to: int) -> bytes:
    """Rules, and comments up to an octet."""
    line = b"# " + b"x" * 1000 + b"\n"
    body = RULES + line * ((to - len(RULES)) // len(line))
    return body + b"#" * (to - len(body) - 1) + b"\n"


def test_rules_beyond_the_limit_do_not_count_and_half_a_rule_does_not_either(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("2")], prev="/behind"))
    server.serve("/behind", atom([E("1")], prev="/first"))
    server.serve("/first", atom([E("0")]))
    rules = padded(LARGEST - len("Disallow: /")) + b"Disallow: /nothing\nDisallow: /behind\n"
    server.serve("/robots.txt", rules, content_type="text/plain")
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"2", "1"}
    assert project.verdict() == ("incomplete", ["robots-txt"])


@pytest.mark.parametrize("size", [LARGEST - 1, LARGEST])
def test_rules_within_the_limit_count_without_a_line_end(size: int) -> None:
    body = padded(size - len("Disallow: /")) + b"Disallow: /"
    assert beginning(body) == body


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
def test_rules_end_as_lines_do(end: bytes) -> None:
    assert beginning(RULES.replace(b"\n", end) + b"#" * LARGEST) == RULES.replace(b"\n", end)


def test_line_without_an_end_is_no_rule() -> None:
    assert beginning(b"Disallow: /" + b"x" * LARGEST) == b""


def group(agents: int, rules: int, end: str = "\n", agent: str = "User-agent: {}") -> str:
    """A group with this many user agents and rules."""
    names = (agent.format(f"b{number}") for number in range(agents))
    return "".join(f"{line}{end}" for line in (*names, *("Disallow: /x" for _ in range(rules))))


def kept(text: str) -> float:
    """Return how much of a robots.txt is read."""
    return len(beginning(text.encode())) / len(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(group(900, 10_000), id="as usual"),
        pytest.param(group(900, 60, agent="User-agent: *{}"), id="with names that count twice"),
        pytest.param(group(900, 60).replace("/x", "/x$"), id="with rules that count twice"),
        pytest.param(group(900, 10_000, "\x0b"), id="other line ends"),
        pytest.param(group(900, 10_000, agent="User agent {}"), id="without colons"),
        pytest.param(group(900, 10_000, agent="useragent\t: {}"), id="in another spelling"),
        pytest.param(group(900, 10_000, agent="User-agent: {}\nSitemap: /"), id="with other lines between"),
        pytest.param(group(900, 10_000, agent="User-agent: {}\nDisallow #:"), id="with rules in comments"),
        pytest.param(group(900, 0) + "Disallow: /x\nuser -agent: y\n" * 120, id="with what ends no group"),
    ],
)
def test_rules_count_once_for_each_user_agent_of_their_group(text: str) -> None:
    # 500 KiB could be 350 million rules.
    assert 0 < kept(text) < 1


def test_group_has_a_limited_number_of_user_agents() -> None:
    assert kept(group(MOST_AGENTS, 1)) == 1
    assert kept(group(MOST_AGENTS + 1, 1)) < 1


def test_groups_are_counted_one_by_one() -> None:
    agents = MOST_AGENTS // 10
    text = group(agents, MOST_RULES // agents // 10) * 10
    assert kept(text) == 1
    assert kept(text + group(agents, 1)) < 1


@pytest.mark.parametrize(
    "bulk",
    [
        pytest.param(group(1, 200), id="many rules"),
        pytest.param(group(100, 2), id="rules for many user agents"),
    ],
)
def test_rules_of_many_hosts_are_obeyed_and_few_are_kept_parsed(
    monkeypatch: pytest.MonkeyPatch, bulk: str
) -> None:
    monkeypatch.setattr(robotstxt, "MOST_PARSED", 1000)
    own = "User-agent: fhcrawl\nDisallow: /{0}\nCrawl-delay: {0}\n"
    parsers = [BoundedRobotParser((bulk + own.format(host)).encode()) for host in range(10)]
    for host, parser in [*enumerate(parsers)] * 2:
        assert not parser.allowed(f"http://h/{host}", "fhcrawl")
        assert parser.allowed("http://h/else", "fhcrawl")
        assert parser.crawl_delay("fhcrawl") == host
    gc.collect()
    assert sum(isinstance(one, ProtegoRobotParser) for one in gc.get_objects()) <= 5
