"""Trac: its ticket queries, which are paged, and its timeline, which begins at any day."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence

from tests.platforms.publisher import INSTALLED, Feed, Post, Publisher, run

PROGRAMS = INSTALLED / "trac" / "bin"
TICKETS = """
import json, sys
from datetime import datetime, timezone
from trac.env import open_environment
from trac.ticket.model import Ticket

env = open_environment("env")
changes = json.load(sys.stdin)

def find(summary):
    rows = env.db_query("SELECT id FROM ticket WHERE summary = %s", (summary,))
    return Ticket(env, rows[0][0]) if rows else Ticket(env)

for summary, time, text in changes["posts"]:
    ticket = find(summary)
    ticket["description"] = text
    if ticket.exists:
        ticket.save_changes("author", "", datetime.now(timezone.utc))
    else:
        ticket.populate({"summary": summary, "reporter": "author", "status": "new"})
        ticket.insert(datetime.fromtimestamp(time, timezone.utc))
for summary in changes["removed"]:
    find(summary).delete()
"""


class Trac(Publisher):
    name = "Trac"
    feeds = (
        Feed("ticket query", "/query?max=10&order=time&desc=1&format=rss"),
        # With the limits of the link on its page.
        Feed("timeline", "/timeline?ticket=on&max=50&daysback=90&format=rss"),
    )

    @property
    def version(self) -> str:
        return self._run("trac-admin", "--version").split()[-1]

    def _run(self, program: str, *arguments: str, text: str | None = None) -> str:
        # It warns of setuptools.
        return run(
            PROGRAMS / program, *arguments, cwd=self.folder, text=text, PYTHONWARNINGS="ignore", TZ="UTC"
        )

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        self._run("trac-admin", "env", "initenv", "A project", "sqlite:db/trac.db")
        (self.folder / "tickets.py").write_text(TICKETS, encoding="utf-8")
        options = ("--single-env", "--hostname", "127.0.0.1", "--port", str(self.port))
        with self.process(str(PROGRAMS / "tracd"), *options, "env", TZ="UTC"):
            yield

    def _change(self, posts: Sequence[Post] = (), removed: Sequence[str] = ()) -> None:
        rows = [(post.title, post.published.timestamp(), post.text) for post in posts]
        self._run("python", "tickets.py", text=json.dumps({"posts": rows, "removed": removed}))

    def write(self, posts: Sequence[Post]) -> None:
        self._change(posts)

    def remove(self, number: int) -> None:
        self._change(removed=[f"Post {number}"])
