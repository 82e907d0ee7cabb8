"""A crawl that fetches archives ahead finds what one without that finds."""

from __future__ import annotations

import hashlib
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.downloadermiddlewares.test_prefetch import OFF, prefetched, serve_chain
from tests.feeds import E, atom
from tests.server import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.projects import NewProject, Project, Run
    from tests.server import FeedServer


def name_of(style: str, number: int) -> str:
    """Of an archive, the higher the newer."""
    if style == "months":
        return f"{2000 + number // 12}/{number % 12 + 1:02}"
    return {
        "counter": f"{number}",
        "query": f"x?page={500 - number}",
        "none": hashlib.sha256(str(number).encode()).hexdigest()[:12],
    }[style]


FAULTS = {
    "missing": Answer(status=404),
    "gone": Answer(status=410),
    "failing": Answer(status=500),
    "empty": Answer(),
    "HTML": Answer(b"<!DOCTYPE html><html><body>Hello</body></html>"),
    "redirect loop": Answer(status=302, headers={"Location": "?"}),
}


def serve_any_chain(server: FeedServer, name: str, random: Random) -> str:
    """A chain that may leave out archives, change its pattern, be redirected, end in a fault or in a loop."""
    style = random.choice(["months", "counter", "query", "none"])
    number = random.randint(15, 60)
    paths: list[str] = []
    for _ in range(random.randint(3, 18)):
        paths.append(f"/{name}/{name_of(style, number)}")
        number -= random.choices([1, 2, 5], [20, 2, 1])[0]
        if random.random() < 0.04:
            style = random.choice(["months", "counter"])
        if number < 1:
            break
    feed = serve_chain(server, paths, f"/{name}/index")
    for path in paths:
        if random.random() < 0.1:
            moved = path.replace(f"/{name}/", f"/{name}/moved/")
            server.answers[moved] = server.answers[path]
            server.serve(path, "", status=random.choice([301, 302, 307]), headers={"Location": moved})
    break_chain(
        server, random.choice([*FAULTS, "cut", "loop", "end", "end", "end"]), paths, random.choice(paths)
    )
    return feed


def break_chain(server: FeedServer, ending: str, paths: list[str], path: str) -> None:
    """Let a chain end at a document, or lead back to it from its end."""
    if ending in FAULTS:
        server.answers[path] = FAULTS[ending]
    elif ending == "cut":
        server.answers[path].cut = len(server.answers[path].body) // 2
    elif ending == "loop":
        server.serve(paths[-1], atom([E("loop")], prev=path))


def whole(project: Project, run: Run) -> tuple[Any, ...]:
    """All that a user can see."""
    feeds = [
        {
            **feed,
            "crawled": None,
            "checked": None,
            "due": None,
            "reasons": [{**reason, "since": None} for reason in feed["reasons"]],
        }
        for feed in project.feeds()
    ]
    stats = {name: value for name, value in run.stats.items() if "prefetch" not in name}
    items = sorted(run.items, key=lambda item: (item["feed"], item["id"]))
    return items, feeds, stats, project.states(), sorted(run.warnings()), run.exit_code


@pytest.mark.parametrize("seed", range(2))
def test_results_are_the_same_as_without(
    server: FeedServer, tmp_path: Path, new_project: NewProject, seed: int
) -> None:
    random = Random(seed)  # noqa: S311
    feeds = [serve_any_chain(server, f"feed-{letter}", random) for letter in "abcdefghijklmnopqrst"]
    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": 100,
        "CONCURRENT_REQUESTS": 200,
        "RETRY_TIMES": 1,
        "FHCRAWL_MAX_ARCHIVES": 16,
    }
    runs, seen = [], []
    for folder, more in (("with", {}), ("without", OFF)):
        (tmp_path / folder).mkdir()
        with new_project(tmp_path / folder) as project:
            run = project.crawl(*feeds, settings={**settings, **more})
            runs.append(run)
            seen.append((whole(project, run), Counter(server.asked())))
    (found, asked), (expected, needed) = seen
    assert found == expected
    hits, misses = prefetched(runs[0])
    assert hits > 10
    # What is sent and nobody asks for is counted, and there is no more than that.
    assert needed - asked == Counter()
    assert (asked - needed).total() == misses
    by_feed = Counter(path.split("/")[1] for path in (asked - needed).elements())
    assert max(by_feed.values()) <= 9
