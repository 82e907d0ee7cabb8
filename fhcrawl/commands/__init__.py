"""The commands beside Scrapy's own."""
