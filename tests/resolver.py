"""Host names that resolve to addresses of a test's choice, in a crawl of its own process."""

import json
import os
from ipaddress import IPv4Network
from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver
from typing_extensions import Self
from zope.interface import implementer

from fhcrawl.utils import addresses

NAMES = "TEST_NAMES"
# What counts as public with PublicLoopbackResolver, though a test can listen there.
PUBLIC_LOOPBACK = "127.0.0.2"
NEVER = ["never"]


def names(table: dict[str, list[list[str]]]) -> dict[str, Any]:
    """Environment for names: the addresses of the first answer, of the second, …; the last one stays.

    NEVER is no answer at all.
    """
    return {NAMES: json.dumps(table)}


@implementer(IHostnameResolver)
class StubResolver:
    """TWISTED_DNS_RESOLVER, which has its answers from the environment."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._answers: dict[str, list[list[str]]] = json.loads(os.environ[NAMES])

    @classmethod
    def from_crawler(cls, crawler: object, reactor: Any) -> Self:
        return cls(reactor)

    def install_on_reactor(self) -> None:
        self._reactor.installNameResolver(self)

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        *args: object,
    ) -> object:
        is_address = hostName.replace(".", "").isdecimal()
        answers = self._answers.get(hostName, [[hostName] if is_address else []])
        resolutionReceiver.resolutionBegan(resolutionReceiver)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == NEVER:
            return resolutionReceiver
        for address in answer:
            made = IPv6Address if ":" in address else IPv4Address
            resolutionReceiver.addressResolved(made("TCP", address, portNumber))
        resolutionReceiver.resolutionComplete()
        return resolutionReceiver


class PublicLoopbackResolver(StubResolver):
    """The same where no address but 127.0.0.1 is special."""

    def install_on_reactor(self) -> None:
        for network in [network for network in addresses.SPECIAL if network.version == 4]:
            del addresses.SPECIAL[network]
        addresses.SPECIAL[IPv4Network("127.0.0.1/32")] = "a loopback"
        super().install_on_reactor()
