"""Walks: which documents are read, in which order, and what is claimed then; never a false `complete`.

tests/spiders/walks.py explains the lines.
"""

import pytest

from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process

# Those whose result depends on SQL most.
IN_SQL = {
    "a subscription document that becomes an archive is read again": """
        /12 d1 prev:/11; /11 n1 current:/12 archive; crawl /12; exports d1 n1
        /12 d1 d2 d3 prev:/11 current:/01 archive; /01 j1 prev:/12; crawl /12; exports d2 d3 j1
        verdict complete""",
    "archives that are cut anew during a walk leave the feed incomplete until the next run": """
        /index 3 prev:/a2; /a2 2 prev:/a1 archive; /a1 0 1 archive; /b2 2 prev:/b1 archive; /b1 0 archive
        on /a2 /index 1=revised@2004 3 prev:/b2 updated:2004; on /a2 /a1 301 /b1; crawl /index
        exports 3 2 0; verdict incomplete moved; logs /a1 leads to another document; crawl /index
        exports 1; verdict complete""",
    "an archive that was redirected for a moment is read by the next run, and no other one": """
        /index 3 prev:/a1; /a1 301 /b1; /b1 1 archive; crawl /index; crawl /index
        /index 3 prev:/a2; /a2 302 /b1; crawl /index; verdict incomplete moved
        /a2 2 prev:/a1 archive; crawl /index; exports 2; requests /index /a2 /a1 /b1; verdict complete""",
    "a page that becomes an archive is read again": """
        /index 9 next:/p2; /p2 2; crawl /index
        /index 9 prev:/p2; /p2 8 7 prev:/p1 archive; /p1 1; crawl /index; exports 8 7 1; verdict complete""",
    "a feed that was complete for a while has its archives back": """
        /index 2 3 prev:/a1; /a1 1; crawl /index
        /index 2 complete; crawl /index; exports 1:deleted 3:deleted
        /index 2 3 prev:/a1; crawl /index; exports 1 3; has 1 2 3; verdict complete""",
}
OTHERS = {
    "an archive behind one that could not be had may have grown": """
        /index 5 4 prev:/1; /1 3 2 1; crawl /index
        /index 14 13 prev:/2; /1 7 6 5 4 3 2 1; crawl /index; verdict incomplete http-404
        /2 10 9 8 prev:/1; crawl /index; exports 10 9 8 7 6; requests /index /2 /1; verdict complete""",
    "so may one that is left for a later run": """
        /index 5 4 prev:/1; /1 3 2 1; crawl /index
        /index 14 13 prev:/3; /3 12 11 prev:/2; /2 10 9 8 prev:/1; /1 7 6 5 4 3 2 1
        crawl /index FHCRAWL_MAX_ARCHIVES=1; crawl /index FHCRAWL_MAX_ARCHIVES=1; verdict incomplete limit
        crawl /index FHCRAWL_MAX_ARCHIVES=1; exports 7 6; verdict complete""",
    "an entry that is pinned above new ones proves nothing": """
        /index 5 4 prev:/1; /1 3 2 1; crawl /index
        /index 5 9 8 prev:/1; /1 7 6 4 3 2 1; crawl /index; exports 9 8 7 6; verdict complete""",
    "entries that came and left between two walks are found in the archive that has grown": """
        /index 3 prev:/2; /2 2 prev:/1; /1 1; crawl /index
        /index 9 8 prev:/2; /2 7 6 5 4 3 2 prev:/1; crawl /index; requests /index /2; exports 9 8 7 6 5 4
        verdict complete; crawl /index; requests /index""",
    "so are those behind a new archive, and no archive is requested behind known entries": """
        /index 3 prev:/2; /2 2 prev:/1; /1 1; crawl /index
        /index 9 prev:/3; /3 8 prev:/2; /2 7 3 2 prev:/1; crawl /index; requests /index /3 /2; exports 9 8 7
        /index 9 7 prev:/3; crawl /index; requests /index; exports""",
    "an archive that has not grown leads on to what is behind it": """
        /index 3 prev:/2; /2 2 prev:/1; crawl /index; verdict incomplete http-404
        /index 9 prev:/2; /1 1; crawl /index; requests /index /2 /1; exports 9 1; verdict complete""",
    "one that cannot be had any more is a gap": """
        /index 3 prev:/2; /2 2; crawl /index; verdict complete
        /index 9 prev:/2; gone /2; crawl /index; verdict incomplete http-404; has 9 3 2
        /index 10 9 prev:/2; /2 3 2; crawl /index; verdict complete""",
    "a feed without any times that was complete for a while has its archives back": """
        /index 2 3 prev:/a1 undated; /a1 1 undated; crawl /index
        /index 2 complete undated; crawl /index; exports 1:deleted 3:deleted
        /index 2 3 prev:/a1 undated; crawl /index; exports 1 3; verdict complete""",
    "lost entries of a document that has left the chain do not count": """
        /index 2 prev:/a1; /a1 1 ?; crawl /index; verdict incomplete entries-lost
        /index 2 prev:/b1; /b1 1 0; crawl /index; verdict complete""",
    "a newer version in an older archive is exported": """
        /index 1=old@2003 prev:/a1; /a1 1=new@2004; crawl /index; exports 1=new""",
    "a loop that has been mended is walked to the end": """
        /index 3 prev:/a2; /a2 2 prev:/a2; crawl /index; requests /index /a2; logs loop
        verdict incomplete loop
        /a2 2 prev:/a1; /a1 1; crawl /index; requests /index /a2 /a1; exports 1; verdict complete""",
    "a tombstone in any document removes an older entry": """
        /index 4 prev:/a2 buried:1@2004; /a2 3 prev:/a1 buried:2@2004 buried:4@2002; /a1 1 2
        crawl /index; exports 3 4; has 3 4""",
    "a deleted entry is exported once and may come back": """
        /index 1 2; crawl /index
        /index 2 buried:1@2004; crawl /index; exports 1:deleted; stat fhcrawl/entry/deleted 1; has 2
        crawl /index; exports
        /index 1=back@2005 2; crawl /index; exports 1=back""",
    "a tombstone that comes before its entry counts": """
        /index 2 prev:/a1 buried:1@2004; crawl /index
        /a1 1; crawl /index; exports; stat fhcrawl/entry/stale 1; has 2""",
    "an archive that is reached in a later run keeps its place": """
        /index 1=newest prev:/a2 undated; /a1 1=oldest undated; crawl /index
        /a2 1=older prev:/a1 undated; crawl /index; requests /index /a2 /a1; exports""",
    "an unchanged subscription document does not end the walk": """
        /index now prev:/a3; /a3 3 2=old@2001 prev:/a2; /a1 1 0=old@2001; crawl /index
        verdict incomplete http-404
        /a2 2 1=old@2001 prev:/a1; crawl /index; stat fhcrawl/document/unchanged 1; requests /index /a2 /a1
        exports 2:updated 1 0; verdict complete""",
    "a page without entries hides no news behind it": """
        /index 2 1 next:/p1; /p1 empty next:/p2; /p2 b a; crawl /index
        /index 5 4 next:/p1; /p2 3 2; crawl /index; has 1 2 3 4 5 a b""",
    "entries that move to the front unchanged hide no news behind them": """
        /index a b next:/p1; /p1 c d; crawl /index
        /index d c next:/p1; /p1 new a b; crawl /index; has a b c d new""",
    "a page behind an archive that is skipped stays a page": """
        /index 1 prev:/archive; /archive a next:/page; crawl /index; verdict incomplete http-404 paged
        /index 2 prev:/archive; /page p; crawl /index; verdict unknown paged
        /index 3 prev:/archive; crawl /index; verdict unknown paged; has 1 2 3 a p""",
    # Only the order of the pages shows which version is the newest.
    "an older page of an unchanged feed does not win over its newest one": """
        /index e=new undated next:/p2; crawl /index
        /p2 e=old a=a undated; crawl /index; exports a""",
    "archives that have moved do not count while the subscription document cannot be read": """
        /index 2 prev:/a1; /a1 301 /b1; /b1 1 archive; crawl /index; verdict incomplete moved
        /index 304; crawl /index; verdict incomplete known moved http-304
        /index 2 prev:/a1; crawl /index; verdict complete""",
    "a redirect to the same archive with a slash is nothing to wait for": """
        /index 2 prev:/a1; /a1 301 /a1/; /a1/ 1 archive; crawl /index; verdict complete""",
    "a redirect to an archive whose self link is the same URL needs no confirmation": """
        /index 2 prev:/a1; /a1 301 /b1; /b1 1 self:/a1 archive; crawl /index; verdict complete""",
    "a subscription document elsewhere that is lost takes the verdict back": """
        /index 1 prev:/a1; /a1 0; crawl /index
        /index 1 2 current:/new prev:/a1 archive; crawl /index; verdict incomplete http-404
        /new 3 prev:/index; crawl /index; exports 2 3; verdict complete""",
    "several archives lead to the subscription document": """
        /a1 1 current:/a2 archive; /a2 2 current:/index prev:/a1 archive; /index 3 prev:/a2; crawl /a1
        exports 1 2 3; verdict complete""",
    "archives that lead to each other are never complete": """
        /a1 1 current:/a2 archive; /a2 2 current:/a1 archive; crawl /a1; verdict incomplete no-current""",
    "an archive without a link to the subscription document is never complete": """
        /a2 2 prev:/a1 archive; /a1 1 archive; crawl /a2; exports 1 2; verdict incomplete no-current""",
    "a document that another one comes after is never the newest": """
        /a2 2 prev:/a1 next-archive:/index; /a1 1 current:/index archive; crawl /a2; exports 1 2
        verdict incomplete no-current""",
    "a document that names itself as the one after it is the newest": """
        /index 2 prev:/a1 next-archive:/index; /a1 1 archive; crawl /index; verdict complete""",
    "archives that do not say that they are some lead on": """
        /index 4 prev:/a3; /a3 3 prev:/a2 current:/index; /a2 2 current:/index next-archive:/a3
        crawl /a2; exports 2 3 4; verdict complete""",
    # Each year it moves for good to another place, and what it leaves behind does not say where to.
    "a feed whose URL has become an archive is requested at the user's URL": """
        /index 301 /2003; /2003 1; crawl /index
        /index 301 /2004; /2004 3 prev:/2003; /2003 1 2 archive; crawl /index; exports 2 3
        verdict complete; crawl /index; requests /2004""",
    "so is one whose place has a document after it": """
        /index 301 /2003; /2003 1; crawl /index
        /index 301 /2004; /2004 3 prev:/2003; /2003 1 2 next-archive:/2004; crawl /index; exports 2 3
        verdict complete""",
    "an archive where a feed was last is read if the feed is nowhere else": """
        /index 301 /2003; /2003 1; crawl /index
        gone /index; /2003 1 2 archive; crawl /index; exports 2; requests /2003 /index /2003
        verdict incomplete no-current""",
    "archives that go on over pages are a paged feed": """
        /index 3 prev:/a1; /a1 2 next:/p2; /p2 1; crawl /index; exports 1 2 3; verdict unknown paged""",
    "so are archives behind pages behind archives": """
        /index 4 prev:/a2; /a2 3 next:/p; /p 2 prev:/a1; /a1 1 archive; crawl /index; exports 1 2 3 4
        verdict unknown paged""",
    "304 to a first request is a gap": """
        /index 304; subscribe /index; crawl /index; verdict unknown not-read http-304""",
    "304 to an unconditional request is a failure": """
        /index 1 prev:/a1 no-etag; /a1 0; crawl /index
        /index 304; crawl /index; stat fhcrawl/document/unchanged 0; verdict complete http-304""",
    "an archive as start leads to its subscription document": """
        /index 3 prev:/a2; /a2 2 prev:/a1; /a1 1 current:/index archive; crawl /a1
        requests /a1 /index /a2 /a1; verdict complete; crawl /a1; requests /index
        stat fhcrawl/document/unchanged 1""",
    "prev-archive wins over next": """
        /index 2 prev:/a1 next:/page2; /a1 1; crawl /index; requests /index /a1; verdict complete""",
    "fh:complete wins over links, with a warning": """
        /index 1 prev:/a1 next:/2 complete; crawl /index; requests /index; logs fh:complete
        verdict complete""",
    "a page as start leads to the first": """
        /index 2 next:/p2 first:/index; /p2 1 previous:/index first:/index; crawl /p2
        requests /p2 /index /p2; exports 1 2""",
    "pages that loop end the walk": """
        /index 2 next:/p2; /p2 1 next:/index; crawl /index; requests /index /p2
        verdict incomplete loop paged""",
    "the next of the page that last names is not followed": """
        /index 2 next:/p2 last:/p2; /p2 1 next:/index last:/p2; crawl /index; requests /index /p2
        verdict unknown paged""",
    # A server that answers any page number with the last page.
    "a page that repeats the one before it ends the walk": """
        /index 2 next:/p?2; /p?2 1 next:/p?4; /p?4 1 next:/p?4; crawl /index; requests /index /p?2 /p?4
        exports 1 2; verdict incomplete repeats paged""",
    "a later run goes on where pages were missing": """
        /index 3 next:/p2; /p2 2 next:/p3; crawl /index; verdict incomplete http-404 paged
        /p3 1; crawl /index; requests /index /p2 /p3; exports 1""",
    # While the first page is read, as much is published as the page holds: all others move on by one.
    "a page that shows again what the walk has just read does not end it": """
        /index 4 3 next:/p2; /p2 2 1; crawl /index
        /index 8 7 next:/p2; on /index /p2 8 7 next:/p3; on /index /p3 6 5 next:/p4; on /index /p4 4 3
        crawl /index; exports 8 7 6 5""",
    "an error page of a known feed leads nowhere": """
        /index 1; /other other; crawl /index
        /index page /other; crawl /index; exports; stat fhcrawl/document/invalid 1""",
    "a feed with a permanent redirect is requested at its new URL": """
        /old STATUS /new; /new 2 prev:/a1; /a1 1; crawl /old
        /new 3 2 prev:/a1; crawl /old; requests /new; exports 3; verdict complete""",
    "a feed that has moved by mistake is found where it was": """
        /index 301 /new; /new 2 prev:/a1; /a1 1; crawl /index
        gone /new; crawl /index; verdict complete http-404; stat fhcrawl/document/missing 1
        /index 3 2 prev:/a1; crawl /index; requests /new /index; exports 3; verdict complete; crawl /index
        requests /index""",
    "so is one whose new place is parked": """
        /index 301 /new; /new 2 complete; crawl /index
        /new html; crawl /index; verdict complete html; stat fhcrawl/document/invalid 1
        /index 3 complete; crawl /index; requests /new /index; verdict complete""",
    "a feed with Retry-After is not requested at another URL": """
        /index 301 /new; /new 1 prev:/a0; /a0 0; crawl /index
        /new 503 Retry-After=1; crawl /index RETRY_ENABLED=0; requests /new; verdict complete http-503""",
    "a feed with a new URL in its document is requested there from the next run on": """
        /old 2 1 rss; crawl /old; /old 2 1 rss moved:/new; /new 3 2 1 rss moved:/new; crawl /old
        requests /old /new; exports; logs /old has moved to; crawl /old; requests /new; exports 3
        verdict unknown no-history; stored /old=3""",
    "so is a feed whose first document has a new URL, which redirects": """
        /old 2 1 moved:/then; /then 301 /new; /new 3 2 prev:/a1 moved:/then; /a1 1; crawl /old
        exports 2 1; crawl /old; requests-also /new /a1 /then /new; exports 3
        verdict complete; crawl /old; requests /new""",
    "a new URL that fails is retried even if the old document is unchanged": """
        /old 1 moved:/new; /new 503; crawl /old RETRY_ENABLED=0; logs has moved to /new, which
        crawl /old RETRY_ENABLED=0; requests /old /new; /new 2 1; crawl /old; requests /old /new; crawl /old
        requests /new; exports 2""",
    "a new URL that is no feed, or another one, changes nothing": """
        /old 2 1 moved:/new; /new html; crawl /old; logs which is not a feed; verdict unknown no-history
        /new 4 3; crawl /old; requests /old /new; logs which has none of its entries; /old 5 2 1 moved:/new
        crawl /old; requests /old /new; exports 5; verdict unknown no-history""",
    "feeds that name each other, or themselves, are requested once": """
        /old 2 1 moved:/new; /new 2 1 moved:/old; crawl /old; requests /old /new; logs which says the reverse
        crawl /old; requests /old /new; /old 3 2 1 moved:/old; crawl /old; requests /old; exports 3""",
    "a feed that has moved and come back is found": """
        /old 1 moved:/new; /new 2 1; crawl /old; /old 3 2; /new 2 1 moved:/old; crawl /old; requests /new /old
        exports 2; crawl /old; requests /old; exports 3""",
    "a feed that has moved to a URL that has failed since is read where it was": """
        /old 1 moved:/new; /new 2 1; crawl /old; gone /new; /old 3 1 moved:/new; crawl /old
        requests /new /old /new; exports 3; crawl /old; requests /old /new""",
    "a feed that a page links to is requested again after it was missing": """
        /a0 0; / page /feed; crawl /; requests / /feed
        /feed 1 prev:/a0; crawl /
        gone /feed; crawl /; verdict complete http-404
        /feed 1 prev:/a0; crawl /; verdict complete""",
    "a feed with a temporary redirect is requested at its old URL": """
        /old 301 /then; /then 302 /new; /new 1; crawl /old; crawl /old; requests /then /new""",
    "a subscription document that fails later leaves the verdict": """
        /index 2 prev:/a1; /a1 1; crawl /index
        gone /index; crawl /index; verdict complete http-404
        /index 2 prev:/a1; crawl /index; verdict complete""",
    "a loop that starts with an archive document ends": """
        /index 1 archive prev:/index; crawl /index; requests /index""",
    "an archive without entries is marked": """
        /index 2 prev:/a2; /a2 empty prev:/a1; /a1 1; crawl /index; stat deltafetch/stored 2
        /index 3 2 prev:/a2; crawl /index; requests /index""",
    "a limit of archives ends the walk for this run": """
        /index 4 prev:/3; /3 3 prev:/2; /2 2 prev:/1; /1 1; crawl /index FHCRAWL_MAX_ARCHIVES=2
        requests /index /3 /2; exports 4 3 2; verdict incomplete limit
        logs FHCRAWL_MAX_ARCHIVES limits a crawl to 2 archives; stat fhcrawl/document/failed 0
        crawl /index; exports 1""",
    "so does a limit of pages": """
        /index 4 next:/3; /3 3 next:/2; /2 2 next:/1; /1 1; crawl /index FHCRAWL_MAX_PAGES=2
        exports 4 3 2; verdict incomplete limit paged; crawl /index; exports 1""",
    "changes of several runs without an export are one line": """
        /index 1=a 2=a; crawl /index
        /index 1=b@2004 3=b@2004; crawl /index unexported
        /index 1=c@2005 3=c@2005; crawl /index unexported; crawl /index; exports 1:updated=c 3=c""",
    "a change that was taken back is not exported": """
        /index 1=a; crawl /index
        /index 1=b@2004; crawl /index unexported
        /index 1=a@2005; crawl /index unexported; crawl /index; exports""",
    "an entry that was deleted before it was exported is never exported": """
        /index 1 2 complete; crawl /index unexported
        /index 2 complete; crawl /index; exports 2""",
    "changes of other feeds wait for their own run": """
        /one 1; /two 2; crawl /one unexported; crawl /two; exports 2; crawl /one; exports 1""",
    "an unchanged feed without validators costs one request": """
        /index 2 prev:/a1 no-etag; /a1 1; crawl /index
        crawl /index; requests /index; exports; stat fhcrawl/document/unchanged 1""",
    "a complete feed loses what has left it": """
        /index 1 2 complete; crawl /index; exports 1 2
        /index 2 3 complete; crawl /index; exports 1:deleted 3; stat fhcrawl/entry/deleted 1; has 2 3
        /index 1 2 3 complete; crawl /index; exports 1""",
    "pages that two walks have read with the same content are complete": """
        /index 3 next:/p2; /p2 2 next:/p3; /p3 1; crawl /index; verdict unknown paged
        crawl /index; requests /index; verdict unknown paged
        crawl /index reset; requests /index /p2 /p3; verdict complete; crawl /index; verdict complete
        /index 4 3 next:/p2; crawl /index; verdict unknown paged; crawl /index reset; verdict complete""",
    "a page that has changed between two walks proves nothing": """
        /index 3 next:/p2; /p2 2 1; crawl /index
        /p2 2 0; crawl /index reset; verdict unknown paged; crawl /index reset; verdict complete""",
    "an entry that moves to a page that was read is missed, and the verdict is not complete": """
        /index 4 3 next:/p2; /p2 2 next:/p3; /p3 1; on /p2 /p2 2 1; on /p2 /p3 empty
        crawl /index; has 2 3 4; verdict unknown paged
        crawl /index reset; has 1 2 3 4; verdict incomplete known paged""",
    "pages that end at a gap are incomplete whoever has read them": """
        /index 3 next:/p2; /p2 2 next:/p3; crawl /index; crawl /index reset
        verdict incomplete http-404 paged""",
    "so are pages with an entry that cannot be kept": """
        /index 3 next:/p2; /p2 2 ?; crawl /index; crawl /index reset
        verdict incomplete entries-lost paged""",
    "so are pages that end before the one that they call the last": """
        /index 3 next:/p2 last:/p9; /p2 2 last:/p9; crawl /index; crawl /index reset;
        verdict incomplete http-404 paged
        /p2 2 last:/p2; crawl /index reset; crawl /index reset; verdict complete""",
    "so are pages of which only the publisher's links say that there are more": """
        /index 1 first:/index last:/p9; crawl /index; crawl /index reset
        verdict incomplete http-404 paged""",
    "so are pages that were guessed": """
        /feed/ 2 rss wordpress; /feed/?paged=2 1 rss wordpress; crawl /feed/; crawl /feed/ reset
        verdict unknown paged""",
    # As Nikola 7 writes them: pages have both kinds of links; the oldest one has no links to archives.
    "archives behind the page that is next are those of an archived feed": """
        /index 4 next:/2
        /2 3 next:/1 previous:/index current:/index next-archive:/index prev-archive:/1 archive
        /1 2 next:/0 previous:/2 current:/index next-archive:/2 prev-archive:/0 archive
        /0 1 previous:/1 current:/index
        crawl /index; requests /index /2 /1 /0; exports 1 2 3 4; verdict complete
        /index 5 next:/3; /3 4 next:/2 previous:/index current:/index prev-archive:/2 archive
        crawl /index; exports 5; verdict complete""",
    "so are they if a gap is behind them": """
        /index 3 next:/2; /2 2 current:/index prev-archive:/1 archive; crawl /index
        verdict incomplete http-404""",
    "pages are followed while they change": """
        /index 3 next:/p2; /p2 2 next:/p3 previous:/index; /p3 1 previous:/p2; crawl /index; exports 1 2 3
        verdict unknown paged
        /index 4 next:/p2; /p2 3 next:/p3 previous:/index; /p3 2 previous:/p2
        crawl /index; exports 4; requests /index /p2; has 1 2 3 4""",
    # A second time, since the redirect may have been for a moment.
    "an archive that is redirected is known by the URL that was requested": """
        /index 3 prev:/old/a2; /old/a2 302 /moved/a2; /moved/a2 2 prev:a1; /moved/a1 1
        crawl /index; requests /index /old/a2 /moved/a2 /moved/a1
        crawl /index; requests /index /old/a2 /moved/a2; crawl /index; requests /index""",
    "an archive that has moved for good counts when a later subscription document leads there": """
        /index 2 prev:/a1; /a1 301 /b1; /b1 1 archive; crawl /index; verdict incomplete moved
        crawl /index; stat fhcrawl/document/unchanged 0; verdict complete
        crawl /index; stat fhcrawl/document/unchanged 1; verdict complete
        /a1 301 /c1; /c1 1 archive; crawl /index DELTAFETCH_RESET=1; verdict incomplete moved""",
    "so it does without DeltaFetch": """
        /index 2 prev:/a1; /a1 301 /b1; /b1 1 archive; crawl /index DELTAFETCH_ENABLED=0
        verdict incomplete moved; crawl /index DELTAFETCH_ENABLED=0; verdict complete
        crawl /index DELTAFETCH_ENABLED=0; stat fhcrawl/document/unchanged 0; verdict complete""",
    # Its links are relative: the same bytes lead to archives elsewhere.
    "a feed that moves unchanged is read where it is now": """
        /old/index 2 prev:a1; crawl /old/index; verdict incomplete http-404
        /old/index 301 /new/index; /new/index 2 prev:a1; /new/a1 1 archive
        crawl /old/index; exports 1; verdict complete
        crawl /old/index; requests /new/index; stat fhcrawl/document/unchanged 1""",
    "so is one without validators that moves for now": """
        /old/index 2 prev:a1 no-etag; crawl /old/index; verdict incomplete http-404
        /old/index 302 /new/index; /new/index 2 prev:a1 no-etag; /new/a1 1 archive
        crawl /old/index; exports 1; verdict complete
        crawl /old/index; requests /old/index /new/index; stat fhcrawl/document/unchanged 1""",
    "a reset, or no DeltaFetch, fetches every document again": """
        /index 3 prev:/a2; /a2 2 prev:/a1; /a1 1; crawl /index
        crawl /index reset; requests /index /a2 /a1; exports; verdict complete
        crawl /index DELTAFETCH_RESET=1; requests /index /a2 /a1; exports
        crawl /index DELTAFETCH_ENABLED=0; requests /index /a2 /a1; exports; verdict complete
        stat deltafetch/skipped 0; crawl /index; requests /index; stat deltafetch/skipped 1""",
    "other schemes are not followed": """
        /ftp 1 prev:ftp://127.0.0.1:9/a; crawl /ftp; verdict incomplete refused-url
        /ftp 1 prev:mailto:x@example.org; crawl /ftp; verdict incomplete refused-url
        /ftp 1 prev:javascript:x; crawl /ftp; verdict incomplete refused-url
        /ftp 1 prev:data:,x; crawl /ftp; verdict incomplete refused-url""",
    "a feed that was read before is not reported as not read": """
        /plain 1; crawl /plain; gone /plain; crawl /plain; has 1; verdict unknown http-404 no-history""",
    "a feed that was not crawled yet is unknown": """
        subscribe /later; verdict unknown not-crawled""",
    "pages that no link names are requested unless that is turned off": """
        /feed/ 2 rss wordpress; /feed/?paged=2 1 rss wordpress; crawl /feed/ FHCRAWL_PLATFORMS_ENABLED=0
        requests /feed/; verdict unknown platform
        crawl /feed/; exports 1; crawl /feed/ opt:platforms=false; verdict unknown platform""",
    "a linked page with the same parameter is there, or missing": """
        /feed/ 2 rss wordpress next:/feed/?paged=2; crawl /feed/; requests /feed/ /feed/?paged=2
        verdict incomplete http-404 paged
        crawl /feed/; requests /feed/ /feed/?paged=2; verdict incomplete http-404 paged""",
    "a page that cannot be had is a gap": """
        /feed/ 3 rss wordpress; /feed/?paged=2 2 rss wordpress; /feed/?paged=3 410
        crawl /feed/; verdict incomplete http-410 paged""",
    "a page that was left for a later run may not be there": """
        /feed/ 3 rss wordpress; /feed/?paged=2 410; crawl /feed/
        verdict incomplete http-410 no-history
        gone /feed/?paged=2; crawl /feed/; requests /feed/ /feed/?paged=2
        verdict unknown no-history""",
    # A server that ignores the number, and writes the page's URL into each.
    "pages that all show the same are none": """
        /feed/ 1 rss wordpress self:/feed/; /feed/?paged=2 1 rss wordpress self:/feed/?paged=2
        /feed/?paged=3 1 rss wordpress self:/feed/?paged=3; crawl /feed/
        requests /feed/ /feed/?paged=2; verdict unknown no-history""",
    # As many entries have come in between as a page has.
    "a page that shows the one before it is requested again": """
        /feed/ 3 rss wordpress; /feed/?paged=2 2 rss wordpress
        /feed/?paged=3 2 rss wordpress self:/feed/?paged=3; crawl /feed/
        verdict incomplete repeats paged
        /feed/?paged=3 1 rss wordpress; crawl /feed/; exports 1
        verdict unknown paged""",
    "pages are guessed where the feed has moved for good": """
        /rss 301 /feed/; /feed/ 2 rss wordpress; /feed/?paged=2 1 rss wordpress
        crawl /rss; requests /rss /feed/ /feed/?paged=2 /feed/?paged=3""",
}
# A machine whose clock was wrong: what was compared then is compared again. `WAY` is prev-archive or next.
WITH_CLOCKS = {
    "a document with a time in the future is read again once when that has come": """
        /index 1=old@2003 WAY:/old updated:2003; /old 1=new@2012 updated:2003
        crawl /index at:2010-01-01; exports 1=old; requests /index /old
        crawl /index at:2011-01-01 FHCRAWL_RECHECK=; exports; requests /index
        crawl /index at:2011-12-31; exports 1:updated=new; requests /index /old
        crawl /index at:2012-01-01; exports; requests /index""",
    "a version that won by a clock that was ahead loses by the right one": """
        /index 1=right@2004 WAY:/old updated:2004; /old 1=mistyped@2030 updated:2003
        crawl /index at:2040-01-01; exports 1=mistyped; requests /index /old
        crawl /index at:2026-01-01; exports 1:updated=right; requests /index /old
        crawl /index at:2026-01-02; exports; requests /index""",
    # Its document was read by the right clock, before the one that replaces it.
    "a version that a clock that was ahead has replaced is read again": """
        /index empty WAY:/old updated:2003; /old 1=right@2004 updated:2003
        crawl /index at:2026-01-01; exports 1=right; requests /index /old
        /index empty WAY:/mid updated:2003; /mid 1=mistyped@2030 WAY:/old updated:2003
        crawl /index at:2040-01-01; exports 1:updated=mistyped
        crawl /index at:2026-01-02; exports 1:updated=right; requests /index /mid /old
        crawl /index at:2026-01-03; exports; requests /index""",
    # Nothing is claimed of the document that could not be read.
    "a document that is to be read again and is gone is missing": """
        /index 1=old@2003 WAY:/old updated:2003; /old 1=new@2004 updated:2003; crawl /index at:2000-01-01
        gone /old; crawl /index at:2026-01-01; exports; requests /index /old; logs /old is missing (404)
        crawl /index at:2026-01-01; exports; requests /index /old; logs /old is missing (404)
        /old 1=new@2004 updated:2003; crawl /index at:2026-01-01; exports 1:updated=new""",
    # The archive was read by a right clock, and is not read while it is wrong.
    "a version that lost to an older one while the clock was wrong wins again": """
        /index 1=old@2003 WAY:/old updated:2004; /old 1=new@2004 updated:2004; crawl /index; exports 1=new
        /index 1=old@2003 2=more@2004 WAY:/old updated:2004
        crawl /index at:2000-01-01; exports 1:updated=old 2=more
        crawl /index; exports 1:updated=new; requests /index /old; crawl /index; exports; requests /index""",
}


@scripts({**IN_SQL, **OTHERS}, IN_SQL, STATUS=("301", "308"))
def test_walk(play: Play, script: str) -> None:
    play(script)


@scripts(WITH_CLOCKS, WAY=("prev", "next"))
def test_walk_with_clocks(play: Play, script: str) -> None:
    play(script)
