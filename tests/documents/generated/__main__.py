"""Reads generated documents, and prints the smallest document that it finds of each wrong reading.

Run from the repository's root: python -m tests.documents.generated --documents 20000
"""

from __future__ import annotations

import argparse
from itertools import islice

from tests.documents.generated.comparing import hunt

MOST_REPORTS = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one (default: 0)")
    options = parser.parse_args()
    reports = list(islice(hunt(range(options.first, options.first + options.documents)), MOST_REPORTS))
    print("\n\n".join(reports))
    raise SystemExit(bool(reports))


if __name__ == "__main__":
    main()
