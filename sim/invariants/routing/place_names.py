"""What people call a place, in the sentences of the invariants."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.core.values import Address


def named(address: Address, names: Mapping[tuple[str, str, str, str], str]) -> str:
    """A place by its name; a thread that is not open yet by where it is to be; else its address."""
    name = names.get(address.lane)
    if not name:
        room = address.conversation if address.thread else address.parent or ""
        above = names.get((address.channel, address.account, room, ""))
        name = f"{above}/{address.thread or address.conversation}" if above else ""
    return f"{address.channel}/{name}" if name else str(address)
