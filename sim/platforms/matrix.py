"""A fake Matrix: rooms, users and events whose ids differ by case, threads that hang on events, transaction ids.

Rules taken over from the real one: ids are compared byte for byte, so a room whose id was folded is another room, and
there is none; a thread is the event that it hangs on, and a send that relates to such an event opens it; answers of a
thread open no further ones; a send whose transaction id was used is answered with the first event; an event has at
most 64 KiB, so 16 000 characters fit, whatever they are.

One thing is simpler than in reality: the talk with one user is a room with an id of its own there, and goes by the id
of the user here.
"""

from __future__ import annotations

import string

from trunkline.core.values import Capability, ChatKind, Idempotency
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import Room, letters

_HOME = "example.org"
_SIGNS = string.ascii_letters + string.digits
#: what a user's id may be made of; anything else is written as its bytes
_PLAIN = frozenset((string.ascii_lowercase + string.digits + ".-").encode())


class FakeMatrix(FakePlatform):
    """Rooms, threads, users."""

    channel = "matrix"
    extras = frozenset({Capability.EDIT, Capability.REACTIONS})
    idempotency = Idempotency.KEY
    opens_threads = True
    opens_by_sending = True
    text_limit = 16_000
    room_kind = ChatKind.CHANNEL

    def new_id(self, *what: str) -> str:
        """``!AbC:example.org`` for a room, ``@ana:example.org`` for a person, ``$AbC`` for everything else."""
        kind = what[0]
        if kind in ("person", "bot"):
            return f"@{'bot-' if kind == 'bot' else ''}{_local(what[1])}:{_HOME}"
        if kind == "room":
            return f"!{letters(self.channel, *what, length=10, alphabet=_SIGNS)}:{_HOME}"
        return f"${letters(self.channel, *what, length=16, alphabet=_SIGNS)}"

    def message_id(self, name: str, room: Room) -> str:
        """Events are unique over all rooms."""
        return self.new_id("said", name)


def _local(name: str) -> str:
    """A name as users' ids have it: capitals as ``_`` and the small letter, other signs as ``=`` and their bytes."""
    found = ""
    for byte in name.encode():
        sign = chr(byte)
        found += sign if byte in _PLAIN else f"_{sign.lower()}" if sign.isascii() and sign.isupper() else f"={byte:02x}"
    return found
