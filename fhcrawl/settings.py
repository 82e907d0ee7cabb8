"""The settings of all deployments.

The comments are the text of docs/reference/settings.md, in Markdown. That of a setting of Scrapy begins with
Scrapy's default, and says why fhcrawl has another one.
"""

from __future__ import annotations

from fhcrawl import __version__, items

BOT_NAME = "fhcrawl"
SPIDER_MODULES = ["fhcrawl.spiders"]
NEWSPIDER_MODULE = "fhcrawl.spiders"
COMMANDS_MODULE = "fhcrawl.commands"
# {}: the add-on adds fhcrawl's components to those that EXTENSIONS, ITEM_PIPELINES and so on name, and in
# other projects the settings below. Other spiders of the project run without them.
ADDONS = {"fhcrawl.Addon": 0}

# Absolute path of the data directory. Without it: `.scrapy` in the folder of the project, and outside of
# projects the user's data folder (`~/.local/share/fhcrawl` on Linux). The environment variable of the same
# name has precedence over a settings module.
FHCRAWL_DATA_DIR: str | None = None
# SQLAlchemy URL of the store. Without it: the SQLite file `fhcrawl.sqlite` in the data directory. The
# environment variable of the same name has precedence over a settings module. Put a URL with a password
# there, because the list of processes shows the command line.
FHCRAWL_STORE_URL: str | None = None
# Whether the store keeps the original XML (or JSON) of each entry, with the elements that fhcrawl has no
# field for. Exported feeds contain them. It doubles the size of the store.
FHCRAWL_KEEP_XML_ENABLED = True
# Whether the store keeps earlier versions of entries, each content once.
# `fhcrawl history` shows the versions of an entry.
FHCRAWL_KEEP_VERSIONS_ENABLED = False
# Seconds without a sign of life after which other crawls can take over the feeds of a crawl: 3 to 86400.
FHCRAWL_LEASE_SECONDS = 300

# Seconds after which the changes of a finished feed are exported at the latest, while other feeds of the run
# are still in progress. 0: at the end of the run. Each export copies the file that it appends to.
FHCRAWL_EXPORT_SECONDS = 60 * 60

# What `fhcrawl crawl` and `fhcrawl export` write of an entry, by the names of fields, separated by commas:
# these, in this order. A name with a plus (`+original`) is added to the fields that exports have otherwise.
# Without a name, these are those of FEED_EXPORT_FIELDS. `--fields` sets it.
FHCRAWL_FIELDS: list[str] = []
# Names of profiles, separated by commas: `podcast` and `news` add columns of values that are in extensions.
# `--profile` sets it.
FHCRAWL_PROFILES: list[str] = []
# Whether exports have the field `extensions`. It needs FHCRAWL_KEEP_XML_ENABLED. `--extensions` sets it.
FHCRAWL_EXTENSIONS_ENABLED = False
# Whether CSV is for Excel and other spreadsheets: with a byte order mark, by which Excel recognises UTF-8,
# with an apostrophe before cells that a spreadsheet would run as a formula, and with times that it reads as
# such (`2003-12-13 18:30:02`, in UTC). Cells that begin with an apostrophe get another one, so that removing
# the first one gives the original value. By default, Python's csv module reads the cells back exactly as the
# feed has them. `--excel` sets it.
FHCRAWL_CSV_EXCEL_ENABLED = False

# Names of fields that pipelines add to entries (`item.words = 12`), separated by commas. They are exported
# after fhcrawl's own, in this order.
FHCRAWL_ADDED_FIELDS: list[str] = []

# Maximum number of archives, or of documents of a snapshot or folder, fetched for a feed in a run. 0: no
# limit.
FHCRAWL_MAX_ARCHIVES = 100_000
# Maximum number of pages (`next` links) fetched for a feed in a run. 0: no limit.
FHCRAWL_MAX_PAGES = 1_000
# Maximum time of a feed in a run, in seconds from its first request, parsing included. 0: no limit. With the
# default, a daily run ends within a day, even if a server sends a byte at a time.
FHCRAWL_MAX_SECONDS = 24 * 60 * 60
# Maximum number of octets of a feed in a run, after decompression: of documents, with the base URLs and
# authors that their entries inherit, of redirects, of captures in web archives, and of what is fetched again.
# Captures in WARC files do not count. Each run reads at least one document behind the subscription document.
# The store takes about twice as much space. 0: no limit. The default, 2 GiB, is four times a history of
# 100,000 entries of 5 KiB.
FHCRAWL_MAX_BYTES = 2 * 1024**3
# Octets that must be free (on a small disk, at most a quarter of it) wherever the crawl writes: the store (on
# SQLite), exports, WARC files and temporary files (`TMPDIR`). With less, no documents are fetched until there
# is more. 0: not checked. The default is 256 MiB.
FHCRAWL_MIN_FREE_DISK = 256 * 1024**2
# Longest delay in seconds that a server may ask for (`Retry-After`, `Crawl-delay`, a rate limit). If it asks
# for more, its documents are left for a later run. 0: no limit.
FHCRAWL_MAX_WAIT = 300

# Maximum number of entries of a document, and of deletions; the oldest ones are left out (`too-large`). A
# snapshot or folder that lists more documents is not read at all. 0: no limit.
FHCRAWL_MAX_ENTRIES = 100_000
# Whether large documents are parsed in a separate process: from 128 KiB on, and from 32 KiB on once that
# process has started. Then a large document does not delay small ones, and one that crashes the parser, or
# exceeds the next two limits, is only a gap (`too-large`).
FHCRAWL_READER_ENABLED = True
# How much memory that process may use for a document, in octets. 0: no limit. Linux only.
FHCRAWL_READER_MEMORY = 512 * 1024**2
# How many seconds of CPU that process may use for a document. 0: no limit. 32 MiB take some seconds.
FHCRAWL_READER_TIMEOUT = 60

# How often archives and pages that were read are requested again, since publishers change them: the number of
# days in which each is checked once, and the maximum number of checks of a feed in one run. The requests are
# conditional, and spread over the runs: for 120 archives, `30,20` is one check in 6 hours. 0: none.
FHCRAWL_RECHECK: list[int] | str = [30, 20]
# Whether entries are deleted that no document of their feed's chain holds any more: the next export says so
# (`deleted`). By default they are kept and counted (`absent` in `fhcrawl feeds --json`).
FHCRAWL_DELETE_ABSENT = False
# Whether an entry whose id its publisher has changed is deleted under its former id (`deleted` in the next
# export), as soon as no document of its feed's chain holds that any more. By default both are kept, and
# counted (`renamed` in `fhcrawl feeds --json`). `--merge-renamed` sets it; `merge_renamed = true` is for one
# feed.
FHCRAWL_MERGE_RENAMED = False
# Minimum seconds between two polls of a feed, for crawls of feeds that are due.
FHCRAWL_DUE_MIN_SECONDS = 15 * 60
# Maximum seconds between two polls of a feed, whatever the feed, its server and its history say.
FHCRAWL_DUE_MAX_SECONDS = 24 * 60 * 60
# Whether older pages are requested that no link names, of feeds that link to none, where it is known how the
# software that has made them names these (`?paged=2`, say), and whether feeds of WordPress are compared with
# the site's list of posts. `--no-platforms` turns it off; `platforms = false` does for one feed.
FHCRAWL_PLATFORMS_ENABLED = True
# Whether the sitemaps of a feed's site are read, at most 5 in 30 days, to see how many of its pages look like
# entries that are not kept, if the feed does not show all of its entries itself. They decide no verdict.
FHCRAWL_SITEMAPS_ENABLED = True
# Whether `?page=2` is requested once of each feed that links to no older pages, and whose software is not
# known, to see whether it has numbered pages; if it has none, again after 30 days. `--probe` turns it on;
# `probe = true` does for one feed.
FHCRAWL_PROBE = False

# Web archive whose captures of the feeds are read: its URL before the times of captures
# (`https://web.archive.org/web`, say), or `wayback`, which is that of the Internet Archive. `--web-archive`
# sets it; `web_archive = "URL"` is for one feed. Without it, none is asked.
FHCRAWL_WEB_ARCHIVE: str | None = None
# Maximum number of requests to a web archive for a feed in a run; the next run goes on. 0: no limit.
FHCRAWL_MAX_CAPTURES = 500
# Whether all captures with distinct contents, of a web archive or in WARC files, are read, and not only those
# that are needed to see each entry: for earlier versions of entries.
FHCRAWL_ALL_CAPTURES_ENABLED = False

# Hosts at private and other special addresses to which feeds may lead, besides their own host and port:
# names, `host:port`, addresses and networks, separated by commas.
FHCRAWL_ALLOWED_PRIVATE_HOSTS: list[str] = []
# Whether lists of feeds may contain `file:` URLs. URLs on the command line always may be such.
FHCRAWL_LISTED_FILES_ENABLED = False

# Path of the WARC files that keep all responses. It ends in `.warc.gz` or `.warc` and may have the
# placeholders of Scrapy's FEEDS, and `%(serial)05d`, the number of the file; without that, `-%(serial)05d`
# is put before the ending. Without a path, no WARC files are written.
FHCRAWL_WARC: str | None = None
# Octets after which a new WARC file is begun. 0: no limit. Web archives use 1 GB, as the default does.
FHCRAWL_WARC_MAX_SIZE = 1_000_000_000

# Whether a display on the terminal shows the progress of a crawl. Without the display, or without a terminal,
# it is logged every LOGSTATS_INTERVAL seconds.
FHCRAWL_PROGRESS_ENABLED = True
# Whether the table of the feeds, and what is missing, is printed to stderr at the end of a crawl that has
# changed or missed something, if there is no display. `fhcrawl crawl` sets it. Otherwise they are in the log.
FHCRAWL_SUMMARY_ENABLED = False

# Whether archives that earlier runs have processed are skipped. Otherwise, each run fetches every document.
DELTAFETCH_ENABLED = True
# Whether the feeds of this run are fetched anew; their entries stay. `fhcrawl crawl --reset` sets it.
DELTAFETCH_RESET = False

# Scrapy/VERSION: servers should see which crawler it is. Add a way to reach you, such as
# `fhcrawl (+https://example.org/who-crawls)`: without it, all that the people behind a server can do is to
# block you. A crawl of public feeds warns about it.
USER_AGENT = f"fhcrawl/{__version__} (Scrapy; RFC 5005 feed history)"
# text/html first: fhcrawl needs feeds. And Accept-Language, en: the publisher's default language is wanted.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5",
}
# False: a crawler should obey robots.txt. If you set it to False, documents that a site forbids are fetched,
# and its Crawl-delay is not known.
ROBOTSTXT_OBEY = True
# 8: a host should not be burdened. The documents of a chain are read one by one anyway. It is also the limit
# of all hosts of a registered domain together. With more, the feeds of a host are crawled faster, at the cost
# of that host.
CONCURRENT_REQUESTS_PER_DOMAIN = 1
# 16: with one request per domain, 64 domains are asked at once. With 16, a crawl of 200 hosts that respond
# after 50 ms waits a third of its time. Each request may hold a document of DOWNLOAD_MAXSIZE in memory.
CONCURRENT_REQUESTS = 64
# scrapy.core.downloader.Downloader: it can exceed CONCURRENT_REQUESTS_PER_DOMAIN.
DOWNLOADER = "fhcrawl.core.engine.Downloader"
# scrapy.core.scheduler.Scheduler: it does not report when a feed is done. With another scheduler, or with
# JOBDIR, feeds are released and changes are exported only at the end of the crawl. A crawl with JOBDIR that
# was killed can leave a queue that Scrapy cannot read: remove that folder. The store knows where to go on.
SCHEDULER = "fhcrawl.core.scheduler.Scheduler"
# scrapy.pqueues.DownloaderAwarePriorityQueue: a host with a delay must not block other hosts.
SCHEDULER_PRIORITY_QUEUE = "fhcrawl.core.engine.PoliteQueue"
# 1 GiB: a document is read and stored as a whole, which takes up to ten times its size in memory; recovering
# a malformed one can take 15 times. Feeds of podcasts with long notes have up to 72 MB. It applies to the
# compressed and to the decompressed body. With a smaller value, more documents are `too-large`.
DOWNLOAD_MAXSIZE = 96 * 1024**2
# 32 MiB: half of DOWNLOAD_MAXSIZE.
DOWNLOAD_WARNSIZE = 48 * 1024**2
# 180: a request that hangs is made three times (RETRY_TIMES), and the chain waits. It is the time for a whole
# response: on a slow line, large documents may need more.
DOWNLOAD_TIMEOUT = 60
# True: feeds need no cookies, by which servers could recognise you.
COOKIES_ENABLED = False
# True: meta refresh is for HTML.
METAREFRESH_ENABLED = False
# False: without verification, anybody between you and the server could forge a history. If you set it to
# False, feeds with bad certificates are read.
DOWNLOAD_VERIFY_CERTIFICATES = True
# True: the entries of a truncated document are kept, and it is not marked as processed.
DOWNLOAD_FAIL_ON_DATALOSS = False
# ERROR: the spider logs the failure itself.
RETRY_GIVE_UP_LOG_LEVEL = "DEBUG"
# True: it is a port of this machine by which code can be run in the crawl.
TELNETCONSOLE_ENABLED = False
# True: it is a port of this machine by which the crawl can be controlled.
REMOTE_CONTROL_ENABLED = False
# True: servers need not see which document led to them.
REFERER_ENABLED = False

# scrapy.robotstxt.ProtegoRobotParser: it has no size limit, and takes 9 MB for 500 KiB of each host. This one
# reads the first 500 KiB of a robots.txt, and keeps only the last ones parsed.
ROBOTSTXT_PARSER = "fhcrawl.core.robotstxt.BoundedRobotParser"

# 2083: an archive should not be skipped for a long URL.
URLLENGTH_LIMIT = 0

# DEBUG: it logs every entry.
LOG_LEVEL = "INFO"
# scrapy.logformatter.LogFormatter: it does not escape text that could control a terminal or forge log lines.
LOG_FORMATTER = "fhcrawl.core.logformatter.LogFormatter"
# True: LOG_FORMATTER escapes all escape sequences, also those for colours.
LOG_COLOR = False
# WARNING: most entries are duplicates, which are dropped in each run.
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"

# True: the spider's callbacks need no check, which Scrapy would repeat for each response.
WARN_ON_GENERATOR_RETURN_VALUE = False
# 100: these are workers for each document; fhcrawl's pipelines are synchronous.
CONCURRENT_ITEMS = 8

# scrapy.pipelines.ItemPipelineManager: it does not report when all pipelines have processed the entries of a
# document.
ITEM_PROCESSOR = "fhcrawl.core.item_processor.ItemPipelineManager"

# True: a crawl that changes nothing leaves no empty file.
FEED_STORE_EMPTY = False
# None: JSON in UTF-8, without \uXXXX.
FEED_EXPORT_ENCODING = "utf-8"
# None: the fields of the items, in their order.
FEED_EXPORT_FIELDS = items.FIELDS
# Scrapy's exporters do not escape control characters for terminals, join lists with commas in CSV, write
# U+000D to XML unescaped (where it is a line end), and do not support Parquet.
FEED_EXPORTERS = {
    "json": "fhcrawl.exporters.JsonItemExporter",
    "xml": "fhcrawl.exporters.XmlItemExporter",
    "jsonlines": "fhcrawl.exporters.JsonLinesItemExporter",
    "jsonl": "fhcrawl.exporters.JsonLinesItemExporter",
    "jl": "fhcrawl.exporters.JsonLinesItemExporter",
    "csv": "fhcrawl.exporters.CsvItemExporter",
    "parquet": "fhcrawl.exporters.ParquetItemExporter",
}
# Scrapy's storage writes to the file itself, which is incomplete until the end, and does not flush stdout.
FEED_STORAGES = {
    "": "fhcrawl.exporters.storages.FileFeedStorage",
    "file": "fhcrawl.exporters.storages.FileFeedStorage",
    "stdout": "fhcrawl.exporters.storages.StdoutFeedStorage",
}
