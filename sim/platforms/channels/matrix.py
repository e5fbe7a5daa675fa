"""A fake Matrix: rooms, users and events with case-sensitive ids, threads rooted at events, transaction ids.

Rules taken from the real platform: ids are compared byte for byte, so a case-folded id names no room. A thread has the
id of its root event, and a send that relates to an event opens its thread; replies in a thread open no further threads.
A send with a used transaction id returns the first event. An event has at most 64 KiB, so any 16 000 characters fit.

One simplification: a direct conversation has the user's id here; on the real platform it is a room with its own id.
"""

import string

from trunkline.core.values import Capability, ChatKind, DeedKind
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import letters

_HOME = "example.org"
_ALPHABET = string.ascii_letters + string.digits
#: bytes allowed in a user's id; others are escaped
_PLAIN = frozenset((string.ascii_lowercase + string.digits + ".-").encode())


class FakeMatrix(FakePlatform):
    channel = "matrix"
    albums = "nameless"
    extras = frozenset({Capability.POLL})
    poll_options = 20
    opens_threads = True
    opens_by_sending = True
    text_limit = 16_000
    room_kind = ChatKind.CHANNEL
    has_directory = True
    # Nobody says what a deleted reaction was.
    deeds = threadless = frozenset({DeedKind.EDIT, DeedKind.DELETE, DeedKind.REACT})

    def new_id(self, *what: str) -> str:
        """``!AbC:example.org`` for a room, ``@ana:example.org`` for a person, ``$AbC`` for everything else."""
        kind = what[0]
        if kind in ("person", "bot"):
            return f"@{'bot-' if kind == 'bot' else ''}{_local(what[1])}:{_HOME}"
        if kind == "room":
            return f"!{letters(self.channel, *what, length=10, alphabet=_ALPHABET)}:{_HOME}"
        return f"${letters(self.channel, *what, length=16, alphabet=_ALPHABET)}"


def _local(name: str) -> str:
    """A name escaped for a user's id: capitals as ``_`` and the lower-case letter, other bytes as ``=`` and hex."""
    found = ""
    for byte in name.encode():
        sign = chr(byte)
        found += sign if byte in _PLAIN else f"_{sign.lower()}" if sign.isascii() and sign.isupper() else f"={byte:02x}"
    return found
