"""A network of this process and its children alone: loopback, and a record of who wants to reach somebody else.

A user and a network namespace, for which Linux needs no rights. Whatever is sent to another address is seen here, goes
nowhere, and is answered as on a machine without a way to that network: a connection fails at once with ENETUNREACH, and
a name cannot be found for now.
"""

import contextlib
import ctypes
import ipaddress
import re
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from trunkline.sim.attach.process import packets as raw_packets
from trunkline.sim.attach.process.guard import NEW_NET, unshare

# The ways out of a closed network: each leads to loopback, is seen there, and is answered that it goes no further.
#
# IPv4: a route to loopback; what arrives is dropped, because it is for somebody else, and answered from here. IPv6: the
# kernel has no such route and refuses the packet itself, with an ICMPv6 message that quotes it. That message comes
# while the sender is still sending, when TCP takes no notice of it: the sender would try again for a second. So it is
# repeated.

#: the address from which packets to others would come: TEST-NET-1 of RFC 5737
_OWN = "192.0.2.1"
_SET_FLAGS, _SET_ADDRESS, _SET_MASK, _ADD_ROUTE, _ATTACH_FILTER = 0x8914, 0x8916, 0x891C, 0x890B, 26
_UP_LOOPBACK_RUNNING, _ROUTE_UP = 0x1 | 0x8 | 0x40, 0x1
_IP4, _IP6 = 0x0800, 0x86DD
_LOOPBACK = "lo"

#: classic BPF, over an IP packet; the last row but one takes a packet, the last one leaves it
_Filter = Sequence[tuple[int, int, int, int]]
_TAKE, _LEAVE = (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0)
#: packets to other addresses than 127.x.x.x, and all to port 53 by UDP
_FILTER4: _Filter = (
    (0x30, 0, 0, 16),  # the first number of the receiver's address
    (0x15, 0, 5, 127),
    (0x30, 0, 0, 9),  # the protocol
    (0x15, 0, 4, 17),
    (0xB1, 0, 0, 0),  # the length of the header
    (0x48, 0, 0, 2),  # the receiver's port
    (0x15, 0, 1, 53),
    _TAKE,
    _LEAVE,
)
#: ICMPv6 messages that something cannot be reached
_FILTER6: _Filter = (
    (0x30, 0, 0, 6),  # the protocol
    (0x15, 0, 3, 58),
    (0x30, 0, 0, 40),  # the type
    (0x15, 0, 1, 1),
    _TAKE,
    _LEAVE,
)


class WayOut:
    """A way out. `attempt`: what a packet shows. `answer`: the answer to a packet, and to whom, if it gets one."""

    def __init__(
        self,
        packets: socket.socket,
        replies: socket.socket,
        attempt: Callable[[bytes], raw_packets.Attempt | None],
        answer: Callable[[bytes], tuple[bytes, str] | None],
    ) -> None:
        self._packets, self._replies, self._attempt, self._answer = packets, replies, attempt, answer

    def fileno(self) -> int:
        """The file descriptor, readable when a process takes this way."""
        return self._packets.fileno()

    def take_attempts(self, most: int) -> list[raw_packets.Attempt]:
        """The attempts since the last call, each answered; what is more than `most` waits for the next call."""
        found: list[raw_packets.Attempt] = []
        with contextlib.suppress(BlockingIOError):
            while len(found) < most:
                packet, _ = self._packets.recvfrom(65_535)
                attempt = self._attempt(packet)
                if attempt is None or attempt.address == _OWN:
                    continue
                found.append(attempt)
                self._reply(packet)
        return found

    def _reply(self, packet: bytes) -> None:
        answer = self._answer(packet)
        if answer is not None:
            with contextlib.suppress(OSError):
                self._replies.sendto(answer[0], (answer[1], 0))

    def close(self) -> None:
        self._packets.close()
        self._replies.close()


def loopback_up() -> None:
    """Start the loopback of a new network. Raises `OSError`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", _LOOPBACK.encode(), _UP_LOOPBACK_RUNNING))


def way_by_ip4() -> WayOut:
    """Lead everything to loopback, where it is looked at, and dropped because it is for somebody else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _ioctl(any_socket, _SET_ADDRESS, struct.pack("16s16s", b"lo:1", _address(_OWN)))
        _ioctl(any_socket, _SET_MASK, struct.pack("16s16s", b"lo:1", _address("255.255.255.255")))
        device, anywhere = ctypes.create_string_buffer(b"lo"), _address("0.0.0.0")  # noqa: S104 -- the default route
        at = ctypes.addressof(device)
        route = (0, anywhere, anywhere, anywhere, _ROUTE_UP, 0, 0, 0, 0, at, 0, 0, 0)
        _ioctl(any_socket, _ADD_ROUTE, struct.pack("L16s16s16sHhLPhPLLH6x", *route))
    replies = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    return WayOut(_watched(_IP4, _FILTER4), replies, raw_packets.attempt_in, _answer4)


def way_by_ip6() -> WayOut:
    """Lead everything to loopback, which the kernel takes for a route that refuses. Raises `OSError` without IPv6."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as any_socket:
        anywhere, metric, device = bytes(16), 1, socket.if_nametoindex(_LOOPBACK)
        route = (anywhere, anywhere, anywhere, _ROUTE_UP, 0, 0, metric, 0, _ROUTE_UP, device)
        _ioctl(any_socket, _ADD_ROUTE, struct.pack("16s16s16sIHHILIi", *route))
    replies = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    return WayOut(_watched(_IP6, _FILTER6), replies, raw_packets.attempt_by_ip6, _answer6)


def _answer4(packet: bytes) -> tuple[bytes, str] | None:
    sender, receiver = socket.inet_ntoa(packet[12:16]), packet[16]
    return None if receiver == 127 else (raw_packets.unreachable(packet), sender)


def _answer6(packet: bytes) -> tuple[bytes, str]:
    return raw_packets.unreachable_by_ip6(raw_packets.returned_packet(packet)), socket.inet_ntop(
        socket.AF_INET6, packet[24:40]
    )


def _watched(protocol: int, rows: _Filter) -> socket.socket:
    """A socket that gets the packets of a protocol on loopback which a filter lets through."""
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    packets.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", len(rows), ctypes.addressof(program)))
    packets.bind((_LOOPBACK, protocol))
    packets.setblocking(False)
    return packets


def _address(text: str) -> bytes:
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))


def _ioctl(any_socket: socket.socket, what: int, value: bytes) -> None:
    from fcntl import ioctl

    ioctl(any_socket, what, value)


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

    def take_attempts(self) -> list[raw_packets.Attempt]:
        """The attempts since the last call, each answered; a part of them, if there are many."""
        return [attempt for way in self._ways for attempt in way.take_attempts(_MOST)]

    def close(self) -> None:
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
    def from_text(cls, text: str) -> "NameServers":
        """Read a ``resolv.conf``."""
        words = [line.split() for line in text.splitlines() if line.split()]
        servers = frozenset(_spelled(line[1]) for line in words if line[0] == "nameserver" and len(line) > 1)
        endings = tuple(domain.lower() for line in words if line[0] in {"search", "domain"} for domain in line[1:])
        return cls(servers=servers, endings=endings)


class Strangers:
    """Finds the first attempt to reach each stranger among all attempts. `own`: names that are this machine's."""

    def __init__(self, report: Callable[[raw_packets.Attempt], None], names: NameServers, own: frozenset[str]) -> None:
        self._report, self._names, self._own = report, names, own
        self._seen = set[object]()

    def report_first(self, attempt: raw_packets.Attempt) -> None:
        """Report an attempt that is the first of its kind. A question to the machine's name server is for the name."""
        name = attempt.name
        for ending in self._names.endings:
            name = name.removesuffix(f".{ending}")
        if attempt.name and (name in self._own or "." not in name):
            return
        if attempt.address in self._names.servers or attempt.address.startswith("127.") or attempt.address == "::1":
            if not name:
                return
            attempt = raw_packets.Attempt(protocol=attempt.protocol, address="", port=0, name=name)
        elif name:
            attempt = msgspec.structs.replace(attempt, name=name)
        if attempt not in self._seen and len(self._seen) < _MOST:
            self._seen.add(attempt)
            self._report(attempt)


def _spelled(address: str) -> str:
    """An address as in packets: without the interface, and IPv6 in its shortest form."""
    try:
        return str(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return address


def names_of_this_machine() -> tuple[NameServers, frozenset[str]]:
    try:
        text = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    own = socket.gethostname().lower()
    return NameServers.from_text(text), frozenset({own, own.partition(".")[0], "localhost"})


# Peers of processes, by the tables of the kernel: for machines on which their network cannot be closed off.

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_TABLES = (("tcp", "tcp"), ("tcp6", "tcp"), ("udp", "udp"), ("udp6", "udp"))


def strangers_of(pids: Iterable[int], proc: Path = Path("/proc")) -> list[raw_packets.Attempt]:
    """The addresses to which sockets of the processes are connected, beside those of this machine. Linux only."""
    found: list[raw_packets.Attempt] = []
    for pid in pids:
        held = _sockets(proc / str(pid) / "fd")
        for table, protocol in _TABLES if held else ():
            try:
                text = (proc / str(pid) / "net" / table).read_text()
            except OSError:
                continue
            found += (row for inode, row in _rows(text, protocol) if inode in held)
    return list(dict.fromkeys(found))


def _sockets(folder: Path) -> frozenset[str]:
    found = set[str]()
    try:
        entries = list(folder.iterdir())
    except OSError:
        return frozenset()
    for entry in entries:
        try:
            match = _SOCKET.fullmatch(str(entry.readlink()))
        except OSError:
            continue
        if match:
            found.add(match[1])
    return frozenset(found)


def _rows(text: str, protocol: str) -> Iterator[tuple[str, raw_packets.Attempt]]:
    for line in text.splitlines()[1:]:
        words = line.split()
        address, _, port = words[2].partition(":")
        them = _address_of(address)
        if int(port, 16) and not (them.is_loopback or them.is_unspecified):
            yield words[9], raw_packets.Attempt(protocol=protocol, address=str(them), port=int(port, 16))


def _address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as printed by the kernel: words of four bytes in the machine's order."""
    raw = bytes.fromhex(text)
    words = [int.from_bytes(raw[at : at + 4], "big").to_bytes(4, sys.byteorder) for at in range(0, len(raw), 4)]
    found = ipaddress.ip_address(b"".join(words))
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
