"""The Python scripts of a page crawl a server on this machine, and its test passes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import shell
from tests.docs.pages import DOCS, source
from tests.projects import ROOT
from tests.server import FeedServer

pytestmark = [
    pytest.mark.sqlite_only("the stores that the page names"),
    pytest.mark.slow("starts the scripts of the page"),
]
PYTHON = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
BLOCKS = PYTHON.findall(source("howto/script"))
PRINTED = ["36\n{feed} complete []\n", "1\n", "1 passed"]


@pytest.mark.parametrize(("block", "printed"), list(zip(BLOCKS, PRINTED, strict=True)))
def test_script_prints_its_result(block: str, printed: str, server: FeedServer, tmp_path: Path) -> None:
    shell.serve(server)
    (tmp_path / "script.py").write_text(block.replace(shell.SITE, server.root), "utf-8")
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if "def test_" in block else []
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "FHCRAWL_"))}
    done = subprocess.run(
        [sys.executable, *command, "script.py"],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": f"{ROOT}:{DOCS / 'example_project'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert printed.format(feed=server.url("/index.atom")) in done.stdout
