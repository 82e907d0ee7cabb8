"""The item pipelines."""
