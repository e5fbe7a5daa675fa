"""The ways out of a closed network: each leads to loopback, is seen there, and is answered that it goes no further.

IPv4: a route to loopback; what arrives is dropped, because it is for somebody else, and answered from here. IPv6: the
kernel has no such route and refuses the packet itself, with an ICMPv6 message that quotes it. That message comes while
the sender is still sending, when TCP takes no notice of it: the sender would try again for a second. So it is repeated.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
from collections.abc import Callable, Sequence

from trunkline.sim.attach.process.packets import (
    Attempt,
    attempt_by_ip6,
    attempt_in,
    returned_packet,
    unreachable,
    unreachable_by_ip6,
)

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
        attempt: Callable[[bytes], Attempt | None],
        answer: Callable[[bytes], tuple[bytes, str] | None],
    ) -> None:
        self._packets, self._replies, self._attempt, self._answer = packets, replies, attempt, answer

    def fileno(self) -> int:
        """The file descriptor that becomes readable when a process takes this way."""
        return self._packets.fileno()

    def take_attempts(self, most: int) -> list[Attempt]:
        """The attempts since the last call, each answered; what is more than `most` waits for the next call."""
        found: list[Attempt] = []
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
        """Stop looking."""
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
    return WayOut(_watched(_IP4, _FILTER4), replies, attempt_in, _answer4)


def way_by_ip6() -> WayOut:
    """Lead everything to loopback, which the kernel takes for a route that refuses. Raises `OSError` without IPv6."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as any_socket:
        anywhere, metric, device = bytes(16), 1, socket.if_nametoindex(_LOOPBACK)
        route = (anywhere, anywhere, anywhere, _ROUTE_UP, 0, 0, metric, 0, _ROUTE_UP, device)
        _ioctl(any_socket, _ADD_ROUTE, struct.pack("16s16s16sIHHILIi", *route))
    replies = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    return WayOut(_watched(_IP6, _FILTER6), replies, attempt_by_ip6, _answer6)


def _answer4(packet: bytes) -> tuple[bytes, str] | None:
    sender, receiver = socket.inet_ntoa(packet[12:16]), packet[16]
    return None if receiver == 127 else (unreachable(packet), sender)


def _answer6(packet: bytes) -> tuple[bytes, str]:
    return unreachable_by_ip6(returned_packet(packet)), socket.inet_ntop(socket.AF_INET6, packet[24:40])


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
