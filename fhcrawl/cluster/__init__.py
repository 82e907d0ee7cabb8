"""The deployment on several machines: Scrapy's scheduler on Redis (scrapy-redis), the store on PostgreSQL.

The processes (workers) that crawl together are a job. Redis has what is passing: the requests that wait, when
which host may be asked, and which worker has which feed in hand. What has been read is in the store alone, so
that whatever Redis or a worker loses is made good from there.
"""
