"""The settings of all deployments.

The comments are the text of docs/reference/settings.md, in Markdown. That of a setting of Scrapy begins with
Scrapy's default, and explains why fhcrawl has another one.
"""

from __future__ import annotations

from fhcrawl import __version__, items

BOT_NAME = "fhcrawl"
SPIDER_MODULES = ["fhcrawl.spiders"]
NEWSPIDER_MODULE = "fhcrawl.spiders"
COMMANDS_MODULE = "fhcrawl.commands"
# {}: the add-on adds fhcrawl's components to those in EXTENSIONS, ITEM_PIPELINES and so on. In other projects
# it also adds the settings below. Other spiders of the project run without them.
ADDONS = {"fhcrawl.Addon": 0}

# Absolute path of the data directory. Default: `.scrapy` in a project, elsewhere the user's data folder
# (`~/.local/share/fhcrawl` on Linux).
FHCRAWL_DATA_DIR: str | None = None
# SQLAlchemy URL of the store. Default: `fhcrawl.sqlite` in the data directory. Use the environment variable
# for a URL with a password, because other users can see command lines.
FHCRAWL_STORE_URL: str | None = None
# Whether the store keeps the original XML or JSON of each entry, with elements that have no field. Exported
# feeds contain them. This doubles the store's size.
FHCRAWL_KEEP_XML_ENABLED = True
# Whether the store keeps earlier versions of entries (`--keep-versions`, `--no-keep-versions`). The value is
# recorded in the store for later crawls. Default: as recorded; off in a new store.
FHCRAWL_KEEP_VERSIONS_ENABLED: bool | None = None
# Seconds after which other crawls can take over the feeds of an inactive crawl: 3 to 86400.
FHCRAWL_LEASE_SECONDS = 300

# Maximum time in seconds until a finished feed's changes are exported during a run. Each export copies the
# file that it appends to. 0: export at the end of the run.
FHCRAWL_EXPORT_SECONDS = 60 * 60

# Fields to export (`--fields`), in this order, separated by commas. `+original` adds a field to the default
# ones, FEED_EXPORT_FIELDS.
FHCRAWL_FIELDS: list[str] = []
# Profiles whose columns to add (`--profile`), separated by commas: `podcast`, `news`.
FHCRAWL_PROFILES: list[str] = []
# Whether exports have the field `extensions` (`--extensions`); requires FHCRAWL_KEEP_XML_ENABLED.
FHCRAWL_EXTENSIONS_ENABLED = False
# Whether to write CSV for spreadsheets (`--excel`): with a byte order mark, an apostrophe before cells that
# begin with one or would run as a formula, and times like `2003-12-13 18:30:02`, in UTC.
FHCRAWL_CSV_EXCEL_ENABLED = False

# Fields that pipelines add to entries (`item.words = 12`), separated by commas. They are exported after
# fhcrawl's own, in this order.
FHCRAWL_ADDED_FIELDS: list[str] = []

# Maximum number of archives, or of documents in a snapshot or folder.
FHCRAWL_MAX_ARCHIVES = 100_000
# Maximum number of pages (`next` links).
FHCRAWL_MAX_PAGES = 1_000
# Maximum time in seconds from the first request, including parsing.
FHCRAWL_MAX_SECONDS = 24 * 60 * 60
# Maximum number of octets read, after decompression: documents (with the base URLs and authors that entries
# inherit), redirects, captures in web archives, and what is fetched again, but not WARC files. Each run reads
# at least one document after the subscription document. The store takes about twice as much space.
FHCRAWL_MAX_BYTES = 2 * 1024**3
# Longest delay in seconds that a server may impose (`Retry-After`, `Crawl-delay`, a rate limit). After a
# longer one, a later run continues.
FHCRAWL_MAX_WAIT = 300

# Maximum number of entries, and of deletions; the oldest ones beyond it are dropped (`too-large`). A snapshot
# or folder that lists more documents is not read.
FHCRAWL_MAX_ENTRIES = 100_000
# Whether a separate process parses documents of 128 KiB or more (32 KiB once it has started). Then they do
# not delay small ones, and one that crashes the parser or exceeds the next two limits is only a gap
# (`too-large`).
FHCRAWL_READER_ENABLED = True
# Maximum memory of this process for a document, in octets. Linux only.
FHCRAWL_READER_MEMORY = 512 * 1024**2
# Maximum CPU time of this process for a document, in seconds.
FHCRAWL_READER_TIMEOUT = 60

# How often archives and pages are checked for changes, with conditional requests: the number of days within
# which each is checked once, and the maximum number of checks per feed and run. 0: no checks.
FHCRAWL_RECHECK: list[int] | str = [30, 20]
# Maximum number of pages of a feed that a crawl reads once more, because they can change meanwhile; the next
# crawls continue. The feed is `complete` if both readings of all pages agree. 0: no second reading.
FHCRAWL_CONFIRM_PAGES = 500
# Whether to delete entries that the feed's chain no longer contains; the next export marks them as `deleted`.
# By default they are kept and counted (`absent` in `fhcrawl feeds --json`).
FHCRAWL_DELETE_ABSENT = False
# Whether to delete entries under their former ids (`--merge-renamed`; for one feed, `merge_renamed = true`),
# if the publisher has changed ids and the feed's chain no longer contains the former ones. The next export
# marks them as `deleted`. By default they are kept and counted (`renamed` in `fhcrawl feeds --json`).
FHCRAWL_MERGE_RENAMED = False
# Minimum time in seconds between two polls of a feed, in crawls with `--due`.
FHCRAWL_DUE_MIN_SECONDS = 15 * 60
# Maximum time in seconds between two polls, regardless of the feed, its server and its history.
FHCRAWL_DUE_MAX_SECONDS = 24 * 60 * 60
# Whether to request unlinked older pages, such as `?paged=2`, of feeds whose software is known to have them,
# and to compare WordPress feeds with the site's list of posts. `--no-platforms` turns it off, for one feed
# `platforms = false`.
FHCRAWL_PLATFORMS_ENABLED = True
# Whether to read up to 5 sitemaps of a feed's site in 30 days, if the feed does not show all entries, to
# count pages that look like entries but are not stored. This does not affect the verdict.
FHCRAWL_SITEMAPS_ENABLED = True
# Maximum number of web pages per feed and crawl to read as entries: those that look like entries and only a
# sitemap names, last changed first. The next crawl reads the rest. Requires the extra `posts`.
# `--from-sitemap` sets it to 1000; 0 reads none.
FHCRAWL_SITEMAP_POSTS = 0
# Whether to request `?page=2` of each feed without links to older pages whose software is not known: once, or
# every 30 days if it has no numbered pages. `--probe` turns it on, for one feed `probe = true`.
FHCRAWL_PROBE = False

# Web archive from which to read captures of the feeds (`--web-archive`; for one feed, `web_archive = "URL"`):
# `wayback` for the Internet Archive, or the part of its URLs before the time, such as
# `https://web.archive.org/web`.
FHCRAWL_WEB_ARCHIVE: str | None = None
# Maximum number of requests to a web archive per feed and run; the next run continues. 0: no limit.
FHCRAWL_MAX_CAPTURES = 500
# Whether to read all distinct captures, from a web archive or WARC files, and so earlier versions of entries,
# instead of only those needed to find each entry.
FHCRAWL_ALL_CAPTURES_ENABLED = False

# Hosts at private and other special addresses to which feeds may link, besides their own host and port:
# names, `host:port`, addresses and networks, separated by commas.
FHCRAWL_ALLOWED_PRIVATE_HOSTS: list[str] = []
# Whether lists of feeds may contain `file:` URLs. The command line always may.
FHCRAWL_LISTED_FILES_ENABLED = False

# Path of the WARC files to which all responses are written, ending in `.warc.gz` or `.warc`. It may contain
# the placeholders of Scrapy's FEEDS, and the file's number, `%(serial)05d` (if missing, `-%(serial)05d` is
# inserted before the extension).
FHCRAWL_WARC: str | None = None
# Size in octets after which a new WARC file is started. 0: no limit.
FHCRAWL_WARC_MAX_SIZE = 1_000_000_000

# Whether to show progress on the terminal. Otherwise, or without a terminal, it is logged every
# LOGSTATS_INTERVAL seconds.
FHCRAWL_PROGRESS_ENABLED = True
# Whether to print the table of feeds, and what is missing, to stderr if progress is not shown and something
# has changed, or a gap or a failed read is new. `fhcrawl crawl` sets it. Otherwise they are logged.
FHCRAWL_SUMMARY_ENABLED = False

# Whether to skip archives that earlier runs have processed, instead of fetching every document.
DELTAFETCH_ENABLED = True
# Whether to fetch every document of this run's feeds again (`--reset`); stored entries are kept.
DELTAFETCH_RESET = False

# Scrapy/VERSION: add a way to contact you, such as `fhcrawl (+https://example.org/who-crawls)`; otherwise, a
# server's operators can only block you, and a crawl of public feeds warns.
USER_AGENT = f"fhcrawl/{__version__} (Scrapy; RFC 5005 feed history)"
# text/html first: fhcrawl needs feeds. Accept-Language, en: fhcrawl needs the publisher's default language.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5",
}
# False: if False, documents that a site disallows are fetched, and its Crawl-delay is ignored.
ROBOTSTXT_OBEY = True
# 8: also limits all hosts of a registered domain together. With a higher value, the feeds of a host are
# crawled faster, at its expense.
CONCURRENT_REQUESTS_PER_DOMAIN = 1
# 16: requests go to up to 64 domains at once. Each may keep a document of DOWNLOAD_MAXSIZE in memory.
CONCURRENT_REQUESTS = 64
# scrapy.core.downloader.Downloader: obeys CONCURRENT_REQUESTS_PER_DOMAIN strictly.
DOWNLOADER = "fhcrawl.core.engine.Downloader"
# scrapy.core.scheduler.Scheduler: with another scheduler, feeds are released and changes are exported only at
# the end of the crawl. A crawl resumed with JOBDIR makes the queued requests, and starts feeds that have none
# or that another crawl has started since. The feeds of a killed crawl start again from the store.
SCHEDULER = "fhcrawl.core.engine.Scheduler"
# scrapy.pqueues.DownloaderAwarePriorityQueue: a host with a delay does not block others.
SCHEDULER_PRIORITY_QUEUE = "fhcrawl.core.engine.PoliteQueue"
# 1 GiB: octets of the compressed and of the decompressed body; larger documents are `too-large`. Parsing
# takes up to 10 times the size in memory, 15 times if a document is malformed.
DOWNLOAD_MAXSIZE = 96 * 1024**2
# 32 MiB: half of DOWNLOAD_MAXSIZE.
DOWNLOAD_WARNSIZE = 48 * 1024**2
# 180: seconds for a complete response.
DOWNLOAD_TIMEOUT = 60
# True: cookies could identify you.
COOKIES_ENABLED = False
# True: only HTML has it.
METAREFRESH_ENABLED = False
# False: if False, feeds with invalid certificates are read, and anybody between you and the server can forge
# a history.
DOWNLOAD_VERIFY_CERTIFICATES = True
# True: truncated documents are read, unless compressed, and requested again.
DOWNLOAD_FAIL_ON_DATALOSS = False
# Without 520, 521, 525 and 530: these are errors of Cloudflare, as 522 and 524 are.
RETRY_HTTP_CODES = [500, 502, 503, 504, 520, 521, 522, 524, 525, 530, 408, 429]
# scrapy.resolver.CachingThreadedResolver: finds hosts that have only IPv6 addresses.
TWISTED_DNS_RESOLVER = "scrapy.resolver.CachingHostnameResolver"
# ERROR: the spider logs failures itself.
RETRY_GIVE_UP_LOG_LEVEL = "DEBUG"
# True: the console opens a local port through which code can be run in the crawl.
TELNETCONSOLE_ENABLED = False
# True: remote control opens a local port.
REMOTE_CONTROL_ENABLED = False
# True: hides which document linked to another.
REFERER_ENABLED = False

# scrapy.robotstxt.ProtegoRobotParser: reads only the first 500 KiB, and keeps only the files used last.
ROBOTSTXT_PARSER = "fhcrawl.downloadermiddlewares.politeness.BoundedRobotParser"

# 2083: does not skip long URLs.
URLLENGTH_LIMIT = 0

# DEBUG: at DEBUG, Scrapy logs every entry.
LOG_LEVEL = "INFO"
# scrapy.logformatter.LogFormatter: escapes text that could control a terminal or forge log lines.
LOG_FORMATTER = "fhcrawl.core.log.LogFormatter"
# True: LOG_FORMATTER escapes colours.
LOG_COLOR = False
# WARNING: most entries are duplicates, which are dropped.
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"

# True: not needed.
WARN_ON_GENERATOR_RETURN_VALUE = False
# 100: pipelines are synchronous.
CONCURRENT_ITEMS = 8

# scrapy.pipelines.ItemPipelineManager: reports when all entries of a document are processed.
ITEM_PROCESSOR = "fhcrawl.pipelines.ItemPipelineManager"

# True: no empty file if nothing has changed.
FEED_STORE_EMPTY = False
# None: JSON in UTF-8, without \uXXXX.
FEED_EXPORT_ENCODING = "utf-8"
# None: the fields of the items, in their order.
FEED_EXPORT_FIELDS = items.FIELDS
# Scrapy's exporters do not escape control characters for terminals, join lists with commas in CSV, write
# U+000D to XML unescaped (which makes it a line break), and do not support Parquet.
FEED_EXPORTERS = {
    "json": "fhcrawl.exporters.rows.JsonItemExporter",
    "xml": "fhcrawl.exporters.rows.XmlItemExporter",
    "jsonlines": "fhcrawl.exporters.rows.JsonLinesItemExporter",
    "jsonl": "fhcrawl.exporters.rows.JsonLinesItemExporter",
    "jl": "fhcrawl.exporters.rows.JsonLinesItemExporter",
    "csv": "fhcrawl.exporters.rows.CsvItemExporter",
    "parquet": "fhcrawl.exporters.rows.ParquetItemExporter",
}
