"""WARC files (ISO 28500:2017, WARC 1.1): what was fetched is kept in them, and old captures are read."""
