"""`python -m tests.chaos --seeds 300`: each seed that fails is named, and its folder is kept."""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tests import postgresql
from tests.chaos.scenario import live
from tests.databases import SERVER


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many (100)")
    parser.add_argument("--first", type=int, default=0, help="the first one (0)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--keep", type=Path, help="where the folders are (a new one for temporary files)")
    parser.add_argument("--postgresql", action="store_true", help="keep the stores on PostgreSQL")
    given = parser.parse_args()
    with contextlib.ExitStack() as server:
        if given.postgresql:
            os.environ[SERVER] = server.enter_context(postgresql.serving("fsync=off", "max_connections=200"))
        return live_all(given)


def live_all(given: argparse.Namespace) -> int:
    kept = given.keep or Path(tempfile.mkdtemp(prefix="fhcrawl-chaos-"))
    began, failed = time.monotonic(), 0
    with ProcessPoolExecutor(given.jobs) as pool:
        seeds = range(given.first, given.first + given.seeds)
        lives = {pool.submit(live, seed, kept / f"seed-{seed}"): seed for seed in seeds}
        for done in as_completed(lives):
            seed, broken = lives[done], done.result()
            if broken is None:
                shutil.rmtree(kept / f"seed-{seed}")
                continue
            failed += 1
            print(f"python -m tests.chaos --seeds 1 --first {seed}  # {kept / f'seed-{seed}'}\n  {broken}")
            sys.stdout.flush()
    print(f"{given.seeds} seeds, {failed} failed, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
