"""The deployments of fhcrawl: one settings module each, selected by name in scrapy.cfg."""
