"""What a packet shows: whom somebody wants to reach, and which name is asked for. Pure functions over bytes."""

from __future__ import annotations

import socket
import struct

import msgspec

_TCP, _UDP = 6, 17
_SYN, _ACK = 0x02, 0x10
_DNS_HEADER = 12


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to reach somebody. `name`: the name that a question to a name server is about."""

    protocol: str
    address: str
    port: int
    name: str = ""


def attempt_in(packet: bytes) -> Attempt | None:
    """The attempt in an IPv4 packet: the first packet of a TCP connection, or any UDP packet; else None."""
    if len(packet) < 20 or packet[0] >> 4 != 4:
        return None
    length = (packet[0] & 15) * 4
    address, body = socket.inet_ntoa(packet[16:20]), packet[length:]
    if packet[9] == _TCP and len(body) >= 14 and body[13] & (_SYN | _ACK) == _SYN:
        return Attempt(protocol="tcp", address=address, port=_port(body))
    if packet[9] == _UDP and len(body) >= 8:
        port = _port(body)
        return Attempt(protocol="udp", address=address, port=port, name=_asked_name(body[8:]) if port == 53 else "")
    return None


def unreachable(packet: bytes) -> bytes:
    """The ICMP message that there is no way to the network of a packet's receiver: RFC 792, type 3, code 0."""
    quoted = packet[: (packet[0] & 15) * 4 + 8]
    head = struct.pack("!BBHI", 3, 0, 0, 0)
    return head[:2] + struct.pack("!H", _checksum(head + quoted)) + head[4:] + quoted


def _port(body: bytes) -> int:
    return int.from_bytes(body[2:4], "big")


def _asked_name(question: bytes) -> str:
    """The name in the first question of a DNS message; empty if it is none: RFC 1035, 4.1."""
    labels, at = list[str](), _DNS_HEADER
    while at < len(question) and 0 < question[at] < 64:
        end = at + 1 + question[at]
        label = question[at + 1 : end]
        if end >= len(question) or not all(33 <= one < 127 for one in label):
            return ""
        labels.append(label.decode())
        at = end
    return ".".join(labels).lower()


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF
