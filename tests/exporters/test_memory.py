"""How much memory an export takes does not depend on how many entries there are."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import ROOT

SCRIPT = """
import itertools, sys
from pathlib import Path
from fhcrawl.exporters import feeds, rows
from fhcrawl.exporters.documents import XML_FORMATS, Head
from fhcrawl.exporters.rows import ParquetItemExporter
from fhcrawl.items import FIELDS
from fhcrawl.store.entries import StoredVersion
from tests.projects import peak_memory

kind, path, number = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
rows.CHARACTERS_AT_ONCE = 1_000_000


def fields(n):
    lists = {name: [] for name in ("authors", "categories", "enclosures")}
    said = {"id": str(n), "feed": "http://x/", "summary": f"{n} " + "x" * 20_000}
    return {**dict.fromkeys(FIELDS), **lists, **said}


def peak():
    return peak_memory() // 1024


def write(many):
    form = XML_FORMATS["atom"]
    if kind == "parquet":
        with path.open("wb") as file:
            exporter = ParquetItemExporter(file, fields_to_export=FIELDS)
            for n in range(many):
                exporter.export_item(fields(n))
            exporter.finish_exporting()
    elif kind == "atom":
        with path.open("wb") as file:
            elements = (form.entry_element(fields(n), None) for n in range(many))
            form.write(file, Head("http://x/", "T", "2003-12-13T18:30:02Z"), elements)
    else:
        head = Head("http://x/", "T", "2003-12-13T18:30:02Z")
        target = feeds.ArchiveSet(path, "http://x/", form, head, 20, feeds.Selection())
        versions = lambda: (StoredVersion(fields(n), None, "", False) for n in range(many))
        target.write(versions)


write(100)
before = peak()
write(number)
print(peak() - before)
"""


@pytest.mark.slow("writes 60 MB in a process")
@pytest.mark.parametrize("kind", ["parquet", "atom", "archives"])
def test_memory_does_not_grow_with_the_entries(tmp_path: Path, kind: str) -> None:
    """60 MB of text, and at most 15 MB more than for 2 MB of it."""
    command = [sys.executable, "-c", SCRIPT, kind, str(tmp_path / "out"), "3000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=200)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 15
