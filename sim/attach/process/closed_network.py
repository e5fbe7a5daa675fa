"""A network of this process and its children alone: loopback, and a record of who wants to reach somebody else.

A user and a network namespace, for which Linux needs no rights. Whatever is sent to another address is seen here, goes
nowhere, and is answered as on a machine without a way to that network: a connection fails at once with ENETUNREACH, and
a name cannot be found for now.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from trunkline.sim.attach.process.guard import NEW_NET, unshare
from trunkline.sim.attach.process.packets import Attempt
from trunkline.sim.attach.process.ways_out import WayOut, loopback_up, way_by_ip4, way_by_ip6

#: different attempts that are reported
_MOST = 200


class ClosedNetwork:
    """The network that this process has entered. `sees`: whether attempts to leave it are seen; else `why` not."""

    def __init__(self, ways: Sequence[WayOut], why: str = "") -> None:
        self._ways = tuple(ways)
        self.sees, self.why = bool(ways), why

    def filenos(self) -> tuple[int, ...]:
        """File descriptors that become readable on an outbound connection attempt."""
        return tuple(way.fileno() for way in self._ways)

    def take_attempts(self) -> list[Attempt]:
        """The attempts since the last call, each answered; a part of them, if there are many."""
        return [attempt for way in self._ways for attempt in way.take_attempts(_MOST)]

    def close(self) -> None:
        """Stop looking."""
        for way in self._ways:
            way.close()


def close_network() -> ClosedNetwork:
    """Take this process, which may have one thread, into a network of its own. Raises `OSError` if that is denied."""
    if sys.platform != "linux":
        raise OSError(f"{sys.platform} has no network namespaces")
    unshare(NEW_NET)
    loopback_up()
    try:
        ways = [way_by_ip4()]
    except OSError as error:
        return ClosedNetwork((), str(error))
    # A kernel without IPv6 has no way out by it.
    with contextlib.suppress(OSError):
        ways.append(way_by_ip6())
    return ClosedNetwork(ways)


class NameServers(msgspec.Struct, frozen=True, kw_only=True):
    """How this machine asks for names: the servers, and the endings that are tried after a name."""

    servers: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> NameServers:
        """Read a ``resolv.conf``."""
        words = [line.split() for line in text.splitlines() if line.split()]
        servers = frozenset(_spelled(line[1]) for line in words if line[0] == "nameserver" and len(line) > 1)
        endings = tuple(domain.lower() for line in words if line[0] in {"search", "domain"} for domain in line[1:])
        return cls(servers=servers, endings=endings)


class Strangers:
    """Finds the first attempt to reach each stranger among all attempts. `own`: names that are this machine's."""

    def __init__(self, report: Callable[[Attempt], None], names: NameServers, own: frozenset[str]) -> None:
        self._report, self._names, self._own = report, names, own
        self._seen = set[object]()

    def report_first(self, attempt: Attempt) -> None:
        """Report an attempt that is the first of its kind. A question to the machine's name server is for the name."""
        name = attempt.name
        for ending in self._names.endings:
            name = name.removesuffix(f".{ending}")
        if attempt.name and (name in self._own or "." not in name):
            return
        if attempt.address in self._names.servers or attempt.address.startswith("127.") or attempt.address == "::1":
            if not name:
                return
            attempt = Attempt(protocol=attempt.protocol, address="", port=0, name=name)
        elif name:
            attempt = msgspec.structs.replace(attempt, name=name)
        if attempt not in self._seen and len(self._seen) < _MOST:
            self._seen.add(attempt)
            self._report(attempt)


def _spelled(address: str) -> str:
    """An address as packets have it: without the interface, and IPv6 in its shortest form."""
    try:
        return str(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return address


def names_of_this_machine() -> tuple[NameServers, frozenset[str]]:
    """The name servers of this machine, and its own names."""
    try:
        text = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    own = socket.gethostname().lower()
    return NameServers.from_text(text), frozenset({own, own.partition(".")[0], "localhost"})
