"""For scrapyd-deploy, which builds eggs with it: all is in pyproject.toml."""

from setuptools import setup

setup()
