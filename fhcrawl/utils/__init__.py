"""What knows nothing of feeds: addresses, the clock, paths, locks, text for logs."""
