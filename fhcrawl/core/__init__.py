"""Classes that Scrapy's settings name: scheduler, queue, downloader, item processor, log formatter."""
