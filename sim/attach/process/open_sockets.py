"""Peers of processes, by the tables of the kernel: for machines on which their network cannot be closed off."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from trunkline.sim.attach.process.packets import Attempt

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_TABLES = (("tcp", "tcp"), ("tcp6", "tcp"), ("udp", "udp"), ("udp6", "udp"))


def strangers_of(pids: Iterable[int], proc: Path = Path("/proc")) -> list[Attempt]:
    """The addresses to which sockets of the processes are connected, beside those of this machine. Linux only."""
    found: list[Attempt] = []
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


def _rows(text: str, protocol: str) -> Iterator[tuple[str, Attempt]]:
    for line in text.splitlines()[1:]:
        words = line.split()
        address, _, port = words[2].partition(":")
        them = _address(address)
        if int(port, 16) and not (them.is_loopback or them.is_unspecified):
            yield words[9], Attempt(protocol=protocol, address=str(them), port=int(port, 16))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as the kernel prints it: words of four bytes in the machine's order."""
    raw = bytes.fromhex(text)
    words = [int.from_bytes(raw[at : at + 4], "big").to_bytes(4, sys.byteorder) for at in range(0, len(raw), 4)]
    found = ipaddress.ip_address(b"".join(words))
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
