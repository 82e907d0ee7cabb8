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

# Absolute path of the data directory. Default: `.scrapy` in the project folder, or outside of projects the
# user's data folder (`~/.local/share/fhcrawl` on Linux). The environment variable of the same name takes
# precedence over a settings module.
FHCRAWL_DATA_DIR: str | None = None
# SQLAlchemy URL of the store. Default: the SQLite file `fhcrawl.sqlite` in the data directory. The
# environment variable of the same name takes precedence over a settings module. Use the environment variable
# for a URL with a password, because the command line is visible in the list of processes.
FHCRAWL_STORE_URL: str | None = None
# Whether the store keeps the original XML (or JSON) of each entry, including elements for which fhcrawl has
# no field. Exported feeds contain them. This doubles the size of the store.
FHCRAWL_KEEP_XML_ENABLED = True
# Whether the store keeps earlier versions of entries; identical content is stored once. A crawl records the
# value in the store, and all later crawls of this store obey it. Default: as recorded; in a new store, no
# versions are kept. `--keep-versions` and `--no-keep-versions` set it.
FHCRAWL_KEEP_VERSIONS_ENABLED: bool | None = None
# Seconds after which other crawls can take over the feeds of a crawl that shows no activity: 3 to 86400.
FHCRAWL_LEASE_SECONDS = 300

# Maximum time in seconds until the changes of a finished feed are exported while other feeds of the run are
# still in progress. 0: export at the end of the run. Each export copies the file that it appends to.
FHCRAWL_EXPORT_SECONDS = 60 * 60

# Fields that `fhcrawl crawl` and `fhcrawl export` write, in this order, separated by commas. A name with a
# plus sign (`+original`) is added to the default fields, which are those of FEED_EXPORT_FIELDS. `--fields`
# sets it.
FHCRAWL_FIELDS: list[str] = []
# Names of profiles, separated by commas: `podcast` and `news` add columns with values from extensions.
# `--profile` sets it.
FHCRAWL_PROFILES: list[str] = []
# Whether exports have the field `extensions`. This requires FHCRAWL_KEEP_XML_ENABLED. `--extensions` sets it.
FHCRAWL_EXTENSIONS_ENABLED = False
# Whether to write CSV for Excel and other spreadsheets: with a byte order mark, by which Excel recognises
# UTF-8; with an apostrophe before cells that a spreadsheet would run as a formula, or that begin with one;
# and with times that it recognises (`2003-12-13 18:30:02`, in UTC). `--excel` sets it.
FHCRAWL_CSV_EXCEL_ENABLED = False

# Names of fields that pipelines add to entries (`item.words = 12`), separated by commas. They are exported
# after fhcrawl's own fields, in this order.
FHCRAWL_ADDED_FIELDS: list[str] = []

# Maximum number of archives, or of documents in a snapshot or folder, fetched for a feed in a run. 0: no
# limit.
FHCRAWL_MAX_ARCHIVES = 100_000
# Maximum number of pages (`next` links) fetched for a feed in a run. 0: no limit.
FHCRAWL_MAX_PAGES = 1_000
# Maximum time for a feed in a run, in seconds from its first request, including parsing. 0: no limit.
FHCRAWL_MAX_SECONDS = 24 * 60 * 60
# Maximum number of octets read for a feed in a run, after decompression. It counts documents (with the base
# URLs and authors that their entries inherit), redirects, captures in web archives, and everything that is
# fetched again, but not captures in WARC files. Each run reads at least one document after the subscription
# document. The store takes about twice as much space. 0: no limit.
FHCRAWL_MAX_BYTES = 2 * 1024**3
# Longest delay in seconds that a server may impose (`Retry-After`, `Crawl-delay`, a rate limit). If it
# imposes a longer one, its documents are fetched in a later run. 0: no limit.
FHCRAWL_MAX_WAIT = 300

# Maximum number of entries in a document, and of deletions; if there are more, the oldest ones are dropped
# (`too-large`). A snapshot or folder that lists more documents is not read at all. 0: no limit.
FHCRAWL_MAX_ENTRIES = 100_000
# Whether large documents are parsed in a separate process: those of 128 KiB or more, and those of 32 KiB or
# more once that process has started. Then a large document does not delay small ones, and one that crashes
# the parser, or exceeds the next two limits, is only a gap (`too-large`).
FHCRAWL_READER_ENABLED = True
# Maximum memory, in octets, that this process may use for a document. 0: no limit. Linux only.
FHCRAWL_READER_MEMORY = 512 * 1024**2
# Maximum CPU time, in seconds, that this process may use for a document. 0: no limit.
FHCRAWL_READER_TIMEOUT = 60

# How often archives and pages that were read are requested again, because publishers may change them: the
# number of days within which each is checked once, and the maximum number of checks per feed in a run. The
# requests are conditional, and spread over the runs: for 120 archives, `30,20` means one check every 6 hours.
# 0: no checks.
FHCRAWL_RECHECK: list[int] | str = [30, 20]
# Pages can change while they are read: those of a feed that was read in full are read once more in the same
# crawl, and the feed is `complete` if both readings agree. This is the maximum number of pages of a feed that
# are read once more in a crawl; the next crawls continue with the others. 0: no second reading.
FHCRAWL_CONFIRM_PAGES = 500
# Whether to delete entries that no document of their feed's chain contains any more. The next export marks
# them as `deleted`. By default they are kept, and counted (`absent` in `fhcrawl feeds --json`).
FHCRAWL_DELETE_ABSENT = False
# If a publisher changes the id of an entry: whether to delete the entry under its former id, once no document
# of its feed's chain contains that id any more. The next export marks it as `deleted`. By default both
# entries are kept, and counted (`renamed` in `fhcrawl feeds --json`). `--merge-renamed` sets it; for one
# feed, use `merge_renamed = true`.
FHCRAWL_MERGE_RENAMED = False
# Minimum time in seconds between two polls of a feed, for crawls of feeds that are due.
FHCRAWL_DUE_MIN_SECONDS = 15 * 60
# Maximum time in seconds between two polls of a feed, regardless of the feed, its server and its history.
FHCRAWL_DUE_MAX_SECONDS = 24 * 60 * 60
# Whether to request older pages that are not linked, such as `?paged=2`, for feeds without links to older
# pages whose software is known to have such pages, and whether to compare feeds of WordPress with the site's
# list of posts. `--no-platforms` turns it off; for one feed, use `platforms = false`.
FHCRAWL_PLATFORMS_ENABLED = True
# Whether to read the sitemaps of a feed's site, at most 5 in 30 days, to find out how many of its pages look
# like entries that are not in the store, if the feed itself does not show all of its entries. Sitemaps do not
# affect the verdict.
FHCRAWL_SITEMAPS_ENABLED = True
# Maximum number of web pages per feed and crawl to read as entries, of those that only a sitemap names: pages
# that look like entries and to which no entry links, those that changed last first. The next crawl reads the
# rest. It requires the extra `posts`. `--from-sitemap` sets it to 1000; 0 reads none.
FHCRAWL_SITEMAP_POSTS = 0
# Whether to request `?page=2` once for each feed that does not link to older pages and whose software is not
# known, to find out whether it has numbered pages. If it has none, the request is repeated after 30 days.
# `--probe` turns it on; for one feed, use `probe = true`.
FHCRAWL_PROBE = False

# Web archive from which to read captures of the feeds: the part of its URLs before the time of the capture,
# such as `https://web.archive.org/web`, or `wayback` for the Internet Archive. `--web-archive` sets it; for
# one feed, use `web_archive = "URL"`. By default, no web archive is used.
FHCRAWL_WEB_ARCHIVE: str | None = None
# Maximum number of requests to a web archive for a feed in a run; the next run continues. 0: no limit.
FHCRAWL_MAX_CAPTURES = 500
# Whether to read all captures with distinct contents, from a web archive or WARC files, instead of only those
# that are needed to find each entry. This finds earlier versions of entries.
FHCRAWL_ALL_CAPTURES_ENABLED = False

# Hosts at private and other special addresses to which feeds may link, in addition to their own host and
# port: names, `host:port`, addresses and networks, separated by commas.
FHCRAWL_ALLOWED_PRIVATE_HOSTS: list[str] = []
# Whether lists of feeds may contain `file:` URLs. On the command line, they are always allowed.
FHCRAWL_LISTED_FILES_ENABLED = False

# Path of the WARC files to which all responses are written. It must end in `.warc.gz` or `.warc` and may
# contain the placeholders of Scrapy's FEEDS, and `%(serial)05d`, the number of the file. If that is missing,
# `-%(serial)05d` is inserted before the extension. Without a path, no WARC files are written.
FHCRAWL_WARC: str | None = None
# Size in octets after which a new WARC file is started. 0: no limit.
FHCRAWL_WARC_MAX_SIZE = 1_000_000_000

# Whether to show the progress of a crawl on the terminal. Otherwise, or without a terminal, progress is
# logged every LOGSTATS_INTERVAL seconds.
FHCRAWL_PROGRESS_ENABLED = True
# Whether to print the table of feeds, and what is missing, to stderr at the end of a crawl that has changed
# or missed something, if progress is not shown on the terminal. `fhcrawl crawl` sets it. Otherwise they are
# written to the log.
FHCRAWL_SUMMARY_ENABLED = False

# Whether to skip archives that earlier runs have processed. Otherwise, each run fetches every document.
DELTAFETCH_ENABLED = True
# Whether to fetch every document of the feeds in this run again; stored entries are kept. `fhcrawl crawl
# --reset` sets it.
DELTAFETCH_RESET = False

# Scrapy/VERSION: servers should be able to identify the crawler. Add a way to contact you, such as `fhcrawl
# (+https://example.org/who-crawls)`. Without it, the operators of a server can only block you. A crawl of
# public feeds warns if it is missing.
USER_AGENT = f"fhcrawl/{__version__} (Scrapy; RFC 5005 feed history)"
# text/html first: fhcrawl needs feeds. Accept-Language, en: fhcrawl needs the publisher's default language.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5",
}
# False: a crawler should obey robots.txt. If you set it to False, documents that a site disallows are
# fetched, and its Crawl-delay is ignored.
ROBOTSTXT_OBEY = True
# 8: one request at a time is gentle on hosts. The documents of a chain are read one by one anyway. The limit
# also applies to all hosts of a registered domain together. With a higher value, the feeds of a host are
# crawled faster, at the expense of that host.
CONCURRENT_REQUESTS_PER_DOMAIN = 1
# 16: with one request per domain, requests go to 64 domains at once. With 16, a crawl of 200 hosts that
# respond after 50 ms spends a third of its time waiting. Each request may keep a document of DOWNLOAD_MAXSIZE
# in memory.
CONCURRENT_REQUESTS = 64
# scrapy.core.downloader.Downloader: Scrapy's downloader can exceed CONCURRENT_REQUESTS_PER_DOMAIN.
DOWNLOADER = "fhcrawl.core.engine.Downloader"
# scrapy.core.scheduler.Scheduler: Scrapy's scheduler does not report when a feed is finished, and requests
# documents twice when a crawl is resumed with JOBDIR. With another scheduler, feeds are released and changes
# are exported only at the end of the crawl. A resumed crawl makes the queued requests, and starts the feeds
# that have none or that another crawl has started since. After a crawl was killed, its feeds start again from
# the state in the store.
SCHEDULER = "fhcrawl.core.engine.Scheduler"
# scrapy.pqueues.DownloaderAwarePriorityQueue: with Scrapy's queue, a host with a delay can block other hosts.
SCHEDULER_PRIORITY_QUEUE = "fhcrawl.core.engine.PoliteQueue"
# 1 GiB: a document is parsed in memory, which takes up to ten times its size; recovering a malformed one can
# take 15 times its size. Podcast feeds with long notes have up to 72 MB. The limit applies to the compressed
# and to the decompressed body. With a smaller value, more documents are `too-large`.
DOWNLOAD_MAXSIZE = 96 * 1024**2
# 32 MiB: half of DOWNLOAD_MAXSIZE.
DOWNLOAD_WARNSIZE = 48 * 1024**2
# 180: a request that hangs is made three times (RETRY_TIMES), and the chain waits. The timeout applies to a
# complete response: on a slow connection, large documents may need more time.
DOWNLOAD_TIMEOUT = 60
# True: feeds do not need cookies, which servers could use to recognise you.
COOKIES_ENABLED = False
# True: meta refresh exists only in HTML.
METAREFRESH_ENABLED = False
# False: without verification, anybody between you and the server could forge a history. If you set it to
# False, feeds with invalid certificates are read.
DOWNLOAD_VERIFY_CERTIFICATES = True
# True: the entries of a truncated document are kept, unless it is compressed, and it is not marked as
# processed.
DOWNLOAD_FAIL_ON_DATALOSS = False
# Without 520, 521, 525 and 530: these are errors of Cloudflare, as 522 and 524 are.
RETRY_HTTP_CODES = [500, 502, 503, 504, 520, 521, 522, 524, 525, 530, 408, 429]
# scrapy.resolver.CachingThreadedResolver: Scrapy's does not find hosts that have only IPv6 addresses.
TWISTED_DNS_RESOLVER = "scrapy.resolver.CachingHostnameResolver"
# ERROR: the spider logs these failures itself.
RETRY_GIVE_UP_LOG_LEVEL = "DEBUG"
# True: the console opens a port on this machine through which code can be run in the crawl.
TELNETCONSOLE_ENABLED = False
# True: remote control opens a port on this machine.
REMOTE_CONTROL_ENABLED = False
# True: servers do not need to know which document linked to them. REFERRER_POLICY would not suffice: the
# Referrer-Policy of a response takes precedence over it.
REFERER_ENABLED = False

# scrapy.robotstxt.ProtegoRobotParser: Scrapy's parser has no size limit, and a robots.txt of 500 KiB takes
# 9 MB of memory. fhcrawl's parser reads only the first 500 KiB, and keeps only the files used last.
ROBOTSTXT_PARSER = "fhcrawl.downloadermiddlewares.politeness.BoundedRobotParser"

# 2083: an archive should not be skipped because its URL is long.
URLLENGTH_LIMIT = 0

# DEBUG: at the level DEBUG, Scrapy logs every entry.
LOG_LEVEL = "INFO"
# scrapy.logformatter.LogFormatter: Scrapy's formatter does not escape text that could control a terminal or
# forge log lines.
LOG_FORMATTER = "fhcrawl.core.log.LogFormatter"
# True: LOG_FORMATTER escapes all escape sequences, including those for colours.
LOG_COLOR = False
# WARNING: most entries in a run are duplicates, which are dropped.
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"

# True: Scrapy would repeat this check, which the spider does not need, for each response.
WARN_ON_GENERATOR_RETURN_VALUE = False
# 100: more workers per document have no effect, because fhcrawl's pipelines are synchronous.
CONCURRENT_ITEMS = 8

# scrapy.pipelines.ItemPipelineManager: Scrapy's manager does not report when all pipelines have processed the
# entries of a document.
ITEM_PROCESSOR = "fhcrawl.pipelines.ItemPipelineManager"

# True: a crawl that finds no changes should not create an empty file.
FEED_STORE_EMPTY = False
# None: write JSON in UTF-8, without \uXXXX.
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
