"""A publisher of an archived feed, on loopback, to be crawled for real."""
