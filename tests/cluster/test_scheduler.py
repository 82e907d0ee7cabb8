from __future__ import annotations

from scrapy.utils.test import get_crawler

from fhcrawl.cluster.scheduler import Scheduler
from pipelines_config import cluster


def test_redis_that_has_died_since_the_worker_joined_is_not_the_schedulers_to_find() -> None:
    """Scrapy's engine cannot end a spider that has no scheduler yet."""
    names = [name for name in vars(cluster) if name.startswith("SCHEDULER")]
    settings = {name: getattr(cluster, name) for name in names}
    crawler = get_crawler(settings_dict={**settings, "REDIS_URL": "redis://127.0.0.1:1/0"})
    crawler.stats.set_value("joined", 1)
    assert Scheduler.from_crawler(crawler).stats.get_value("joined") == 1
