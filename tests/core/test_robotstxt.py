import pytest

from fhcrawl.downloadermiddlewares.politeness import LARGEST, MOST_RULES, beginning
from tests.feeds import E, atom
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


def test_rules_count_once_for_each_user_agent_of_their_group() -> None:
    agents = [b"User-agent: %d\n" % number for number in range(1000)]
    rules = [b"Disallow: /%d\n" % number for number in range(3000)]
    assert beginning(b"".join(agents + rules)).count(b"Disallow") == MOST_RULES // len(agents)
    groups = b"".join(agent + rule for agent, rule in zip(agents, rules, strict=False))
    assert beginning(groups) == groups
