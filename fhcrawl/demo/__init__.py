"""A publisher of an archived feed on loopback, for `scrapy demo`."""
