"""The deployments of fhcrawl: one settings module each, chosen by name in scrapy.cfg."""
