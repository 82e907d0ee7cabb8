"""The settings of all deployments. Before each changed one: Scrapy's default, and the reason.

fhcrawl's own settings begin with FHCRAWL_; README.md lists them.
"""

from __future__ import annotations

import os

from fhcrawl import __version__
from fhcrawl.items import FIELDS

BOT_NAME = "fhcrawl"
SPIDER_MODULES = ["fhcrawl.spiders"]
NEWSPIDER_MODULE = "fhcrawl.spiders"
COMMANDS_MODULE = "fhcrawl.commands"
# {}: disabled components are not imported, to save time, and passwords are not logged.
ADDONS = {"fhcrawl.core.addons.SwitchedOff": 0, "fhcrawl.core.addons.Secrets": 0}

# The data directory, an absolute path; None: .scrapy in the project; outside projects, as on Scrapyd, the
# user's data folder (~/.local/share/fhcrawl).
FHCRAWL_DATA_DIR = os.environ.get("FHCRAWL_DATA_DIR")
# SQLAlchemy URL of the store; None: fhcrawl.sqlite in the data directory. Use the environment for a URL with
# a password: the command line is visible in the list of processes.
FHCRAWL_STORE_URL = os.environ.get("FHCRAWL_STORE_URL")
# Seconds without a sign of life after which other crawls can take over the feeds of a crawl.
FHCRAWL_LEASE_SECONDS = 300
# A feed's changes are exported at most this many seconds after it is done, even if other feeds take longer;
# 0: at the end of the run. Each export copies a file that it appends to.
FHCRAWL_EXPORT_SECONDS = 60 * 60
# Name of the job of this process; the processes of a job share feeds. None: this process shares no feeds.
FHCRAWL_JOB: str | None = None
# Maximum number of archives (or documents of a list) and of pages to fetch for a feed in a run; 0: no limit.
FHCRAWL_MAX_ARCHIVES = 100_000
FHCRAWL_MAX_PAGES = 1_000

# Whether the store keeps the original XML (or JSON) of entries, with elements that fhcrawl has no field for.
FHCRAWL_KEEP_XML_ENABLED = True

# Whether the store keeps earlier versions of entries, for `scrapy history`.
FHCRAWL_KEEP_VERSIONS_ENABLED = False

# Path of WARC files to which responses are written, with the placeholders of FEEDS and %(serial)05d, ending
# in .warc.gz or .warc; None: no WARC files. And the size in octets after which a new file is begun; 0: no
# limit. Web archives use 1 GB.
FHCRAWL_WARC: str | None = None
FHCRAWL_WARC_MAX_SIZE = 1_000_000_000

# Whether documents of 32 KiB and more are parsed in a separate process; until that has started, only those of
# 1 MiB and more.
FHCRAWL_READER_ENABLED = True
# Timeout of that process for a document, in seconds; 0 is no limit. 32 MiB take some seconds.
FHCRAWL_READER_TIMEOUT = 600

# Maximum number of documents to prefetch for each chain, by the pattern of its URLs, and of unused ones among
# them; 0 is off. At most CONCURRENT_REQUESTS_PER_DOMAIN + 3 are ahead at a time. With fhcrawl's default of
# one request that is four, which hides the parsing time; with one ahead, a chain takes 5 to 8 % longer. With
# a concurrency of 8, a chain takes about a fifth of its time with 8 ahead, a quarter with 4, and no less with
# 16 (python -m tests.benchmarks.prefetch).
FHCRAWL_PREFETCH = 8

# Maximum time of a feed in a run, in seconds from its first request; 0 is no limit. A daily run should end
# within a day, even if a server sends a byte at a time.
FHCRAWL_MAX_SECONDS = 24 * 60 * 60
# Maximum number of decompressed octets of a feed in a run; 0 is no limit. An endless chain would fill the
# disk. A history of 100,000 entries of 5 KiB is a quarter of the default.
FHCRAWL_MAX_BYTES = 2 * 1024**3
# Octets that must be free on each disk that a crawl writes to (a quarter of a smaller disk), or no documents
# are fetched; 0 is off. Several documents of DOWNLOAD_MAXSIZE may be in progress.
FHCRAWL_MIN_FREE_DISK = 256 * 1024**2
# Limits of a document; 0 is no limit, or the parser's own. Each entry and each element takes some hundred
# bytes of memory, even if it is empty. The limit of entries also applies to tombstones and to documents of
# a list, the limit of elements to those in memory at once, and to the values of JSON.
FHCRAWL_MAX_ENTRIES = 100_000
FHCRAWL_MAX_ELEMENTS = 500_000
# Depth of elements, and characters of a text: the defaults are libxml2's limits, and can only be lowered.
FHCRAWL_MAX_DEPTH = 256
FHCRAWL_MAX_TEXT = 10_000_000
# Longest delay in seconds that a server may ask for (Retry-After, Crawl-delay); for a longer one, its
# documents are left for another run. 0 is no limit.
FHCRAWL_MAX_WAIT = 300

# Minimum and maximum seconds between polls of a feed (-a due=1), which limit the interval that is computed
# from the feed, its server and its history.
FHCRAWL_DUE_MIN_SECONDS = 15 * 60
FHCRAWL_DUE_MAX_SECONDS = 24 * 60 * 60

# Whether an apostrophe is put before CSV cells that a spreadsheet would run as a formula. False: Python's csv
# module reads the cells back as the values of the feed.
FHCRAWL_CSV_FORMULAS_ESCAPED = False

# Hosts at private and other special addresses to which feeds may lead, besides their own host and port:
# names, host:port, addresses, networks.
FHCRAWL_ALLOWED_PRIVATE_HOSTS: list[str] = []

# Whether lists of feeds may contain file: URLs, as arguments can.
FHCRAWL_LISTED_FILES_ENABLED = False

# Whether WordPress feeds without links to pages are crawled with ?paged=2, ?paged=3 and so on.
FHCRAWL_WORDPRESS_ENABLED = False

# Whether a display on the terminal shows the progress of a crawl. False, or without a terminal: a line in the
# log every LOGSTATS_INTERVAL seconds.
FHCRAWL_PROGRESS_ENABLED = True

DELTAFETCH_ENABLED = True
DELTAFETCH_RESET = False

# Scrapy/VERSION: servers should see which crawler it is. Add contact information.
USER_AGENT = f"fhcrawl/{__version__} (Scrapy; RFC 5005 feed history)"
# text/html first: fhcrawl needs feeds. And Accept-Language, en: the publisher's default language is wanted.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5",
}
# False: a crawler should obey robots.txt.
ROBOTSTXT_OBEY = True
# 8: one request at a time to a host. The documents of a chain are read one by one anyway.
CONCURRENT_REQUESTS_PER_DOMAIN = 1
# 16: with one request per host, 64 hosts. With 16, a crawl of 200 hosts that respond after 50 ms waits a
# third of its time (python -m tests.benchmarks.hosts). Each request may hold a document of DOWNLOAD_MAXSIZE.
CONCURRENT_REQUESTS = 64
# Scrapy's downloader, which can exceed the limit per domain.
DOWNLOADER = "fhcrawl.core.downloader.Downloader"
# Scrapy's scheduler, which does not report when a feed is done.
SCHEDULER = "fhcrawl.core.scheduler.Scheduler"
# DownloaderAwarePriorityQueue: a host with a delay must not block other hosts.
SCHEDULER_PRIORITY_QUEUE = "fhcrawl.core.pqueues.PoliteQueue"
# 1 GiB, 32 MiB: recovering a malformed document can take 15 times its size. Both apply to the compressed and
# to the decompressed body.
DOWNLOAD_MAXSIZE = 32 * 1024**2
DOWNLOAD_WARNSIZE = 16 * 1024**2
# True: feeds need no cookies, which allow tracking.
COOKIES_ENABLED = False
# True: meta refresh is for HTML.
METAREFRESH_ENABLED = False
# False: without verification, a history could be forged on the way.
DOWNLOAD_VERIFY_CERTIFICATES = True
# True: the entries of a truncated document are kept, and it is not marked as processed.
DOWNLOAD_FAIL_ON_DATALOSS = False
# ERROR: the spider logs the failure itself.
RETRY_GIVE_UP_LOG_LEVEL = "DEBUG"
# True: an unattended crawl should not be open to remote control.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
# True: see RedirectMiddleware.
REFERER_ENABLED = False

# ProtegoRobotParser: it has no size limit.
ROBOTSTXT_PARSER = "fhcrawl.core.robotstxt.BoundedRobotParser"

# 2083: an archive should not be skipped for a long URL.
URLLENGTH_LIMIT = 0

# DEBUG: it would log every entry.
LOG_LEVEL = "INFO"
# Scrapy's formatter, which does not escape what could control a terminal or forge log lines.
LOG_FORMATTER = "fhcrawl.core.logformatter.LogFormatter"
# True: the formatter escapes all escape sequences, also those for colours.
LOG_COLOR = False
# WARNING: most entries are duplicates, which are dropped in each run.
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"

# True: the spider's callbacks need no check, which Scrapy would repeat for each response.
WARN_ON_GENERATOR_RETURN_VALUE = False
# 100: these are workers for each document; fhcrawl's pipelines are synchronous.
CONCURRENT_ITEMS = 8

# HTTP11DownloadHandler: it connects to any address that a name resolves to.
DOWNLOAD_HANDLERS = {
    "http": "fhcrawl.downloadhandlers.guarded.GuardedDownloadHandler",
    "https": "fhcrawl.downloadhandlers.guarded.GuardedDownloadHandler",
    # FileDownloadHandler: it does not support folders.
    "file": "fhcrawl.downloadhandlers.folders.FolderDownloadHandler",
}
DOWNLOADER_MIDDLEWARES = {
    # Before the guard, so that refused documents of a list count too.
    "fhcrawl.downloadermiddlewares.limits.LimitsMiddleware": 54,
    "fhcrawl.downloadermiddlewares.guard.GuardMiddleware": 55,
    # Like them, before middlewares that return responses; it sees responses after they are decompressed.
    "fhcrawl.downloadermiddlewares.octets.OctetsMiddleware": 61,
    "fhcrawl.downloadermiddlewares.disk.DiskMiddleware": 62,
    # Next to RetryMiddleware, between the engine and HttpCompressionMiddleware.
    "fhcrawl.downloadermiddlewares.cutoff.CutOffMiddleware": 555,
    # Scrapy's middleware does not detect that a compressed body is truncated.
    "fhcrawl.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": 590,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    # After RobotsTxtMiddleware, whose signal it handles, and before RetryMiddleware sees the response.
    "fhcrawl.downloadermiddlewares.politeness.PolitenessMiddleware": 560,
    # Scrapy's middleware would send the headers of a feed to another host.
    "fhcrawl.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    # After RedirectMiddleware, which copies header fields.
    "fhcrawl.downloadermiddlewares.validators.ValidatorsMiddleware": 610,
    # After all middlewares that complete or refuse a request, before those that count and send it.
    "fhcrawl.downloadermiddlewares.prefetch.PrefetchMiddleware": 800,
    # Scrapy's middleware would count prefetched documents twice.
    "fhcrawl.downloadermiddlewares.stats.DownloaderStats": 850,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
}
SPIDER_MIDDLEWARES = {
    # Scrapy's middleware would pass a part of a document (206, 226) as a whole one.
    "fhcrawl.spidermiddlewares.httperror.HttpErrorMiddleware": 50,
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
    # Nearer to the engine than all that drops or changes entries: the pipelines get exactly what it gets.
    "fhcrawl.spidermiddlewares.commit.CommitMiddleware": 60,
    "fhcrawl.spidermiddlewares.deltafetch.DeltaFetch": 100,
    # The depth of a chain is not limited, and the spider does not copy meta.
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
}
# ItemPipelineManager: it does not report when all pipelines have processed the entries of a document.
ITEM_PROCESSOR = "fhcrawl.core.item_processor.ItemPipelineManager"
ITEM_PIPELINES = {
    "fhcrawl.pipelines.duplicates.DuplicatesPipeline": 100,
}
EXTENSIONS = {
    # Scrapy's extension handles a signal for each item, which takes longer than parsing the item.
    "fhcrawl.extensions.corestats.CoreStats": 0,
    "scrapy.extensions.corestats.CoreStats": None,
    "fhcrawl.extensions.store.StoreExtension": -100,
    "fhcrawl.extensions.reader.ReaderExtension": 0,
    "fhcrawl.extensions.warc.WarcExtension": 0,
    # Before the extensions that write to the terminal at the end.
    "fhcrawl.extensions.progress.ProgressExtension": -50,
    # ProgressExtension logs feeds, documents and entries.
    "scrapy.extensions.logstats.LogStats": None,
    "fhcrawl.extensions.verdicts.VerdictsExtension": 0,
    "fhcrawl.extensions.release.ReleaseExtension": 0,
    # Scrapy's extension exports each item at once, and can leave an incomplete file.
    "fhcrawl.extensions.feedexport.FeedExporter": 0,
    "scrapy.extensions.feedexport.FeedExporter": None,
}

# True: a crawl that changes nothing leaves no empty file.
FEED_STORE_EMPTY = False
# None: JSON in UTF-8, without \uXXXX.
FEED_EXPORT_ENCODING = "utf-8"
# None: the fields of the items, in their order.
FEED_EXPORT_FIELDS = FIELDS
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
    "": "fhcrawl.extensions.feedexport.FileFeedStorage",
    "file": "fhcrawl.extensions.feedexport.FileFeedStorage",
    "stdout": "fhcrawl.extensions.feedexport.StdoutFeedStorage",
}
