"""Readers of feed formats, one module each."""
