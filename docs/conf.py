"""Sphinx's configuration: `sphinx-build -W -n docs build/docs`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

from fhcrawl import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "fhcrawl"
author = "the authors of fhcrawl"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["examples", "example_project"]
myst_heading_anchors = 4
# `name` in docstrings.
default_role = "code"

html_theme = "furo"
html_title = f"fhcrawl {release}"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_class_signature = "separated"
# Docstrings name classes of Python, Scrapy and private modules, of which no inventory is downloaded.
nitpick_ignore_regex = [
    ("py:.*", r"(?!fhcrawl\.(items|spiders|store\.Store|documents|reasons|exceptions)).*")
]


def _add_toctree(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the pages that the list of an index names below it in the sidebar."""
    if page.endswith("index"):
        pages = "\n".join(re.findall(r"^- .*?\]\(([a-z/-]+)\.md\)", source[0], re.MULTILINE))
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def setup(app: Sphinx) -> None:
    """Add to Sphinx what pages cannot say in Markdown that other programs show."""
    app.connect("source-read", _add_toctree)
