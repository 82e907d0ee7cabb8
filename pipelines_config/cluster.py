"""Workers on any number of machines: hosts come from a Redis list, the store is on PostgreSQL."""

from __future__ import annotations

import os

from pipelines_config.postgres import *  # noqa: F403

# scrapy-redis's; REDIS_URL of the environment, else this machine's.
REDIS_URL = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
SPIDER_MODULES = ["fhcrawl.cluster"]
# 64: how many hosts a worker has at a time. More would leave none to other workers.
CONCURRENT_REQUESTS = 16
