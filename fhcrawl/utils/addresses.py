"""Hosts and addresses: their forms, and the special-purpose ones. No names are resolved here."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from socket import inet_aton
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

import idna
from w3lib.url import safe_url_string

from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tldextract import TLDExtract

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORTS = {"http": 80, "https": 443}
HIGHEST_PORT = 65535
# Scheme, authority, path and query; the fragment is left out.
WEB_URL = re.compile(r"(https?|file)://([^/?#]*)([^?#]*)((?:\?[^#]*)?)", re.IGNORECASE)
PORT = re.compile(r":([0-9]*)$")
ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
# The characters of a path and a query that may be reserved: RFC 3986, 3.3 and 3.4.
LEGAL = ":/?@!$&'()*+,;=%~"
HOSTS_REMEMBERED = 1000
DOMAINS_REMEMBERED = 2**16
EXAMPLE = "use a host, host:port, an address or a network, such as intranet.example:8080 or 10.1.0.0/16"

# IANA's registries of special-purpose addresses (RFC 6890), and multicast. Python's is_global differs
# between versions of Python. The first network that contains an address counts.
SPECIAL = {
    ip_network(network): kind
    for kind, networks in {
        "an unspecified": "0.0.0.0/8 ::/128",
        "a private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
        "a shared": "100.64.0.0/10",
        "a loopback": "127.0.0.0/8 ::1/128",
        "a link-local": "169.254.0.0/16 fe80::/10",
        "a documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        "a benchmarking": "198.18.0.0/15",
        "a multicast": "224.0.0.0/4 ff00::/8",
        # RFC 4291, 2.4: all other addresses are global unicast, of which IANA has allocated only 2000::/3.
        "a reserved": "192.0.0.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.175.48.0/24 "
        "240.0.0.0/4 ::/3 4000::/2 8000::/1 2001::/23 2620:4f:8000::/48",
    }.items()
    for network in networks.split()
}
NAT64 = IPv6Network("64:ff9b::/96")

# RFC 3490, 3.1: characters that are equivalent to a dot in a domain name.
DOTS = re.compile("[\u3002\uff0e\uff61]")
NUMBERS = re.compile(r"[0-9a-fx.]+")
NO_DIGITS = re.compile(r"\b0x(?=\.|$)")
HOST = re.compile(r"[^\s/?#@:\[\]]+")
USER_INFORMATION = re.compile(r"^((?:[^:/?#]+:)?//)[^/?#]*@")
HOST_AND_PORT = re.compile(r"(?P<host>[^:\[\]]+|\[[^\]]+\])(?::(?P<port>[0-9]{1,5}))?")


class Origin(NamedTuple):
    host: str
    port: int


def origin(url: str) -> Origin:
    """:raises ValueError: if the URL or its port is invalid"""
    parts = urlsplit(url)
    port = PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
    return Origin(canonical(parts.hostname or ""), port)


def site(url: str) -> str:
    """Return the scheme, host and port of a URL, as a URL; '' if it is not one of the web."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in PORTS and parts.hostname:
            return f"{parts.scheme}://{parts.netloc.lower()}"
    return ""


@lru_cache(HOSTS_REMEMBERED)
def canonical(host: str) -> str:
    """Return a host in lower case, in ASCII if possible, and an address in its usual form."""
    host = DOTS.sub(".", unicodedata.normalize("NFKC", unquote(host)))
    if not host.isascii():
        with contextlib.suppress(UnicodeError):
            host = host.encode("idna").decode("ascii")
    host = host.lower().removesuffix(".").removeprefix("[").removesuffix("]")
    address = _ipv6(host) if ":" in host else _ipv4(host)
    return host if address is None else str(address)


def literal(host: str) -> Address | None:
    """Return the address in any form that resolvers accept (`0x7f.1`); None for a name."""
    host = canonical(host)
    return _ipv6(host) if ":" in host else _ipv4(host)


# https://url.spec.whatwg.org/#concept-ipv4-parser accepts the same as inet_aton, but for what follows white
# space and for 0x alone: one to four numbers, decimal, octal or hexadecimal, of which the last one fills the
# remaining octets.
def _ipv4(host: str) -> IPv4Address | None:
    try:
        return IPv4Address(inet_aton(NO_DIGITS.sub("0", host))) if NUMBERS.fullmatch(host) else None
    except OSError:
        return None


def _ipv6(host: str) -> IPv6Address | None:
    try:
        return IPv6Address(host.partition("%")[0])  # without the zone (RFC 6874)
    except ValueError:
        return None


def special(address: Address) -> str | None:
    """Return the kind of a special address with its article ('a loopback'); None for a public address."""
    if isinstance(address, IPv6Address) and (embedded := _embedded(address)):
        return next(filter(None, map(special, embedded)), None)
    return next((kind for network, kind in SPECIAL.items() if address in network), None)


# RFC 4291, 2.5.5.2; RFC 6052, 2.1; RFC 3056, 2; RFC 4380, 4.
def _embedded(address: IPv6Address) -> list[IPv4Address]:
    if address in NAT64:
        return [IPv4Address(int(address) & 0xFFFF_FFFF)]
    embedded = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
    return [address for address in embedded if address is not None]


def special_name(host: str) -> bool:
    """Return whether a host name always resolves to this machine (RFC 6761, 6.3)."""
    return host == "localhost" or host.endswith(".localhost")


@lru_cache(DOMAINS_REMEMBERED)
def registered_domain(host: str) -> str:
    """Return the domain under which a host is registered: `example.org` for `feeds.example.org`.

    The public suffixes are those of the ICANN section: all of `blogspot.com` is one domain. An address, a
    public suffix and a name without dots are returned as they are.
    """
    host = canonical(host)
    if "." not in host or literal(host) is not None:
        return host
    parts = _extractor()(host)
    if parts.suffix:
        return f"{parts.domain}.{parts.suffix}" if parts.domain else host
    # publicsuffix.org: "If no rules match, the prevailing rule is '*'."
    return ".".join(host.split(".")[-2:])


@cache
def _extractor() -> TLDExtract:
    # Its import takes 0.2 seconds. The list is that of the package: nothing is downloaded or written.
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None)


def is_of_this_machine(url: str) -> bool:
    """Return whether a URL is a file: URL, or its host is localhost or a loopback address."""
    if urlsplit(url).scheme == "file":
        return True
    host = origin(url).host
    address = literal(host)
    return special_name(host) if address is None else special(address) == "a loopback"


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    hosts: frozenset[tuple[str, int | None]] = frozenset()  # names and addresses
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> AllowedHosts:
        """:raises ArgumentError: if an entry is invalid"""
        listed = [*filter(None, map(str.strip, entries))]
        return cls(
            frozenset(_host_and_port(entry) for entry in listed if "/" not in entry),
            tuple(_network(entry) for entry in listed if "/" in entry),
        )

    def has(self, where: Origin) -> bool:
        return (where.host, where.port) in self.hosts or (where.host, None) in self.hosts

    def refusal(self, address: Address, port: int) -> str | None:
        kind = special(address)
        if kind is None:
            return None
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        for equivalent in filter(None, (address, mapped)):
            is_in_network = any(equivalent in network for network in self.networks)
            if is_in_network or self.has(Origin(canonical(str(equivalent)), port)):
                return None
        return f"it is at {kind} address ({address})"


def _network(entry: str) -> Network:
    try:
        return ip_network(entry)
    except ValueError as error:
        raise ArgumentError(f"FHCRAWL_ALLOWED_PRIVATE_HOSTS: {error}; {EXAMPLE}") from error


def _host_and_port(entry: str) -> tuple[str, int | None]:
    if _ipv6(entry) is not None:
        return canonical(entry), None
    match = HOST_AND_PORT.fullmatch(entry)
    host = canonical(match["host"]) if match else ""
    port = int(match["port"]) if match and match["port"] else None
    if not (HOST.fullmatch(host) or _ipv6(host)) or (port is not None and not 0 < port <= HIGHEST_PORT):
        raise ArgumentError(f"FHCRAWL_ALLOWED_PRIVATE_HOSTS: {entry!r} is not a host; {EXAMPLE}")
    return host, port


def has_credentials(url: str) -> bool:
    return "@" in urlsplit(url).netloc


def may_have_headers(url: str, origin_url: str) -> bool:
    """Return whether the user's headers for another URL, which may be credentials, may be sent to a URL."""
    parts, origin_parts = urlsplit(url), urlsplit(origin_url)
    return parts.netloc == origin_parts.netloc and parts.scheme in (origin_parts.scheme, "https")


def tidied(url: str) -> str:
    """Return the name of the feed at a URL: as the user gave it, but for case, port and fragment."""
    match = WEB_URL.match(url)
    if match is None:
        return url
    scheme, authority, path, query = match.groups()
    scheme = scheme.lower()
    if scheme not in PORTS:
        return f"{scheme}://{authority}{path}{query}"
    user, at, place = authority.rpartition("@")
    port = PORT.search(place)
    if port is not None and port[1].lstrip("0") in ("", str(PORTS[scheme])):
        place = place[: port.start()]
    place = place.lower() if place.isascii() else place
    return f"{scheme}://{user}{at}{place}{path or '/'}{query}"


def normalised(url: str) -> str:
    """Return the URL by which spellings are compared: RFC 3986, 6.2.2 and 6.2.3; RFC 3987, 3.1; UTS 46."""
    match = WEB_URL.match(tidied(url))
    if match is None:
        return url
    scheme, authority, path, query = match.groups()
    user, at, place = authority.rpartition("@")
    host, *port = PORT.split(place)
    path = _without_dot_segments(_normalise_escapes(path))
    return f"{scheme}://{user}{at}{':'.join([_to_ascii(host), *port[:1]])}{path}{_normalise_escapes(query)}"


def encoded(url: str) -> str:
    """Return a URL in ASCII, without control characters."""
    return quote(safe_url_string(url), f"{LEGAL}#[]")


def _to_ascii(host: str) -> str:
    name = unquote(host).lower()
    if not HOST.fullmatch(name):
        return host.lower()
    if name.isascii():
        return name
    # UTS 46 allows more than idna.encode, which follows IDNA 2008.
    with contextlib.suppress(idna.IDNAError):
        name = idna.uts46_remap(name, std3_rules=False)
    labels = name.split(".")
    return ".".join(n if n.isascii() else f"xn--{n.encode('punycode').decode()}" for n in labels)


def _normalise_escapes(text: str) -> str:
    return ESCAPE.sub(lambda escape: quote(unquote_to_bytes(escape[0]), ""), quote(text, LEGAL))


# RFC 3986, 5.2.4. `urljoin` joins `/..//a` to `/a`.
def _without_dot_segments(path: str) -> str:
    kept: list[str] = []
    _empty, *segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    end = [""] if segments[-1:] in (["."], [".."]) else []
    return f"/{'/'.join(kept + end)}"


def without_credentials(url: str) -> str:
    """Return a URL, even an invalid one, without user name and password."""
    return USER_INFORMATION.sub(r"\1", url)


def is_downgrade(url: str, user_urls: Iterable[str], earlier_urls: Iterable[str]) -> bool:
    """Return whether a URL is http: on a host that was reached with https:.

    :param user_urls: URLs that the user gave: their hosts may have http: if they were user_urls with it
    :param earlier_urls: URLs that led to this one
    """
    if urlsplit(url).scheme != "http":
        return False
    host = origin(url).host
    if any(urlsplit(other).scheme == "http" and origin(other).host == host for other in user_urls):
        return False
    return any(urlsplit(other).scheme == "https" and origin(other).host == host for other in earlier_urls)


# Behind a proxy that ends TLS, many publishers write links with http:.
def secured(url: str, user_urls: Iterable[str], earlier_urls: Iterable[str]) -> str:
    """Return a URL with https: if it is a downgrade (`is_downgrade`) with the default port."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        if parts.port in (None, PORTS["http"]) and is_downgrade(url, user_urls, earlier_urls):
            return parts._replace(scheme="https", netloc=parts.netloc.removesuffix(":80")).geturl()
    return url


def name_of(url: str) -> str:
    """Return a URL without scheme and default port: old captures may have http: instead of https:."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url  # an invalid URL, of which there are no captures
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(f":{PORTS.get(parts.scheme, 80)}")
    return f"{host}{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
