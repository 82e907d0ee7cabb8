"""`fhcrawl demo`: serves a feed on this machine and crawls it."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from fhcrawl.commands import SUMMARIES
from fhcrawl.core import command
from fhcrawl.core.components import add_components
from fhcrawl.utils import interrupts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

FOLDER = Path("fhcrawl-demo")
PORT = 8642


class Command(command.Command):
    """Serves a feed of several years on loopback and crawls it with the spider `history`."""

    requires_crawler_process = True
    default_settings: ClassVar[dict[str, object]] = {}
    usage = "[--anew]"
    summary = SUMMARIES["demo"]
    description = (
        "Serve an archived feed of several years on this machine, crawl it and print a summary. Run it "
        "again: the publisher has added a month and revised an entry, and only the changes are fetched. All "
        "files are in the folder fhcrawl-demo; --anew deletes it and starts over."
    )
    examples = (
        "fhcrawl demo",
        "fhcrawl demo --anew",
    )
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--anew": {"action": "store_true", "help": "delete the folder and start over"}
    }

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Process Scrapy's options; logging is off unless the user asks for it."""
        super().process_options(args, opts)
        if not opts.loglevel:
            self.settings.set("LOG_LEVEL", "WARNING", priority="cmdline")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Serve and crawl the feed."""
        from fhcrawl import demo
        from fhcrawl.commands.crawl import check

        if opts.anew:
            shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(exist_ok=True)
        run = len(list(FOLDER.glob("run-*.jsonl"))) + 1
        output, store = FOLDER / f"run-{run}.jsonl", (FOLDER / "store.sqlite").resolve()
        self.settings.set("FEEDS", {str(output): {"format": "jsonlines"}}, "cmdline")
        self.settings.set("FHCRAWL_STORE_URL", f"sqlite:///{store}", "cmdline")
        self.settings.set("USER_AGENT", "fhcrawl-demo (+https://localhost/)", "cmdline")
        with _serve(demo.MONTHS_AT_FIRST + run - 1) as url:
            add_components(self.settings)
            check(self.settings, {"feed": url})
            print(f"Run {run}: serving a feed at {url} and crawling its history")
            crawler = self.crawler_process.create_crawler("history")
            self.crawler_process.crawl(crawler, feed=url)
            self.start_crawls()
        if self.signals.number == 1:
            interrupts.tell()
        if self.signals.number:
            return
        if not output.exists():
            self.exitcode = 1
        if not self.exitcode:
            summarise(run, crawler.stats.get_stats(), output, store)


@contextlib.contextmanager
def _serve(months: int) -> Iterator[str]:
    """Serve at the port of earlier runs, since the store identifies the feed by its URL."""
    from fhcrawl.demo import serve

    noted = FOLDER / "port"
    port = int(noted.read_text()) if noted.exists() else PORT
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(serve(port, months))
        except OSError as error:
            if noted.exists():
                raise UsageError(
                    f"Port {port}, which earlier runs used, is not available ({error.strerror}); try again "
                    f"later, or start over with 'fhcrawl demo --anew'",
                    print_help=False,
                ) from error
            url = stack.enter_context(serve(0, months))
        noted.write_text(url.split(":")[2].split("/", maxsplit=1)[0])
        yield url


def summarise(run: int, stats: dict[str, Any], output: Path, store: Path) -> None:
    """Print a summary of the run."""

    def count(name: str) -> int:
        return int(stats.get(f"fhcrawl/{name}", 0))

    verdict = next(v for v in ("complete", "incomplete", "lossy", "unknown") if count(f"feed/{v}"))
    with output.open(encoding="utf-8") as file:
        changes = [json.loads(line)["change"] for line in file]
    fetched = count("document/processed") + count("document/unchanged")
    same, older = count("entry/duplicate"), count("entry/stale")
    skipped, fhcrawl = stats.get("deltafetch/skipped", 0), program()
    print(f"""
Documents  {fetched} fetched{", the rest already processed" if skipped else ""}
Exported   {len(changes)} entries: {changes.count("new")} new, {changes.count("updated")} updated
Repeated   {same + older} entries in other documents: {same} unchanged, {older} in older versions
Verdict    {verdict}
File       {output.resolve()}
Store      {store}

Run it again: the publisher adds a month, and only what is new is fetched.
To see this feed's verdict, and export all of its entries:
    {fhcrawl} feeds -s FHCRAWL_STORE_URL=sqlite:///{FOLDER}/store.sqlite
    {fhcrawl} export -s FHCRAWL_STORE_URL=sqlite:///{FOLDER}/store.sqlite -o history.jsonl
To crawl a feed of your own:
    {fhcrawl} crawl https://example.org/index.atom -o entries.jsonl""")


def program() -> str:
    """Return the shell command `fhcrawl`: its name, or its path beside this program."""
    here, found = Path(sys.argv[0]).with_name("fhcrawl"), shutil.which("fhcrawl")
    if not here.exists() or (found and here.samefile(found)):
        return "fhcrawl"
    below = here.is_relative_to(Path.cwd())
    return shlex.quote(str(here.relative_to(Path.cwd()) if below else here))
