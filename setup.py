"""Package description: README.md, with links that also work outside of the repository, such as on PyPI.

Scrapyd-deploy builds eggs with this file. Everything else is in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

REPOSITORY = "fhcrawl/fhcrawl"
PICTURES = f"https://raw.githubusercontent.com/{REPOSITORY}/main/"
FILES = f"https://github.com/{REPOSITORY}/blob/main/"


def description(readme: str) -> str:
    """Return the Markdown of README.md with absolute links."""
    shown = re.sub(r"(!\[[^]]*\]\()(?!https:)", rf"\g<1>{PICTURES}", readme)
    return re.sub(r"(\]\()(?!https:)", rf"\g<1>{FILES}", shown)


setup(
    long_description=description(Path(__file__).with_name("README.md").read_text("utf-8")),
    long_description_content_type="text/markdown",
)
