"""Sphinx's configuration: `sphinx-build -W -n docs build/docs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parent.parent)]

from fhcrawl import __version__  # noqa: E402

project = "fhcrawl"
author = "the authors of fhcrawl"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.doctest", "docs_generated", "docs_links"]
exclude_patterns = ["_ext", "examples", "example_project"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# `name` in docstrings.
default_role = "code"

html_theme = "furo"
html_title = f"fhcrawl {release}"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
# Docstrings name classes of Python, Scrapy and private modules, of which no inventory is downloaded.
nitpick_ignore_regex = [
    ("py:.*", r"(?!fhcrawl\.(items|spiders|store\.Store|documents|reasons|exceptions)).*")
]

doctest_global_setup = "import fhcrawl"
