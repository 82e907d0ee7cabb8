"""The deployment on several machines: workers take hosts from a Redis list (scrapy-redis), the store is on PostgreSQL.

An element of the list is a host with its feeds. A worker crawls all of them with Scrapy's own scheduler; until it
is done, a lock in Redis keeps other workers from the host. Redis holds nothing that the store does not know: a feed
whose element is lost is still due.
"""
