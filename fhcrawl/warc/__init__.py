"""WARC files (ISO 28500:2017, WARC 1.1): writes responses to them, and reads old captures."""
