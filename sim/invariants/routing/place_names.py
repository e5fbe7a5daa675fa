"""Names of places in the sentences of invariants."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.core.values import Address


def named(address: Address, names: Mapping[tuple[str, str, str, str], str]) -> str:
    """The name of a place; for a thread that is not open yet, its parent's name and its own; else the address."""
    name = names.get(address.lane)
    if not name:
        room = address.conversation if address.thread else address.parent or ""
        above = names.get((address.channel, address.account, room, ""))
        name = f"{above}/{address.thread or address.conversation}" if above else ""
    return f"{address.channel}/{name}" if name else str(address)
