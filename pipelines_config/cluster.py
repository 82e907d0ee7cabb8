"""Any number of processes on any number of machines: the scheduler on Redis, the store on PostgreSQL."""

from __future__ import annotations

import os

from pipelines_config.postgres import *  # noqa: F403

# scrapy-redis's; REDIS_URL of the environment, else this machine's.
REDIS_URL = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
# Names what is in Redis: processes of one name crawl together.
FHCRAWL_JOB = os.environ.get("FHCRAWL_JOB", "history")

SCHEDULER = "fhcrawl.cluster.scheduler.Scheduler"
SCHEDULER_QUEUE_CLASS = "fhcrawl.cluster.queue.HostQueue"
SCHEDULER_SERIALIZER = "fhcrawl.cluster.serializer"
DOWNLOADER = "fhcrawl.cluster.downloader.Downloader"
