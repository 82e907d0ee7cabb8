"""The store on PostgreSQL: FHCRAWL_STORE_URL of the environment, else this machine's database `fhcrawl`."""

from __future__ import annotations

from fhcrawl.settings import *  # noqa: F403

# What the URL leaves open is libpq's: PGHOST, PGUSER, ~/.pgpass and so on.
FHCRAWL_STORE_URL = "postgresql:///fhcrawl"
