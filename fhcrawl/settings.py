"""The settings of every deployment. Beside each changed one: Scrapy's default, and why.

Settings of fhcrawl's own begin with FHCRAWL_; README.md lists them.
"""

from __future__ import annotations

import os

from fhcrawl import __version__
from fhcrawl.items import FIELDS

BOT_NAME = "fhcrawl"
SPIDER_MODULES = ["fhcrawl.spiders"]
NEWSPIDER_MODULE = "fhcrawl.spiders"
COMMANDS_MODULE = "fhcrawl.commands"
# {}: what is off is not imported, which takes time, and passwords are not logged.
ADDONS = {"fhcrawl.core.addons.SwitchedOff": 0, "fhcrawl.core.addons.Secrets": 0}

# The folder of what fhcrawl keeps, as an absolute path; None: .scrapy in the project; where there is none, as
# on Scrapyd, the user's folder for data (~/.local/share/fhcrawl).
FHCRAWL_DATA_DIR = os.environ.get("FHCRAWL_DATA_DIR")
# Where the logical feeds are kept, as an SQLAlchemy URL; None: fhcrawl.sqlite in the data directory. A URL
# may have a password, which the environment keeps and the list of processes shows.
FHCRAWL_STORE_URL = os.environ.get("FHCRAWL_STORE_URL")
# How long (seconds) a crawl that is no longer heard of keeps others from its feeds.
FHCRAWL_LEASE_SECONDS = 300
# How many seconds after a feed is done its changes are exported at the latest, however long the others take;
# 0: at the end. Each time, a file that is appended to is copied.
FHCRAWL_EXPORT_SECONDS = 60 * 60
# Names the job that this process is part of: its processes may work on the same feeds. None: it shares none.
FHCRAWL_JOB: str | None = None
# How many archives (and documents of a list) and pages are fetched for each feed in one run; 0 is no limit.
FHCRAWL_MAX_ARCHIVES = 100_000
FHCRAWL_MAX_PAGES = 1_000

# Whether each entry's own XML (or JSON) is kept in the store, with what fhcrawl has no field for.
FHCRAWL_KEEP_XML_ENABLED = True

# Whether the store keeps what entries were before, for `scrapy history`.
FHCRAWL_KEEP_VERSIONS_ENABLED = False

# Where responses are kept as they came, in WARC files: a path with the placeholders of FEEDS and
# %(serial)05d, which ends in .warc.gz or .warc; None: nowhere. And after how many octets another file
# follows; 0: never. 1 GB is what web archives use.
FHCRAWL_WARC: str | None = None
FHCRAWL_WARC_MAX_SIZE = 1_000_000_000

# Whether documents of 32 KiB and more are read in a process of its own, beside the crawl; until that has
# started, only those of 1 MiB and more.
FHCRAWL_READER_ENABLED = True
# How many seconds that process may take for one document; 0 is no limit. 32 MiB take some seconds.
FHCRAWL_READER_TIMEOUT = 600

# How many documents are fetched ahead of each chain at most, by the pattern of its URLs, and how many of them
# may be needless; 0 is off. At most CONCURRENT_REQUESTS_PER_DOMAIN + 3 are ahead. With fhcrawl's default of
# one at a time that is four: that hides the time that reading takes; with one ahead, a chain takes 5 to 8 %
# longer. With a concurrency of 8, it takes about a fifth of its time with 8 ahead, a quarter with 4, and no
# less with 16 (python -m tests.benchmarks.prefetch).
FHCRAWL_PREFETCH = 8

# How many seconds a feed may take in one run, from its first request on; 0 is no limit. A run a day should
# end in a day, and a server that sends a byte at a time should not hold it up.
FHCRAWL_MAX_SECONDS = 24 * 60 * 60
# How many octets a feed may bring in one run, decompressed; 0 is no limit. A chain that never ends would fill
# the disk. A history of 100,000 entries of 5 KiB is a quarter of that.
FHCRAWL_MAX_BYTES = 2 * 1024**3
# How many octets have to be free on each disk that a crawl writes to, or a quarter of a smaller one: else it
# takes no document. 0 is off. Several documents of DOWNLOAD_MAXSIZE may be under way.
FHCRAWL_MIN_FREE_DISK = 256 * 1024**2
# What one document may hold; 0 is no limit, or the parser's own. Each entry and each element takes some
# hundred bytes of memory, however little is in it. Tombstones and the documents of a list are as many as
# entries at most. Of the elements those count that are in memory at once; in JSON, values do.
FHCRAWL_MAX_ENTRIES = 100_000
FHCRAWL_MAX_ELEMENTS = 500_000
# Levels of elements, and characters of one text: libxml2's own bounds, which can only be lowered.
FHCRAWL_MAX_DEPTH = 256
FHCRAWL_MAX_TEXT = 10_000_000
# How many seconds a server may ask us to wait (Retry-After, Crawl-delay); for more, it is left for another
# run. 0 is no limit.
FHCRAWL_MAX_WAIT = 300

# How many seconds after a poll a feed is due again (-a due=1), at least and at most: whatever the feed, its
# server and its habits say.
FHCRAWL_DUE_MIN_SECONDS = 15 * 60
FHCRAWL_DUE_MAX_SECONDS = 24 * 60 * 60

# Whether CSV has an apostrophe before what a spreadsheet would run as a formula. False: Python's csv module
# gives back the values as the feed has them.
FHCRAWL_CSV_FORMULAS_ESCAPED = False

# Hosts at private and other special addresses that feeds may lead to, besides their own host and port: names,
# host:port, addresses, networks.
FHCRAWL_ALLOWED_PRIVATE_HOSTS: list[str] = []

# Whether lists of feeds may name files of this machine (file:), as feeds that are given one by one may.
FHCRAWL_LISTED_FILES_ENABLED = False

# Whether feeds of WordPress's that name no pages are walked by ?paged=2, ?paged=3 and so on.
FHCRAWL_WORDPRESS_ENABLED = False

# Whether a display on the terminal shows how far a crawl is. False, and where there is no terminal: a line in
# the log every LOGSTATS_INTERVAL seconds.
FHCRAWL_PROGRESS_ENABLED = True

DELTAFETCH_ENABLED = True
DELTAFETCH_RESET = False

# Scrapy/VERSION: servers should see who asks. Add a way to reach you.
USER_AGENT = f"fhcrawl/{__version__} (Scrapy; RFC 5005 feed history)"
# text/html first: feeds are what we want. And Accept-Language, en: a feed is wanted as its publisher made it.
DEFAULT_REQUEST_HEADERS = {
    "Accept": "application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5",
}
# False: crawlers ask first.
ROBOTSTXT_OBEY = True
# 8: never more than one request at a time to a host. A chain is read one by one anyway.
CONCURRENT_REQUESTS_PER_DOMAIN = 1
# 16: with one to a host, these are 64 hosts. With 16, a crawl of 200 hosts that answer after 50 ms waits for
# them a third of its time (python -m tests.benchmarks.hosts). Each may hold a document of DOWNLOAD_MAXSIZE.
CONCURRENT_REQUESTS = 64
# Scrapy's own, which does not keep to that.
DOWNLOADER = "fhcrawl.core.downloader.Downloader"
# Scrapy's own, which does not say when a feed is done.
SCHEDULER = "fhcrawl.core.scheduler.Scheduler"
# DownloaderAwarePriorityQueue: a host that waits must not stop other hosts.
SCHEDULER_PRIORITY_QUEUE = "fhcrawl.core.pqueues.PoliteQueue"
# 1 GiB, 32 MiB: a document that is broken can take 15 times its size to be mended. Both count what comes over
# the wire, and what it is when it is decompressed.
DOWNLOAD_MAXSIZE = 32 * 1024**2
DOWNLOAD_WARNSIZE = 16 * 1024**2
# True: feeds need no cookies, and tracking needs them.
COOKIES_ENABLED = False
# True: pages are not HTML.
METAREFRESH_ENABLED = False
# False: a history that anybody on the way could have written is none.
DOWNLOAD_VERIFY_CERTIFICATES = True
# True: the entries before the cut are kept, and the document is not marked as processed.
DOWNLOAD_FAIL_ON_DATALOSS = False
# ERROR: the walk says it in one sentence.
RETRY_GIVE_UP_LOG_LEVEL = "DEBUG"
# True: nobody should be able to steer an unattended crawl.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
# True: see RedirectMiddleware.
REFERER_ENABLED = False

# ProtegoRobotParser: it reads all of it, however large.
ROBOTSTXT_PARSER = "fhcrawl.core.robotstxt.BoundedRobotParser"

# 2083: a long URL is no reason to lose an archive.
URLLENGTH_LIMIT = 0

# DEBUG: would print every entry.
LOG_LEVEL = "INFO"
# Scrapy's: lets nothing through to the terminal that would drive it, and no line be forged.
LOG_FORMATTER = "fhcrawl.core.logformatter.LogFormatter"
# True: would be escaped there, as all escape sequences are.
LOG_COLOR = False
# WARNING: dropping duplicates is the daily work.
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"

# True: the spider's callbacks have been checked; Scrapy would do it again for each response.
WARN_ON_GENERATOR_RETURN_VALUE = False
# 100: workers for each document; an entry waits for nothing in fhcrawl's own pipelines.
CONCURRENT_ITEMS = 8

# HTTP11DownloadHandler: it connects to whatever a name stands for.
DOWNLOAD_HANDLERS = {
    "http": "fhcrawl.downloadhandlers.guarded.GuardedDownloadHandler",
    "https": "fhcrawl.downloadhandlers.guarded.GuardedDownloadHandler",
    # Scrapy's for files knows no folders.
    "file": "fhcrawl.downloadhandlers.folders.FolderDownloadHandler",
}
DOWNLOADER_MIDDLEWARES = {
    # Before the guard: documents of a list that are refused count too.
    "fhcrawl.downloadermiddlewares.limits.LimitsMiddleware": 54,
    "fhcrawl.downloadermiddlewares.guard.GuardMiddleware": 55,
    # Like them, before all that answers a request, and behind all that decompresses a response.
    "fhcrawl.downloadermiddlewares.octets.OctetsMiddleware": 61,
    "fhcrawl.downloadermiddlewares.disk.DiskMiddleware": 62,
    # Beside RetryMiddleware, and like it nearer to the spider than HttpCompressionMiddleware.
    "fhcrawl.downloadermiddlewares.cutoff.CutOffMiddleware": 555,
    # Scrapy's takes a compressed body that is cut off for a whole one.
    "fhcrawl.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": 590,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    # Behind RobotsTxtMiddleware, which it listens to, and before RetryMiddleware sees the response.
    "fhcrawl.downloadermiddlewares.politeness.PolitenessMiddleware": 560,
    # Scrapy's would take a feed's own headers to another host.
    "fhcrawl.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    # Behind RedirectMiddleware, which takes header fields along.
    "fhcrawl.downloadermiddlewares.validators.ValidatorsMiddleware": 610,
    # Behind all that complete or refuse a request, before what counts and sends it.
    "fhcrawl.downloadermiddlewares.prefetch.PrefetchMiddleware": 800,
    # Scrapy's would count twice what is fetched ahead.
    "fhcrawl.downloadermiddlewares.stats.DownloaderStats": 850,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
}
SPIDER_MIDDLEWARES = {
    # Scrapy's would take a part of a document for all of it.
    "fhcrawl.spidermiddlewares.httperror.HttpErrorMiddleware": 50,
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
    # Before (nearer to the engine) all that may drop or change entries: what it gets goes to the pipelines.
    "fhcrawl.spidermiddlewares.commit.CommitMiddleware": 60,
    "fhcrawl.spidermiddlewares.deltafetch.DeltaFetch": 100,
    # A chain is as deep as a feed is old, and the spider copies no meta.
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
}
# Scrapy's: a document is committed when its entries are through all pipelines, and only this one tells when.
ITEM_PROCESSOR = "fhcrawl.core.item_processor.ItemPipelineManager"
ITEM_PIPELINES = {
    "fhcrawl.pipelines.duplicates.DuplicatesPipeline": 100,
}
EXTENSIONS = {
    # Scrapy's listens to a signal for each item, which takes longer than to read it.
    "fhcrawl.extensions.corestats.CoreStats": 0,
    "scrapy.extensions.corestats.CoreStats": None,
    "fhcrawl.extensions.store.StoreExtension": -100,
    "fhcrawl.extensions.reader.ReaderExtension": 0,
    "fhcrawl.extensions.warc.WarcExtension": 0,
    # Before those that say or write something at the end: the terminal is theirs then.
    "fhcrawl.extensions.progress.ProgressExtension": -50,
    # It says feeds, documents and entries.
    "scrapy.extensions.logstats.LogStats": None,
    "fhcrawl.extensions.verdicts.VerdictsExtension": 0,
    "fhcrawl.extensions.release.ReleaseExtension": 0,
    # Scrapy's would export each item as it comes, and leave half a file behind.
    "fhcrawl.extensions.feedexport.FeedExporter": 0,
    "scrapy.extensions.feedexport.FeedExporter": None,
}

# None: as UTF-8, not as \uXXXX.
FEED_EXPORT_ENCODING = "utf-8"
# None: whatever an item has, in its order.
FEED_EXPORT_FIELDS = FIELDS
# Scrapy's let through to a terminal what would drive it, have commas for lists in CSV, U+000D as it is in XML
# (where it means a line end), and no Parquet.
FEED_EXPORTERS = {
    "json": "fhcrawl.exporters.JsonItemExporter",
    "xml": "fhcrawl.exporters.XmlItemExporter",
    "jsonlines": "fhcrawl.exporters.JsonLinesItemExporter",
    "jsonl": "fhcrawl.exporters.JsonLinesItemExporter",
    "jl": "fhcrawl.exporters.JsonLinesItemExporter",
    "csv": "fhcrawl.exporters.CsvItemExporter",
    "parquet": "fhcrawl.exporters.ParquetItemExporter",
}
# Scrapy's writes to the file itself, which is not whole until the end; what stdout gets stays in a buffer.
FEED_STORAGES = {
    "": "fhcrawl.extensions.feedexport.FileFeedStorage",
    "file": "fhcrawl.extensions.feedexport.FileFeedStorage",
    "stdout": "fhcrawl.extensions.feedexport.StdoutFeedStorage",
}
