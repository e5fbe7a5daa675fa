"""Reads packets: the host that a process wants to reach, and the name that it asks for. Pure functions over bytes."""

import socket
import struct

import msgspec

_TCP, _UDP, _ICMP6 = 6, 17, 58
_SYN, _ACK = 0x02, 0x10
_DNS_HEADER = 12
#: bytes of an IPv6 header, and of that of an ICMPv6 message
_HEADER6, _ICMP6_HEADER = 40, 8
#: what an ICMPv6 message has in its unused field if it is from here: RFC 4443 has every receiver ignore it
_OURS = 1


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
    return _attempt(packet[9], socket.inet_ntoa(packet[16:20]), packet[length:])


def returned_packet(packet: bytes) -> bytes:
    """The IPv6 packet that the kernel returns in an ICMPv6 message as one that goes nowhere; empty if it is none."""
    message = packet[_HEADER6:]
    if len(message) < _ICMP6_HEADER or packet[0] >> 4 != 6 or packet[6] != _ICMP6 or message[0] != 1:
        return b""
    returned = message[_ICMP6_HEADER:]
    return returned if message[7] != _OURS and len(returned) >= _HEADER6 and returned[0] >> 4 == 6 else b""


def attempt_by_ip6(packet: bytes) -> Attempt | None:
    """The attempt in an IPv6 message that returns a packet, as `attempt_in` finds one; else None."""
    returned = returned_packet(packet)
    if not returned:
        return None
    return _attempt(returned[6], socket.inet_ntop(socket.AF_INET6, returned[24:40]), returned[_HEADER6:])


def _attempt(protocol: int, address: str, body: bytes) -> Attempt | None:
    if protocol == _TCP and len(body) >= 14 and body[13] & (_SYN | _ACK) == _SYN:
        return Attempt(protocol="tcp", address=address, port=_port(body))
    if protocol == _UDP and len(body) >= 8:
        port = _port(body)
        return Attempt(protocol="udp", address=address, port=port, name=_asked_name(body[8:]) if port == 53 else "")
    return None


def unreachable(packet: bytes) -> bytes:
    """The ICMP message that there is no way to the network of a packet's receiver: RFC 792, type 3, code 0."""
    quoted = packet[: (packet[0] & 15) * 4 + 8]
    head = struct.pack("!BBHI", 3, 0, 0, 0)
    return head[:2] + struct.pack("!H", _checksum(head + quoted)) + head[4:] + quoted


def unreachable_by_ip6(returned: bytes) -> bytes:
    """The ICMPv6 message that there is no way to the network of a packet's receiver: RFC 4443, type 1, code 0.

    The kernel computes its checksum.
    """
    return struct.pack("!BBHI", 1, 0, 0, _OURS) + returned[:1200]


def _port(body: bytes) -> int:
    return int.from_bytes(body[2:4], "big")


def _asked_name(question: bytes) -> str:
    """The name in the first question of a DNS message; empty if it is none: RFC 1035, 4.1."""
    labels, at = list[str](), _DNS_HEADER
    while at < len(question) and 0 < question[at] < 64:
        end = at + 1 + question[at]
        label = question[at + 1 : end]
        if end >= len(question) or not all(33 <= byte < 127 for byte in label):
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
