"""`python -m tests.platforms [NAME …]`: the census of publishing programs, as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.platforms import census, publishers
from tests.platforms.publisher import NotInstalledError

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "reach.md"
BEGIN, END = "<!-- census -->\n", "<!-- end of the census -->\n"


def main() -> int:
    """Take the census; return 1 if something does not hold that should."""
    parser = argparse.ArgumentParser(prog="python -m tests.platforms", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    parser.add_argument("--posts", type=int, default=census.POSTS)
    parser.add_argument("--no-changes", action="store_true", help="only the first two crawls")
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    parser.add_argument("--reasons", action="store_true", help="print the reasons of the verdicts too")
    args = parser.parse_args()
    wanted = {name.lower() for name in args.names}
    rows, faults = [], []
    for kind in publishers.every():
        if wanted and kind.name.lower() not in wanted:
            continue
        try:
            for row in census.take(kind, args.posts, () if args.no_changes else census.LATER):
                rows.append(row)
                print(census.table([row]).splitlines()[-1], flush=True)
                faults += [f"{row.label}: {fault}" for fault in row.faults()]
                if args.reasons:
                    print(*(f"    {reason}" for reason in row.reasons), sep="\n", flush=True)
        except NotInstalledError as error:
            faults.append(f"{kind.name}: {error}")
    print(f"\n{census.table(rows)}")
    print(*faults, sep="\n", file=sys.stderr)
    if args.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(
            f"{before}{BEGIN}\n{census.table(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
