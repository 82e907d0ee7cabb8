"""A user's spider with a bug: it raises at an entry."""

import os
from collections.abc import Iterator
from typing import Any

from scrapy import Request
from scrapy.http import Response

from fhcrawl.pipelines import EntryVersion
from fhcrawl.spiders.history import HistorySpider
from tests.pipelines.faulty import CHOSEN


class BreakingSpider(HistorySpider):
    name = "breaking"

    def parse(self, response: Response, *args: Any, **kwargs: Any) -> Iterator[Request | EntryVersion]:
        for output in super().parse(response, *args, **kwargs):
            if isinstance(output, EntryVersion) and output.id == os.environ.get(CHOSEN):
                raise ValueError("a bug in a spider")
            yield output
