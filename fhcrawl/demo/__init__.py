"""A publisher of an archived feed on loopback, for `fhcrawl demo`."""
