"""Utilities that do not depend on feeds: addresses, the clock, paths, locks, text for logs."""
