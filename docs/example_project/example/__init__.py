"""A Scrapy project with fhcrawl's spider, a subclass of it, and another spider."""
