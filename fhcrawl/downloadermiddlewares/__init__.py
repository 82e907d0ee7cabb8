"""The downloader middlewares."""
