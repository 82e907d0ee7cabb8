"""What the sitemaps of feeds' sites list, and which of it is kept: `store.sitemaps`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import select

from fhcrawl.logical_feed.listings import Pages, SitemapReport, compare
from fhcrawl.store.database import Repository
from fhcrawl.store.schema import entries, feeds, sitemaps
from fhcrawl.store.statements import is_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection


class Sitemaps(Repository):
    """The pages that look like entries, by sitemap."""

    def read_links(self, feed: str) -> list[str]:
        """Return the links of a feed's live entries."""
        with self._database.lookup() as connection:
            return _links(connection, self._session.find_id(connection, feed))

    def note(self, feed: str, url: str, pages: list[str], is_first: bool) -> None:
        """Store what a sitemap lists.

        :param pages: those that look like entries
        :param is_first: it is the first one of a check: what earlier checks have stored is deleted
        :raises LeaseError: if another crawl has taken the feed over
        """
        with self._database.transaction() as connection:
            number = self._session.find_id(connection, feed)
            self._session.require_leases().check(connection, number)
            if is_first:
                connection.execute(sitemaps.delete().where(sitemaps.c.feed_id == number))
            if pages:
                row = {"feed_id": number, "url": url, "pages": json.dumps(pages, ensure_ascii=False)}
                connection.execute(sitemaps.insert().values(row))

    def settle(self, feed: str, read: str, is_part: bool) -> SitemapReport:
        """Store and return what a check has found.

        :param read: when the last sitemap was read: ISO 8601 in UTC
        :param is_part: not all sitemaps were read
        :raises LeaseError: if another crawl has taken the feed over
        """
        with self._database.transaction() as connection:
            number = self._session.find_id(connection, feed)
            self._session.require_leases().check(connection, number)
            pages = compare_stored(connection, number)
            found = SitemapReport(read, len(pages.listed), len(pages.kept), is_part)
            connection.execute(feeds.update().where(feeds.c.id == number).values(sitemap=found.to_json()))
        return found

    def find_missing(self, feed: str) -> list[str]:
        """Return the URLs of the pages that look like entries of a feed, and that no entry links to."""
        with self._database.snapshot() as connection:
            number = connection.scalar(select(feeds.c.id).where(is_of(feed)))
            return [] if number is None else compare_stored(connection, number).missing


def _links(connection: Connection, feed_id: int) -> list[str]:
    live = select(entries.c.link).where(entries.c.feed_id == feed_id, entries.c.digest != "")
    return [link for link in connection.scalars(live) if link]


def compare_stored(connection: Connection, feed_id: int) -> Pages:
    """Return what the sitemaps of a feed's site list, as far as it looks like entries."""
    listed: dict[str, Iterable[str]] = {
        row.url: json.loads(row.pages)
        for row in connection.execute(select(sitemaps).where(sitemaps.c.feed_id == feed_id))
    }
    return compare(listed, _links(connection, feed_id) if listed else ())
