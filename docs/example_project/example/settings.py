"""The settings of the project."""

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
# The field that it adds to entries is exported after fhcrawl's.
FHCRAWL_ADDED_FIELDS = ["words"]
