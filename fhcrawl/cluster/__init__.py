"""The deployment on several machines: workers take hosts from a Redis list, the store is on PostgreSQL.

Redis holds nothing that the store does not know: a feed whose element of the list is lost is still due.
"""
