"""How busy a crawl of many feeds keeps the hosts that they are on: beside the slowest host alone.

Run from the repository's root: python -m benchmarks.hosts

A crawl can be no faster than the host that takes longest, to which it has one request at a time, nor than
one core. Each total is compared with the larger of the two; what others kept a crawl from the CPUs does not
count, as far as the system tells.
"""

import argparse
from statistics import median

from benchmarks.measuring import (
    WIDTH,
    Cost,
    Round,
    arguments,
    conditions,
    expect_lines,
    fhcrawl_list,
    measure,
    project,
    reported,
    table,
)
from benchmarks.server import Site, serving_feeds

AIM = 1.2


def main() -> None:
    options = arguments(
        __doc__,
        feeds=(1000, "how many"),
        hosts=(200, "that they are on"),
        busy=(100, "of them on one host, then"),
        documents=(4, "in each feed"),
        entries=(10, "in each document"),
        latency=(0.05, "seconds before an answer"),
        rounds=(3, "how often each is run"),
    ).parse_args()
    print(
        f"{options.feeds} feeds of {options.documents} documents with {options.entries} entries "
        f"on {options.hosts} hosts, which answer after {options.latency} s; {conditions(options.rounds)}",
        flush=True,
    )
    even = -(-options.feeds // options.hosts)
    crawls = {
        "a": f"one host, {even} feeds",
        "b": "all, evenly spread",
        "c": f"one host, {options.busy} feeds",
        "d": "all, and one host has those",
    }
    rounds: list[Round] = []
    for number in range(1, options.rounds + 1):
        rounds.append({name: _cost(name, options) for name in crawls})
        print(reported(number, rounds[-1]), flush=True)
    print(table(crawls, rounds))
    print(f"{'ratio':{WIDTH}}{'wall':>8}   of")
    for one, host in (("b", "a"), ("d", "c")):
        print(_ratio(one, host, rounds))


def _cost(name: str, options: argparse.Namespace) -> Cost:
    busy = options.busy if name in "cd" else 0
    load = {"feeds": options.feeds, "hosts": options.hosts, "busy": busy}
    site = Site(options.documents, options.entries, delay=options.latency, **load)
    with serving_feeds(site) as urls, project() as folder:
        first = [url for feed, url in enumerate(urls) if site.host_of(feed) == 0]
        given = first if name in "ac" else urls
        cost = measure(fhcrawl_list(given, folder), folder)
        expect_lines(name, folder, len(given) * options.documents * options.entries)
    return cost


def _ratio(one: str, host: str, rounds: list[Round]) -> str:
    bounds = [(each[one].undisturbed, each[host].undisturbed, each[one].cpu) for each in rounds]
    ratio = median(wall / max(alone, cpu) for wall, alone, cpu in bounds)
    is_host = median(alone - cpu for _wall, alone, cpu in bounds) > 0
    bound = "the slowest host" if is_host else "its CPU time"
    return f"{one + '/bound':{WIDTH}}{ratio:8.3f}   {bound}, at most {AIM}"


if __name__ == "__main__":
    main()
