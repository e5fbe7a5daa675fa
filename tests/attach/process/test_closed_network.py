"""Whom somebody wants to reach: read from packets, from the kernel's tables, and reported once each."""

import os
import socket
import struct
import sys
from pathlib import Path

import pytest

from trunkline.sim.attach.process.closed_network import NameServers, Strangers, strangers_of
from trunkline.sim.attach.process.packets import (
    Attempt,
    attempt_by_ip6,
    attempt_in,
    returned_packet,
    unreachable,
    unreachable_by_ip6,
)


def packet(protocol: int, body: bytes, to: str = "192.0.2.7") -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0)
    return head + socket.inet_aton("192.0.2.1") + socket.inet_aton(to) + body


def tcp(flags: int, port: int = 443) -> bytes:
    return struct.pack("!HHIIBBHHH", 40000, port, 1, 0, 0x50, flags, 0, 0, 0)


def udp(data: bytes, port: int) -> bytes:
    return struct.pack("!HHHH", 40000, port, 8 + len(data), 0) + data


def question(name: bytes) -> bytes:
    labels = b"".join(bytes([len(one)]) + one for one in name.split(b"."))
    return struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 1, 1)


def test_the_first_packet_of_a_connection_is_an_attempt() -> None:
    assert attempt_in(packet(6, tcp(0x02))) == Attempt(protocol="tcp", address="192.0.2.7", port=443)


@pytest.mark.parametrize("flags", [0x12, 0x10, 0x04], ids=["answer", "data", "reset"])
def test_other_packets_of_a_connection_are_none(flags: int) -> None:
    assert attempt_in(packet(6, tcp(flags))) is None


def test_a_question_for_a_name_has_the_name() -> None:
    found = attempt_in(packet(17, udp(question(b"API.Telegram.org"), 53)))
    assert found == Attempt(protocol="udp", address="192.0.2.7", port=53, name="api.telegram.org")


@pytest.mark.parametrize(
    "data",
    [b"", question(b"a")[:13], b"x" * 40, question(b"\x1b[31m.org"), question(b"a")[:12] + b"\xff" * 9],
    ids=["nothing", "cut", "no question", "control characters", "a pointer"],
)
def test_what_is_no_question_has_no_name(data: bytes) -> None:
    found = attempt_in(packet(17, udp(data, 53)))
    assert found is not None
    assert found.name == ""


@pytest.mark.parametrize(
    "data", [b"", b"\x45" * 10, b"\x60" + bytes(60), packet(6, b"abc"), packet(17, b""), packet(1, b"")]
)
def test_what_is_no_attempt(data: bytes) -> None:
    assert attempt_in(data) is None


def test_the_answer_quotes_the_packet_and_adds_up() -> None:
    asked = packet(6, tcp(0x02))
    reply = unreachable(asked)
    assert reply[:2] == b"\x03\x00"
    assert reply[8:] == asked[:28]
    total = sum(struct.unpack(f"!{len(reply) // 2}H", reply))
    assert (total & 0xFFFF) + (total >> 16) in (0xFFFF, 0)


def packet6(protocol: int, body: bytes, to: str = "2001:db8::7") -> bytes:
    head = struct.pack("!IHBB", 6 << 28, len(body), protocol, 64)
    return head + socket.inet_pton(socket.AF_INET6, "::1") + socket.inet_pton(socket.AF_INET6, to) + body


def returned(what: bytes, kind: int = 1, unused: int = 0) -> bytes:
    return packet6(58, struct.pack("!BBHI", kind, 0, 0, unused) + what, "::1")


def test_a_packet_by_ip6_that_the_kernel_returns_is_an_attempt() -> None:
    assert attempt_by_ip6(returned(packet6(6, tcp(0x02)))) == Attempt(protocol="tcp", address="2001:db8::7", port=443)
    asked = attempt_by_ip6(returned(packet6(17, udp(question(b"slack.com"), 53))))
    assert asked == Attempt(protocol="udp", address="2001:db8::7", port=53, name="slack.com")


def test_the_answer_by_ip6_quotes_the_packet_and_is_not_taken_for_one_of_the_kernel() -> None:
    lost = packet6(6, tcp(0x02))
    assert returned_packet(returned(lost)) == lost
    answer = unreachable_by_ip6(lost)
    assert answer[:2] == b"\x01\x00"
    assert answer[8:] == lost
    assert returned_packet(packet6(58, answer, "::1")) == b""


@pytest.mark.parametrize(
    "data",
    [
        *(b"", bytes(60), b"\x60" + bytes(60), packet(6, tcp(0x02)), packet6(6, tcp(0x02))),
        *(returned(b""), returned(packet(6, tcp(0x02))), returned(packet6(6, tcp(0x02)), kind=3)),
        *(returned(packet6(6, b"abc")), returned(packet6(6, tcp(0x12))), returned(packet6(17, b""))),
    ],
)
def test_what_is_no_attempt_by_ip6(data: bytes) -> None:
    assert attempt_by_ip6(data) is None


NAMES = NameServers.from_text("# a comment\nnameserver 10.0.0.2\nnameserver\nsearch corp.example lan\n")


def reported(*attempts: Attempt) -> list[Attempt]:
    found: list[Attempt] = []
    strangers = Strangers(found.append, NAMES, frozenset({"here", "here.corp.example"}))
    for one in attempts:
        strangers.report_first(one)
    return found


def asks(name: str, server: str = "10.0.0.2") -> Attempt:
    return Attempt(protocol="udp", address=server, port=53, name=name)


def test_each_stranger_is_reported_once() -> None:
    one, other = (Attempt(protocol="tcp", address="192.0.2.7", port=port) for port in (443, 80))
    assert reported(one, other, one) == [one, other]


def test_a_question_to_the_name_server_of_the_machine_is_for_the_name() -> None:
    assert reported(asks("slack.com"), asks("slack.com", "127.0.0.53"), asks("slack.com.corp.example")) == [
        Attempt(protocol="udp", address="", port=0, name="slack.com")
    ]


def test_a_name_server_is_known_by_its_address_however_that_is_written() -> None:
    names = NameServers.from_text("nameserver 2001:DB8:0::53%eth0\nnameserver nonsense\n")
    assert names.servers == {"2001:db8::53", "nonsense"}


def test_another_name_server_is_a_stranger_itself() -> None:
    assert reported(asks("slack.com", "192.0.2.53")) == [asks("slack.com", "192.0.2.53")]


def test_the_names_of_the_machine_are_no_strangers() -> None:
    assert reported(asks("here"), asks("here.corp.example"), asks("localhost.lan"), asks("", "10.0.0.2")) == []


def test_reports_have_an_end() -> None:
    assert len(reported(*(asks(f"x{number}.example") for number in range(1000)))) == 200


@pytest.mark.skipif(sys.platform != "linux", reason="reads the tables of Linux")
def test_a_socket_that_is_connected_to_a_stranger_is_found(tmp_path: Path) -> None:
    # The tables as the kernel prints them, in the machine's order of bytes.
    def hexed(address: str) -> str:
        return int.from_bytes(socket.inet_aton(address), sys.byteorder).to_bytes(4, "big").hex().upper()

    with socket.socket() as one, socket.socket() as other:
        inodes = [os.fstat(sock.fileno()).st_ino for sock in (one, other)]
        (tmp_path / "7" / "fd").mkdir(parents=True)
        (tmp_path / "7" / "net").mkdir()
        for number, inode in enumerate(inodes):
            (tmp_path / "7" / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
        rows = [(hexed("8.8.4.4"), inodes[0]), (hexed("127.0.0.1"), inodes[1]), (hexed("9.9.9.9"), 1)]
        lines = [f"0: 0100007F:1F90 {to}:01BB 01 0:0 00:0 0 0 0 {inode} 1" for to, inode in rows]
        (tmp_path / "7" / "net" / "tcp").write_text("\n".join(["head", *lines]))
        assert strangers_of([7, 8], tmp_path) == [Attempt(protocol="tcp", address="8.8.4.4", port=443)]
