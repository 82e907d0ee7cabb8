"""Hosts and addresses."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.addresses import (
    AllowedHosts,
    Origin,
    canonical,
    encoded,
    has_credentials,
    is_of_this_machine,
    literal,
    normalised,
    origin,
    registered_domain,
    special,
    special_name,
    without_credentials,
)

LOOPBACK_SPELLINGS = [
    *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0177.0.0.1", "017700000001", "0x7f.1"),
    *("0X7F.0x0.0x0.0x1", "0x7f000001", "00000177.0000.0x00.000000001", "127%2e0%2E0.1", "%31%32%37.0.0.1"),
    *("\uff11\uff12\uff17.0.0.1", "127\u30020\uff0e0\uff611", "\u2460\u2461\u2466.0.0.1", "127\u200b.0.0.1"),
    "\uff10\uff58\uff17\uff46.1",
]


@pytest.mark.parametrize("host", LOOPBACK_SPELLINGS)
def test_every_spelling_of_an_ipv4_address_is_read(host: str) -> None:
    assert literal(host) == IPv4Address("127.0.0.1")
    assert canonical(host) == "127.0.0.1"


SPECIAL = {
    "an unspecified": "0 0.0.0.0 0x 0.1.2.3 [::]",
    "a private": "10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 [::ffff:10.0.0.1] [64:ff9b::10.0.0.1] "
    "[2002:c0a8:101::] [2001:0:a00:1::] [fc00::1] [fd00:ec2::254]",
    "a shared": "100.64.0.1 100.100.100.200",
    "a loopback": "127.255.255.254 [::1] [0:0:0:0:0:0:0:1] [::1%25lo] [::ffff:127.0.0.1] [::ffff:7f00:1] "
    "[2002:7f00:1::1] [2001:0:808:808:0:0:80ff:fffe] [\uff1a\uff1a1]",
    "a link-local": "169.254.169.254 [fe80::1] [fe80::1%25eth0]",
    "a reserved": "192.0.0.192 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1 240.0.0.1 255.255.255.255 "
    "[::ffff:0:127.0.0.1] [::127.0.0.1] [::8.8.8.8] [64:ff9b:1::1] [100::1] [2001:1::1] [2001:20::1] "
    "[2620:4f:8000::1] [4000::1] [5f00::1] [fec0::1]",
    "a documentation": "192.0.2.1 198.51.100.1 203.0.113.1 [2001:db8::1] [3fff::1]",
    "a benchmarking": "198.18.0.1 198.19.255.255",
    "a multicast": "224.0.0.1 [ff02::1]",
}
PUBLIC = (
    "8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.0.1.0 198.17.255.255 "
    "198.20.0.0 223.255.255.255 [2a00:1450:4001:81b::200e] [2600::] [::ffff:8.8.8.8] "
    "[64:ff9b::8.8.8.8] [2002:808:808::1] [2001:0:808:808::f7f7:f7f7]"
)
NAMES = (
    "example.org 256.0.0.1 1.2.3.4.5 1.2.3.65536x 127.0.0.256 127.0.65536 4294967296 0x100000000 09.0.0.1 "
    "1..2 . -1 +1 1e3 ::1::2 \u0663.0.0.1.org"
)


@pytest.mark.parametrize(("kind", "hosts"), [*SPECIAL.items(), (None, PUBLIC)])
def test_special_addresses(kind: str | None, hosts: str) -> None:
    for host in hosts.split():
        address = literal(host)
        assert address is not None, host
        assert special(address) == kind, host


@pytest.mark.parametrize("host", [*NAMES.split(), "", "9" * 5000, "0" * 5000 + "9"])
def test_names_are_no_addresses(host: str) -> None:
    assert literal(host) is None


@st.composite
def spellings(draw: st.DrawFn) -> tuple[IPv4Address, str]:
    address = draw(st.ip_addresses(v=4))
    assert isinstance(address, IPv4Address)
    octets = list(address.packed)
    count = draw(st.integers(1, 4))
    numbers = [*octets[: count - 1], int.from_bytes(octets[count - 1 :], "big")]
    write = st.sampled_from(["{:d}", "0{:o}", "0x{:x}", "0X{:X}", "000{:o}", "0x00{:x}"])
    text = ".".join(draw(write).format(number) for number in numbers)
    dots = st.sampled_from([".", "\u3002", "\uff0e", "\uff61", "%2e"])
    text = "".join(draw(dots) if c == "." else c for c in text)
    return address, text + draw(st.sampled_from(["", "."]))


@given(spellings())
def test_any_spelling_of_any_ipv4_address_is_read(spelled: tuple[IPv4Address, str]) -> None:
    address, text = spelled
    assert literal(text) == address
    assert origin(f"http://{text}/") == Origin(str(address), 80)


@given(st.ip_addresses())
def test_addresses_that_ipaddress_calls_not_global_are_special(address: IPv4Address | IPv6Address) -> None:
    # One direction: Python's is_global has gaps.
    tunnels = isinstance(address, IPv6Address) and (address.sixtofour or address.teredo)
    if not address.is_global and not tunnels:
        assert special(address)


@given(st.ip_addresses(v=4))
def test_ipv4_inside_ipv6_is_as_special_as_outside(address: IPv4Address) -> None:
    bits = int(address)
    for inside in (0xFFFF << 32 | bits, 0x64FF9B << 96 | bits, 0x2002 << 112 | bits << 80):
        assert special(IPv6Address(inside)) == special(address)


def test_hosts_are_compared_as_resolvers_read_them() -> None:
    assert origin("HTTP://B\u00fccher.Example./x") == Origin("xn--bcher-kva.example", 80)
    assert origin("https://xn--bcher-kva.example") == Origin("xn--bcher-kva.example", 443)
    assert origin("http://[::0001]:8080/") == Origin("::1", 8080)
    assert origin("http://h:0/") == Origin("h", 0)


@pytest.mark.parametrize("host", ["localhost", "a.localhost"])
def test_this_machine_has_special_names(host: str) -> None:
    assert special_name(host)
    assert not special_name(host + ".example")


def test_allowed_hosts_are_names_addresses_and_networks_with_or_without_port() -> None:
    allowed = AllowedHosts.of(
        ["Intra.Example.", "other.example:8080", "10.1.0.0/16", "127.1:81", "[fd00::1]:82", "fd00::2", " "]
    )
    assert allowed.has(Origin("intra.example", 1))
    assert allowed.has(Origin("other.example", 8080))
    assert not allowed.has(Origin("other.example", 80))
    there = (("10.1.2.3", 1), ("127.0.0.1", 81), ("fd00::1", 82), ("fd00::2", 1), ("8.8.8.8", 1))
    for address, port in there:
        assert allowed.refusal(ip_address(address), port) is None
    assert allowed.refusal(ip_address("::ffff:10.1.2.3"), 1) is None
    for address, port in [("10.2.0.0", 1), ("127.0.0.1", 80), ("fd00::1", 80), ("64:ff9b::10.1.2.3", 1)]:
        assert allowed.refusal(ip_address(address), port)
    assert allowed.refusal(ip_address("10.2.0.0"), 1) == "it is at a private address (10.2.0.0)"


@pytest.mark.parametrize(
    "entry",
    [
        *("a b", "http://intra.example/", "10.0.0.1/8", "10.0.0.0/33", "a:0", "a:65536", "a:b", ":80"),
        *("[::1", "a@b", "x/y"),
    ],
)
def test_allowed_host_that_cannot_be_used_is_refused(entry: str) -> None:
    with pytest.raises(ArgumentError, match="use a host, host:port, an address or a network"):
        AllowedHosts.of([entry])


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("HTTP://Host.Example:80/x#y", "http://host.example/x"),
        ("https://host:443", "https://host/"),
        ("https://host:0443/", "https://host/"),
        ("http://host:/x?", "http://host/x?"),
        ("http://host?Q=1#", "http://host/?Q=1"),
        ("http://[::1]:80/x", "http://[::1]/x"),
        ("http://[2001:DB8::80]/", "http://[2001:db8::80]/"),
        ("http://host:443/a//b/../c/?b=2&a=1", "http://host:443/a//c/?b=2&a=1"),
        ("http://host/%7e%c3%zz?%2d|=%2f", "http://host/~%C3%zz?-%7C=%2F"),
        ("http://host/%2E%2e/..//a/./b/..", "http://host//a/"),
        ("http://host/дом{ё?д=../ё", "http://host/%D0%B4%D0%BE%D0%BC%7B%D1%91?%D0%B4=../%D1%91"),
        ("http://BU\u0308CHER\u3002example:8080/", "http://xn--bcher-kva.example:8080/"),
        ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
        ("http://faß.☃/", "http://xn--fa-hia.xn--n3h/"),
        ("http://a%2Fb/", "http://a%2fb/"),
        ("FILE:///a/%42.atom#c", "file:///a/B.atom"),
        (f"http://host:{'9' * 5000}/", f"http://host:{'9' * 5000}/"),
        ("not a URL#", "not a URL#"),
    ],
)
def test_spellings_of_a_url_have_one_normal_form(given: str, normal: str) -> None:
    assert normalised(given) == normal
    assert normalised(normal) == normal


@pytest.mark.parametrize(
    "urls",
    [
        "http://x/a%2Fb http://x/a/b",
        "http://x/a+b http://x/a%20b http://x/a%2Bb",
        "http://x/?a&b http://x/?b&a",
        "http://x/a http://x/a/ http://x//a http://x/A https://x/a http://x:8080/a http://x/a?",
        "http://x/%25C3 http://x/%C3",
        "http://x/?u=a/../b http://x/?u=b",
        "http://x/\u00e9 http://x/e\u0301",  # RFC 3987, 5.3.2.2
        "http://faß.example/ http://fass.example/",
    ],
)
def test_urls_that_may_be_different_feeds_stay_different(urls: str) -> None:
    assert len({*map(normalised, urls.split())}) == len(urls.split())


def test_encoded_url_has_no_control_characters_and_no_other_meaning() -> None:
    assert encoded("http://x\x1b/\x1b[3m%20%7e?ü\u202e") == "http://x%1B/%1B%5B3m%20%7e?%C3%BC%E2%80%AE"
    assert encoded("http://bücher.example/a/../b") == "http://xn--bcher-kva.example/a/../b"


@given(st.text(st.sampled_from("aA/.%2E7eü?:@"), max_size=12))
def test_normalising_is_idempotent(rest: str) -> None:
    normal = normalised(f"http://host/{rest}")
    assert normalised(normal) == normal


def test_credentials_are_taken_out_of_urls() -> None:
    for url, without in [
        ("https://ann:secret@example.org/a?b@c#d", "https://example.org/a?b@c#d"),
        ("https://ann@example.org", "https://example.org"),
        *(("//ann:sec@ret@example.org/", "//example.org/"), ("ftp://ann:secret@[::1/", "ftp://[::1/")),
        ("https://example.org//ann:secret@x", "https://example.org//ann:secret@x"),
        *(("mailto:ann@example.org", "mailto:ann@example.org"), ("a@b", "a@b")),
    ]:
        assert without_credentials(url) == without
    assert has_credentials("http://@example.org/")
    assert not has_credentials("http://example.org/@")


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        *(("file:///srv/feeds/", True), ("http://localhost:8000/", True), ("http://feeds.localhost./", True)),
        *(("https://127.8.9.1/", True), ("http://[::1]:8000/", True), ("http://[::ffff:127.0.0.1]/", True)),
        *(("http://10.0.0.1/", False), ("http://8.8.8.8/", False), ("http://localhost.example.org/", False)),
    ],
)
def test_urls_of_this_machine_are_told_from_others(url: str, is_ours: bool) -> None:
    assert is_of_this_machine(url) is is_ours


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        *(("u1.tumblr.example", "tumblr.example"), ("tumblr.example", "tumblr.example")),
        *(("a.b.example.co.uk", "example.co.uk"), ("WWW.Example.ORG.", "example.org"), ("co.uk", "co.uk")),
        # Services where anybody can have a name.
        *(("a.blogspot.com", "blogspot.com"), ("a.github.io", "github.io")),
        *(("a.b\u00fccher.de", "xn--bcher-kva.de"), ("a.xn--bcher-kva.de", "xn--bcher-kva.de")),
        *(("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1")),
        *(("localhost", "localhost"), ("a.localhost", "a.localhost"), ("intranet", "intranet"), ("", "")),
    ],
)
def test_registered_domain(host: str, domain: str) -> None:
    assert registered_domain(host) == domain
