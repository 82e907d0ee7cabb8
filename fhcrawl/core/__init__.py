"""Classes that replace Scrapy's own by name: scheduler, queue, downloader, item processor, log formatter."""
