"""Workers on any number of machines: hosts come from a Redis list, and the store is on PostgreSQL."""

from __future__ import annotations

import os

from pipelines_config.postgres import *  # noqa: F403

# Setting of scrapy-redis: REDIS_URL from the environment, else Redis on this machine.
REDIS_URL = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
SPIDER_MODULES = ["fhcrawl.cluster"]
# 64: the number of hosts that a worker takes at a time. With more, other workers might get none.
CONCURRENT_REQUESTS = 16
