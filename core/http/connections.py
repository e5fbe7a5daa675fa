"""The open connections of a server, counted by client; waiting connections make room for new ones.

A connection is in use from the moment its request is there until it is answered: streams, and sockets after their
hello, are in use. Otherwise it waits for its client, and may be closed for another one.
"""

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from trunkline.core.http.settings import HttpLimits

Transport = asyncio.BaseTransport
#: paths that are answered also where all connections are in use: of supervisors, and of platforms
RESERVED = ("/v1/health/", "/v1/platforms/")


class Grant(Enum):
    ANY = "any"
    #: only the paths of `RESERVED`
    RESERVED = "reserved"
    NONE = "none"


@lru_cache(maxsize=4096)
def client_of(host: str) -> str:
    """The client behind an address; for IPv6 the /64 network, which belongs to a single machine."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return str(ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))
        found = found.ipv4_mapped
    return str(found)


class Proxies:
    """The addresses of proxies, which speak for many clients."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks = [ipaddress.ip_network(network, strict=False) for network in networks]

    def __contains__(self, host: str) -> bool:
        try:
            found = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(found in network for network in self._networks)


class Connections:
    """Decides about new connections. A full server closes the oldest waiting connection of the greediest client."""

    def __init__(self, limits: HttpLimits, proxies: Proxies, report: Callable[[str], None]) -> None:
        self._limits = limits
        self._report = report
        self._proxies = proxies
        #: every connection with its client; none: of a proxy, or without an address
        self._client: dict[Transport, str | None] = {}
        self._open = Counter[str]()
        #: those that wait, by client, the longest first
        self._waiting: dict[str | None, dict[Transport, None]] = {}
        self._reserved = set[Transport]()

    def __len__(self) -> int:
        return len(self._client)

    def add(self, transport: Transport, host: str | None) -> Grant:
        """Take a new, waiting connection; another connection is closed if that makes the room."""
        client = None if host is None or host in self._proxies else client_of(host)
        crowded = client is not None and self._open[client] >= self._limits.per_address
        full = len(self) >= self._limits.connections
        fits = not (crowded or full) or self._evict(client if crowded else self._greediest())
        if not fits and len(self._reserved) >= self._limits.reserve:
            return Grant.NONE
        self._client[transport] = client
        if client is not None:
            self._open[client] += 1
        self._waiting.setdefault(client, {})[transport] = None
        if fits:
            return Grant.ANY
        self._reserved.add(transport)
        return Grant.RESERVED

    def use(self, transport: Transport) -> None:
        if transport in self._client:
            self._forget_waiting(transport, self._client[transport])

    def rest(self, transport: Transport) -> None:
        if transport in self._client:
            waiting = self._waiting.setdefault(self._client[transport], {})
            waiting.pop(transport, None)
            waiting[transport] = None

    def remove(self, transport: Transport) -> None:
        """Drop a closed connection; harmless when repeated."""
        if transport not in self._client:
            return
        client = self._client.pop(transport)
        self._forget_waiting(transport, client)
        self._reserved.discard(transport)
        if client is not None:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    def _forget_waiting(self, transport: Transport, client: str | None) -> None:
        waiting = self._waiting.get(client)
        if waiting is not None:
            waiting.pop(transport, None)
            if not waiting:
                del self._waiting[client]

    def _greediest(self) -> str | None:
        """The client with most waiting connections; of several, the earliest."""
        return max(self._waiting, key=lambda client: len(self._waiting[client]), default=None)

    def _evict(self, client: str | None) -> bool:
        waiting = self._waiting.get(client)
        if not waiting:
            return False
        oldest = next(iter(waiting))
        # At once: its end is reported a moment later.
        self.remove(oldest)
        assert isinstance(oldest, asyncio.WriteTransport)
        oldest.abort()
        self._report("evicted")
        return True
