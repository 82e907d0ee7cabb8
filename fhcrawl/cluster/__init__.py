"""The deployment on several machines: workers take hosts from a Redis list, the store is on PostgreSQL."""
