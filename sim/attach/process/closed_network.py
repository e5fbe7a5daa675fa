"""A network of this process and its children alone: loopback, and a record of who wants to reach somebody else.

A user and a network namespace, for which Linux needs no rights. Whatever is sent to another address is seen here, goes
nowhere, and is answered as on a machine without a way to that network: a connection fails at once with ENETUNREACH, and
a name cannot be found for now. IPv6 has no way out either, but what is sent there fails before it can be seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from trunkline.sim.attach.process.guard import NEW_NET, unshare
from trunkline.sim.attach.process.packets import Attempt, attempt_in, unreachable

#: the address from which packets to others would come: TEST-NET-1 of RFC 5737
_OWN = "192.0.2.1"
_SET_FLAGS, _SET_ADDRESS, _SET_MASK, _ADD_ROUTE, _ATTACH_FILTER = 0x8914, 0x8916, 0x891C, 0x890B, 26
_UP_LOOPBACK_RUNNING, _ROUTE_UP = 0x1 | 0x8 | 0x40, 0x1
_IP = 0x0800
#: different attempts that are reported
_MOST = 200
#: for the kernel: packets to other addresses than 127.x.x.x, and all to port 53 by UDP (classic BPF, over an IP packet)
_FILTER = (
    (0x30, 0, 0, 16),  # the first number of the receiver's address
    (0x15, 0, 5, 127),
    (0x30, 0, 0, 9),  # the protocol
    (0x15, 0, 4, 17),
    (0xB1, 0, 0, 0),  # the length of the header
    (0x48, 0, 0, 2),  # the receiver's port
    (0x15, 0, 1, 53),
    (0x06, 0, 0, 0xFFFF),
    (0x06, 0, 0, 0),
)


class ClosedNetwork:
    """The network that this process has entered. `sees`: whether attempts to leave it are seen; else `why` not."""

    def __init__(self, packets: socket.socket | None, replies: socket.socket | None, why: str = "") -> None:
        self._packets, self._replies = packets, replies
        self.sees, self.why = packets is not None, why

    def fileno(self) -> int:
        """What becomes readable when somebody wants to leave; -1 if that is not seen."""
        return -1 if self._packets is None else self._packets.fileno()

    def take(self) -> list[Attempt]:
        """The attempts since the last call, each answered."""
        found: list[Attempt] = []
        assert self._packets is not None
        with contextlib.suppress(BlockingIOError):
            while len(found) < _MOST:
                packet, _ = self._packets.recvfrom(65_535)
                attempt = attempt_in(packet)
                if attempt is None or attempt.address == _OWN:
                    continue
                found.append(attempt)
                self._answer(packet, attempt)
        return found

    def _answer(self, packet: bytes, attempt: Attempt) -> None:
        if self._replies is not None and not attempt.address.startswith("127."):
            with contextlib.suppress(OSError):
                self._replies.sendto(unreachable(packet), (socket.inet_ntoa(packet[12:16]), 0))

    def close(self) -> None:
        """Stop looking."""
        for one in (self._packets, self._replies):
            if one is not None:
                one.close()


def close_network() -> ClosedNetwork:
    """Take this process, which may have one thread, into a network of its own. Raises `OSError` if that is denied."""
    if sys.platform != "linux":
        raise OSError(f"{sys.platform} has no network namespaces")
    unshare(NEW_NET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_LOOPBACK_RUNNING))
        try:
            return _open_ways(any_socket)
        except OSError as error:
            return ClosedNetwork(None, None, str(error))


def _open_ways(any_socket: socket.socket) -> ClosedNetwork:
    """Lead everything to loopback, where it is looked at, and dropped because it is for somebody else."""
    _ioctl(any_socket, _SET_ADDRESS, struct.pack("16s16s", b"lo:1", _address(_OWN)))
    _ioctl(any_socket, _SET_MASK, struct.pack("16s16s", b"lo:1", _address("255.255.255.255")))
    device, anywhere = ctypes.create_string_buffer(b"lo"), _address("0.0.0.0")  # noqa: S104 -- the default route
    at = ctypes.addressof(device)
    route = (0, anywhere, anywhere, anywhere, _ROUTE_UP, 0, 0, 0, 0, at, 0, 0, 0)
    _ioctl(any_socket, _ADD_ROUTE, struct.pack("L16s16s16sHhLPhPLLH6x", *route))
    replies = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in _FILTER))
    packets.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", len(_FILTER), ctypes.addressof(program)))
    packets.bind(("lo", _IP))
    packets.setblocking(False)
    return ClosedNetwork(packets, replies)


def _address(text: str) -> bytes:
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))


def _ioctl(any_socket: socket.socket, what: int, value: bytes) -> None:
    from fcntl import ioctl

    ioctl(any_socket, what, value)


class NameServers(msgspec.Struct, frozen=True, kw_only=True):
    """How this machine asks for names: the servers, and the endings that are tried after a name."""

    servers: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> NameServers:
        """Read a ``resolv.conf``."""
        words = [line.split() for line in text.splitlines() if line.split()]
        servers = frozenset(line[1] for line in words if line[0] == "nameserver" and len(line) > 1)
        endings = tuple(one.lower() for line in words if line[0] in {"search", "domain"} for one in line[1:])
        return cls(servers=servers, endings=endings)


class Strangers:
    """Finds the first attempt to reach each stranger among all attempts. `own`: names that are this machine's."""

    def __init__(self, report: Callable[[Attempt], None], names: NameServers, own: frozenset[str]) -> None:
        self._report, self._names, self._own = report, names, own
        self._seen = set[object]()

    def take(self, attempt: Attempt) -> None:
        """Report an attempt that is the first of its kind. A question to the machine's name server is for the name."""
        name = attempt.name
        for ending in self._names.endings:
            name = name.removesuffix(f".{ending}")
        if attempt.name and (name in self._own or "." not in name):
            return
        if attempt.address in self._names.servers or attempt.address.startswith("127."):
            if not name:
                return
            attempt = Attempt(protocol=attempt.protocol, address="", port=0, name=name)
        elif name:
            attempt = msgspec.structs.replace(attempt, name=name)
        if attempt not in self._seen and len(self._seen) < _MOST:
            self._seen.add(attempt)
            self._report(attempt)


def names_of_this_machine() -> tuple[NameServers, frozenset[str]]:
    """Its name servers, and its own names."""
    try:
        text = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    own = socket.gethostname().lower()
    return NameServers.of(text), frozenset({own, own.partition(".")[0], "localhost"})
