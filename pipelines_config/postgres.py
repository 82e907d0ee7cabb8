"""The store on PostgreSQL: FHCRAWL_STORE_URL from the environment, else the local database `fhcrawl`."""

from __future__ import annotations

from fhcrawl.settings import *  # noqa: F403

# Everything that the URL does not specify comes from libpq: PGHOST, PGUSER, ~/.pgpass and so on.
FHCRAWL_STORE_URL = "postgresql:///fhcrawl"
