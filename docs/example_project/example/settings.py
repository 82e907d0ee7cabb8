"""The settings of the project."""

from fhcrawl.items import FIELDS

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]
USER_AGENT = "example (+https://example.org/crawler)"
ROBOTSTXT_OBEY = True

# The spider `history`, and fhcrawl's settings for it and its subclasses.
ADDONS = {"fhcrawl.Addon": 500}
# `scrapy feeds`, `scrapy export` and the others; and `scrapy crawl` checks arguments before it begins.
COMMANDS_MODULE = "fhcrawl.commands"

# Above 100, a pipeline gets only entries that are new or updated.
ITEM_PIPELINES = {"example.pipelines.WordsPipeline": 300}
# What is exported of an entry: fhcrawl's fields, and the one that the pipeline adds.
FEED_EXPORT_FIELDS = [*FIELDS, "words"]
