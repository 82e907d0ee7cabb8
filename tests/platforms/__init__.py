"""The census: real publishing programs, and what a crawl gets of their posts (`python -m tests.platforms`).

`.ci/platforms` installs the programs. `publisher` has what each of them can do, `publishers` has one module
for each, `__main__` publishes, crawls and counts.
"""
