"""Looks for documents that fhcrawl and feedparser read differently for a reason that has no class.

Run from the repository's root: python -m tests.documents.differential --documents 20000

It prints the smallest document that it finds of each such difference, and how many there are of each class.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import islice

from tests.documents.differential.hunting import hunt


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one (default: 0)")
    parser.add_argument("--most", type=int, default=20, help="differences to report (default: 20)")
    options = parser.parse_args()
    found: Counter[str | None] = Counter()
    seeds = range(options.first, options.first + options.documents)
    reports = list(islice(hunt(seeds, found), options.most))
    print("\n\n".join(reports))
    print("\n".join(f"{number:7} {name or 'of no class'}" for name, number in found.most_common()))
    raise SystemExit(bool(reports))


if __name__ == "__main__":
    main()
