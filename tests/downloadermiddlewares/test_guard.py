"""What links in a feed must not reach, and where credentials stay."""

import contextlib
import datetime
import pickle
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from scrapy import Request
from scrapy.utils.request import request_from_dict
from scrapy.utils.test import get_crawler

from fhcrawl.crawling.context import ANY_ADDRESS
from fhcrawl.crawling.failures import RefusedUrl
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.downloadermiddlewares.guard import GuardMiddleware
from fhcrawl.store import schema
from fhcrawl.utils.addresses import AllowedHosts
from tests.contexts import walk_request
from tests.feeds import E, atom, atom_link
from tests.in_process import MemoryServer
from tests.projects import Project, Run
from tests.resolver import NEVER, names
from tests.server import FeedServer
from tests.utils.test_addresses import LOOPBACK_SPELLINGS

pytestmark = pytest.mark.any_store("which addresses are connected to")

STUB = {"TWISTED_DNS_RESOLVER": "tests.resolver.StubResolver", "RETRY_TIMES": 0}
TABLES = list(schema.metadata.tables)
PUBLIC = "93.184.216.34"


class Trap:
    """A port on loopback that nobody must come to."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.port: int = listening.getsockname()[1]

    def caught(self) -> list[bytes]:
        """What each connection has sent."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                connection, _peer = self._listening.accept()
                with connection:
                    connection.settimeout(5)
                    found.append(connection.recv(1000))
        return found


@pytest.fixture
def trap() -> Iterator[Trap]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield Trap(listening)


class TlsFeedServer(FeedServer):
    """The same with https."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate(folder))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    @property
    def root(self) -> str:
        return f"https://localhost:{self._server.server_port}"


def certificate(folder: Path) -> Path:
    """A key and its certificate, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + built.public_bytes(serialization.Encoding.PEM))
    return path


def reasons(project: Project) -> dict[str, list[str]]:
    """The kinds of the reasons of each feed, by the feed's path."""
    return {
        feed["feed"].partition("//")[2].partition("/")[2]: [reason["kind"] for reason in feed["reasons"]]
        for feed in project.feeds()
    }


def port_of(server: FeedServer) -> int:
    return int(server.root.rpartition(":")[2])


def crawl_links(project: Project, server: FeedServer, links: list[str], **environment: Any) -> Run:
    """Crawl a feed for each link, all in one run."""
    for number, link in enumerate(links):
        server.serve(f"/{number}", atom([E("1")], prev=link))
    return project.crawl(
        *(server.url(f"/{number}") for number in range(len(links))), settings=STUB, **environment
    )


def test_no_spelling_of_a_special_address_is_fetched(
    server: FeedServer, project: Project, trap: Trap
) -> None:
    hosts = [
        *LOOPBACK_SPELLINGS,
        *("localhost", "LOCALHOST.", "x.localhost", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]"),
        *(
            "[::ffff:7f00:1]",
            "0",
            "10.0.0.1",
            "169.254.169.254",
            "[fe80::1%25lo]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::1]",
        ),
    ]
    run = crawl_links(project, server, [f"http://{host}:{trap.port}/a1" for host in hosts], **names({}))
    assert reasons(project) == {str(number): ["private-address"] for number in range(len(hosts))}
    assert trap.caught() == []
    assert run.stats["fhcrawl/document/refused"] == len(hosts)
    assert "is not fetched: it is at a loopback address (127.0.0.1)" in run.log
    assert "is not fetched: it is on this machine" in run.log


def test_names_of_special_addresses_are_not_connected_to(
    server: FeedServer, project: Project, trap: Trap
) -> None:
    table = {
        "loopback.test": [["127.0.0.1"]],
        "ipv6.test": [["::1"]],
        "mapped.test": [["::ffff:127.0.0.1"]],
        "one-of-two.test": [[PUBLIC, "127.0.0.1"]],
        "metadata.test": [["169.254.169.254"]],
        "zone.test": [["fe80::1%lo"]],
    }
    links = [f"{scheme}://{name}:{trap.port}/a1" for name in table for scheme in ("http", "https")]
    run = crawl_links(project, server, [*links, "http://no-such.test/a1"], **names(table))
    expected = {str(number): ["private-address"] for number in range(len(links))}
    assert reasons(project) == {**expected, str(len(links)): ["no-host"]}
    assert trap.caught() == []
    errors = [line for line in run.log.splitlines() if "] ERROR: " in line]
    assert all("no-such.test" in line for line in errors)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_name_that_is_looked_up_again_and_is_private_then_is_sent_nothing(
    server: FeedServer, project: Project, trap: Trap, scheme: str
) -> None:
    table = {"rebinding.test": [[PUBLIC], ["127.0.0.1"], [PUBLIC], ["127.0.0.1"]]}
    crawl_links(project, server, [f"{scheme}://rebinding.test:{trap.port}/a1"], **names(table))
    assert reasons(project) == {"0": ["private-address"]}
    # robots.txt and the archive: connected to, and left without a word.
    assert trap.caught() == [b"", b""]


def test_start_url_is_not_redirected_to_a_private_address(
    server: FeedServer, project: Project, trap: Trap
) -> None:
    for number, host in enumerate(("127.0.0.1", "2130706433", "private.test")):
        location = f"http://{host}:{trap.port}/secret"
        server.serve(f"/{number}", "", status=302, headers={"Location": location})
    feeds = [server.url(f"/{number}") for number in range(3)]
    project.scrapy("subscribe", *feeds)  # or the store would forget them
    project.crawl(*feeds, settings=STUB, **names({"private.test": [["127.0.0.1"]]}))
    assert reasons(project) == {str(number): ["not-read", "private-address"] for number in range(3)}
    assert trap.caught() == []


@pytest.mark.quick
def test_private_host_of_one_feed_is_closed_to_another(project: Project, server: FeedServer) -> None:
    intranet = f"http://intranet.test:{port_of(server)}"
    with FeedServer() as other:
        server.serve("/index", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        server.serve("/secret", atom([E("secret")]))
        # Where the other feed is, so that the connection to the intranet is open when it is requested.
        other.serve("/spy", atom([E("3")], prev=f"{intranet}/secret"))
        other.serve("/robots.txt", "", status=302, headers={"Location": f"{intranet}/delete"})
        run = project.crawl(
            f"{intranet}/index", other.url("/spy"), settings=STUB, **names({"intranet.test": [["127.0.0.1"]]})
        )
    assert reasons(project) == {"index": [], "spy": ["private-address"]}
    assert set(run.changes) == {"1", "2", "3"}
    assert sorted(server.requested()) == ["/a1", "/index"]


@pytest.mark.parametrize(
    "allowed",
    ["private.test,127.0.0.2:{port},localhost", "127.0.0.0/8", "127.0.0.1:{port},127.0.0.2,localhost:{port}"],
)
def test_listed_private_hosts_may_be_led_to(server: FeedServer, project: Project, allowed: str) -> None:
    with FeedServer(("0.0.0.0", 0)) as other:
        port = port_of(other)
        for path in ("/0", "/1", "/2"):
            other.serve(path, atom([E("1")]))
        links = [
            f"http://{host}:{port}/{n}" for n, host in enumerate(("private.test", "127.0.0.2", "localhost"))
        ]
        for number, link in enumerate(links):
            server.serve(f"/{number}", atom([E("2")], prev=link))
        project.crawl(
            *(server.url(f"/{number}") for number in range(3)),
            settings={**STUB, "FHCRAWL_ALLOWED_PRIVATE_HOSTS": allowed.format(port=port)},
            **names({"private.test": [["127.0.0.1"]], "localhost": [["127.0.0.1"]]}),
        )
    expected: dict[str, list[str]] = {"0": [], "1": [], "2": []}
    if allowed == "127.0.0.0/8":
        expected["2"] = ["private-address"]  # a name, which a network does not list
    assert reasons(project) == expected


@pytest.mark.parametrize("resolver", ["CachingThreadedResolver", "CachingHostnameResolver"])
def test_guard_works_with_scrapys_resolvers(server: FeedServer, project: Project, resolver: str) -> None:
    settings = {"TWISTED_DNS_RESOLVER": f"scrapy.resolver.{resolver}", "RETRY_TIMES": 0}
    settings["FHCRAWL_ALLOWED_PRIVATE_HOSTS"] = "127.0.0.2/31"
    with FeedServer(("0.0.0.0", 0)) as other:
        server.serve("/index", atom([E("3")], prev=f"http://127.0.0.2:{port_of(other)}/a2"))
        other.serve("/a2", atom([E("2")], prev="/a1"))
        other.serve("/a1", atom([E("1")], prev="http://no-such-host.invalid/a0"))
        run = project.crawl(server.url("/index"), settings=settings)
    assert set(run.changes) == {"1", "2", "3"}
    assert project.verdict() == ("incomplete", ["no-host"])


def test_resolver_that_never_answers_is_a_timeout(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")], prev="http://slow.test/a1"))
    project.crawl(
        server.url("/index"), settings={**STUB, "DOWNLOAD_TIMEOUT": 1}, **names({"slow.test": [NEVER]})
    )
    assert project.verdict() == ("incomplete", ["timeout"])


def test_https_does_not_fall_back_to_http(project: Project, server: FeedServer, tmp_path: Path) -> None:
    plain = f"http://localhost:{port_of(server)}"
    settings = {
        "FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.1,localhost",
        "DOWNLOAD_VERIFY_CERTIFICATES": "False",
    }
    with TlsFeedServer(tmp_path) as secure:
        secure.serve("/link", atom([E("1")], prev=f"{plain}/a1"))
        secure.serve("/redirect", "", status=302, headers={"Location": f"{plain}/a1"})
        secure.serve("/elsewhere", atom([E("1")], prev=server.url("/a2")))
        secure.serve("/a3", atom([E("1")], prev=f"{plain}/a1"))
        server.serve("/behind", atom([E("2")], prev=secure.url("/a3")))
        server.serve("/a1", atom([E("downgraded")]))
        server.serve("/a2", atom([E("2")]))
        feeds = [*map(secure.url, ("/link", "/redirect", "/elsewhere")), server.url("/behind")]
        expected = {"link": ["downgrade"], "redirect": ["not-read", "downgrade"], "elsewhere": []}
        expected["behind"] = ["downgrade"]
        project.scrapy("subscribe", *feeds)  # or the store would forget the one that is never read
        run = project.crawl(*feeds, settings=settings)
        assert reasons(project) == expected
        assert "is not fetched: it is an http: URL on a host that was reached with https:" in run.log
        # A later run comes there from what it has in the store.
        project.crawl(*feeds, settings=settings)
        assert reasons(project) == expected
    assert "/a1" not in server.requested()


@pytest.mark.in_process
def test_links_with_http_are_followed_with_https(
    project: Project, server: MemoryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MemoryServer.servers, "feeds.test", server)
    feed, plain = "https://feeds.test/index", "http://feeds.test"
    both = atom_link("prev-archive", f"{plain}/a2") + atom_link("prev-archive", "https://feeds.test/a2")
    current = atom_link("current", f"{plain}/index")
    server.serve("/index", atom([E("3")], head=both))
    server.serve("/a2", atom([E("2")], head=current, prev=f"{plain}:80/a1"))
    server.serve("/a1", "", status=302, headers={"Location": f"{plain}/a1/"})
    server.serve("/a1/", atom([E("1")], head=current))
    run = project.crawl(feed)
    assert {item["id"]: item["document"] for item in run.items} == {
        "3": feed,
        "2": "https://feeds.test/a2",
        "1": "https://feeds.test/a1/",
    }
    assert project.verdict() == ("complete", [])
    # When the publisher has corrected the links, the archives are the same documents.
    server.forget()
    server.serve("/index", atom([E("4"), E("3")], prev="https://feeds.test/a2"))
    assert set(project.crawl(feed).changes) == {"4"}
    assert server.requested() == ["/index"]
    server.serve("/index", atom([E("5")], prev=f"{plain}/a3"))
    server.serve("/a3", "", status=302, headers={"Location": f"{plain}/a3"})
    project.crawl(feed)
    assert project.verdict() == ("incomplete", ["downgrade"])
    server.serve("/index", atom([E("6")], prev=f"{plain}/a4"))
    project.crawl(feed)
    assert project.verdict() == ("incomplete", ["http-404"])


def test_feed_that_was_given_with_http_may_go_back_to_it(
    project: Project, server: FeedServer, tmp_path: Path
) -> None:
    plain = f"http://localhost:{port_of(server)}"
    settings = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "localhost", "DOWNLOAD_VERIFY_CERTIFICATES": "False"}
    with TlsFeedServer(tmp_path) as secure:
        server.serve("/index", "", status=302, headers={"Location": secure.url("/index")})
        secure.serve("/index", atom([E("2")], prev=f"{plain}/a1"))
        server.serve("/a1", atom([E("1")]))
        project.crawl(f"{plain}/index", settings=settings)
    assert project.verdict() == ("complete", [])


def test_proxy_looks_names_up_and_addresses_are_refused_before_it(
    project: Project, server: FeedServer, trap: Trap
) -> None:
    links = {"0": "http://localhost:81/", "1": "http://0x7f.1:81/", "2": "http://elsewhere.test/a1"}
    for path, link in links.items():
        server.serve(f"http://feeds.test/{path}", atom([E("2")], prev=link))
    server.serve("http://elsewhere.test/a1", atom([E("1")]))
    feeds = [f"http://feeds.test/{path}" for path in links]
    proxy = f"http://ann:proxy-secret@127.0.0.1:{port_of(server)}"
    run = project.crawl(*feeds, settings=STUB, http_proxy=proxy, no_proxy="", **names({}))
    assert reasons(project) == {"0": ["private-address"], "1": ["private-address"], "2": []}
    assert "proxy-secret" not in run.log
    assert {path for path in server.requested() if "robots" not in path} == {
        *feeds,
        "http://elsewhere.test/a1",
    }


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        ("http://ann:proxy-secret@127.0.0.1:1", "the proxy http://127.0.0.1:1 cannot be reached"),
        ("http://nowhere.test:3128", "the proxy http://nowhere.test:3128 cannot be reached"),
        ("socks5://127.0.0.1:1080", "the proxy socks5://127.0.0.1:1080 is not supported; use an HTTP proxy"),
    ],
)
def test_proxy_that_cannot_be_used_is_named(project: Project, proxy: str, said: str) -> None:
    run = project.crawl("http://feeds.test/", settings=STUB, http_proxy=proxy, no_proxy="", **names({}))
    assert f"http://feeds.test/robots.txt cannot be fetched ({said}" in run.log
    assert "proxy-secret" not in run.log


class TestRequests:
    guard = GuardMiddleware(AllowedHosts())

    @pytest.mark.parametrize(
        "url", ["http://ann@127.0.0.1/", "ftp://127.0.0.1/", "data:,x", "file:///etc/passwd", "s3://b/k"]
    )
    def test_what_is_never_fetched(self, url: str) -> None:
        for request in (Request(url), walk_request(url, "http://127.0.0.1/")):
            with pytest.raises(RefusedUrl) as refused:
                self.guard.process_request(request)
            assert refused.value.kind == "refused-url"

    def test_request_from_another_machine_is_checked_here(self) -> None:
        request = walk_request("http://10.0.0.1:81/a1", "http://10.0.0.1/", meta={ANY_ADDRESS: True})
        carried = request_from_dict(pickle.loads(pickle.dumps(request.to_dict())))  # noqa: S301 - just made
        with pytest.raises(RefusedUrl):
            self.guard.process_request(carried)

    def test_snapshot_that_the_user_gave_may_be_anywhere(self) -> None:
        feed, options = "https://10.0.0.1/", FeedOptions(snapshot="http://10.0.0.2/index")
        self.guard.process_request(walk_request("http://10.0.0.2/page", feed, options=options))
        with pytest.raises(RefusedUrl):
            self.guard.process_request(walk_request("http://10.0.0.3/page", feed, options=options))

    def test_what_was_allowed_before_a_redirect_is_not_allowed_behind_it(self) -> None:
        request = walk_request("http://10.0.0.1/a1", "http://10.0.0.1/")
        self.guard.process_request(request)
        assert request.meta[ANY_ADDRESS]
        request = request.replace(url="http://name.test/")
        self.guard.process_request(request)
        assert ANY_ADDRESS not in request.meta

    def test_robots_txt_of_a_special_host_is_requested_for_its_own_feed(self) -> None:
        guard = GuardMiddleware(AllowedHosts())
        robots = Request("http://10.0.0.1/robots.txt")
        with pytest.raises(RefusedUrl):
            guard.process_request(robots)
        guard.process_request(walk_request("http://10.0.0.1/a1", "http://10.0.0.1/"))
        guard.process_request(robots)
        guard.process_request(robots.replace(meta={"redirect_urls": ["http://10.0.0.1/robots.txt"]}))
        with pytest.raises(RefusedUrl):
            guard.process_request(robots.replace(meta={"redirect_urls": ["http://name.test/robots.txt"]}))


def test_networks_in_no_proxy_are_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("no_proxy", "example.org,10.0.0.0/8")
    GuardMiddleware.from_crawler(get_crawler())
    assert [record.getMessage() for record in caplog.records if "no_proxy" in record.getMessage()] == [
        "no_proxy contains networks (10.0.0.0/8), which have no effect: list the hosts instead"
    ]
