"""The add-on, the commands' base, and what they check."""

from __future__ import annotations

# The commands by name, in the order of the help; `fhcrawl --help` prints them without importing Scrapy.
SUMMARIES = {
    "crawl": "Crawl the complete history of feeds, and report whether anything is missing",
    "feeds": "List the feeds in the store, and what is missing from them",
    "export": "Write all entries to a file",
    "report": "Write an HTML report on the feeds in the store",
    "history": "Show all stored versions of an entry, and where each came from",
    "download": "Download the enclosures of feeds, such as the episodes of podcasts",
    "subscribe": "Subscribe to feeds, so that a crawl without URLs includes them",
    "unsubscribe": "Unsubscribe from feeds; their entries stay in the store",
    "enqueue": "Distribute feeds to the workers of a cluster, by host",
    "copystore": "Copy the store to another database",
    "check": "Check the history of a feed that you publish",
    "settings": "Print the settings, and where each is set",
    "demo": "Serve a feed on this machine and crawl its complete history",
}
# Commands with the name of a Scrapy command: their modules have other names.
MODULES = {"check": "checkhistory", "settings": "showsettings"}
