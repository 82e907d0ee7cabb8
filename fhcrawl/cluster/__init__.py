"""The deployment on several machines: Scrapy's scheduler on Redis (scrapy-redis), the store on PostgreSQL.

A job is a group of processes (workers) that crawl together. Redis holds transient state: pending requests,
the time of the next request to each host, and the owner of each feed. Results are in the store alone, from
which the state that Redis or a worker loses is restored.
"""
