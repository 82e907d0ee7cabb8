"""Recognises challenges: pages that only a browser with JavaScript gets past, in place of a document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.http import Response

CHALLENGE = "is behind a browser challenge, which a crawler cannot solve"
# Header fields, and the values that say so.
HEADERS = {
    "cf-mitigated": {b"challenge"},  # Cloudflare
    "x-vercel-mitigated": {b"challenge"},
    "x-amzn-waf-action": {b"challenge", b"captcha"},
}
# In the beginning of a page; names of paths and variables that ordinary pages of these services do not have.
MARKERS = (
    rb"<title[^>]*>\s*Just a moment\.\.\.",  # Cloudflare
    # Anubis; the apostrophe of "you're" can be a reference.
    rb"<title[^>]*>\s*Making sure you[^<]{1,8}re not a (?:ro)?bot",
    rb"<title[^>]*>\s*DDoS-Guard",
    rb"<title[^>]*>\s*(?:Vercel Security Checkpoint|Checking your browser)",
    rb"_cf_chl_opt\b",
    rb"/\.within\.website/x/cmd/anubis/",
    rb"/\.well-known/sgcaptcha/",  # SiteGround
    rb"\bsucuri_cloudproxy_js\b",
    rb"/_Incapsula_Resource\?",  # Imperva
    rb"//(?:geo\.)?captcha-delivery\.com/",  # DataDome
    rb"\bAwsWafIntegration\b",
    rb"\.gammaspectra\.live/git/go-away/",
)
MARKER = re.compile(b"|".join(MARKERS), re.IGNORECASE)
LONGEST_BEGINNING = 64 * 1024  # octets


def is_challenge(response: Response) -> bool:
    """Return whether a response that is no feed is a challenge."""
    for name, values in HEADERS.items():
        if (response.headers.get(name) or b"").strip().lower() in values:
            return True
    return MARKER.search(response.body[:LONGEST_BEGINNING]) is not None
