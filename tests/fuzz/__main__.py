"""Fuzzing of every reader with atheris, one after the other.

Run from the repository's root: pip install -e '.[test-all,fuzz]'; python -m tests.fuzz --minutes 10

An input that raises anything but fhcrawl's own errors, or takes more than ten seconds or 1 GB, is kept in
fuzz-findings/. When its cause is mended, it belongs in the reader's folder in tests/data/fuzz/, from where
the tests replay it.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.readers import READERS, seeds, tokens

FOUND = Path("fuzz-findings")
# libFuzzer's; times are seconds.
LIMITS = ["-timeout=10", "-rss_limit_mb=1024", "-max_len=65536", "-print_final_stats=1", "-verbosity=0"]


def main() -> None:
    options = _options()
    names = [options.reader] if options.reader else list(READERS)
    failed = [name for name in names if not _run(name, options.minutes * 60 / len(names))]
    raise SystemExit(f"Findings in {FOUND}/: {', '.join(failed)}" if failed else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10, help="for all readers together (default: 10)")
    parser.add_argument("--reader", choices=READERS, help="only this one")
    return parser.parse_args()


def _run(name: str, seconds: float) -> bool:
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fhcrawl-fuzz-") as scratch:
        corpus, dictionary = Path(scratch, "corpus"), Path(scratch, "dictionary")
        corpus.mkdir()
        for number, seed in enumerate(seeds(name)):
            (corpus / str(number)).write_bytes(seed)
        dictionary.write_text("".join(f'"{_escaped(token)}"\n' for token in tokens()))
        limits = [
            *LIMITS,
            f"-max_total_time={seconds:.0f}",
            f"-dict={dictionary}",
            f"-artifact_prefix={folder}/",
        ]
        print(f"== {name}, {seconds:.0f} s", flush=True)
        command = [sys.executable, "-m", "tests.fuzz.one", name, *limits, str(corpus)]
        return subprocess.run(command, check=False).returncode == 0


def _escaped(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


if __name__ == "__main__":
    main()
