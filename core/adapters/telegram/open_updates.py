"""The updates in the gateway, and which may be confirmed to Telegram.

A poll with an offset makes Telegram forget everything before it, so the offset moves only over updates whose messages
are durable, and stops at the first that is not. An offset is sent once: without one, Telegram begins with the first
update that is not confirmed. So it does no harm that Telegram begins with other numbers after a week without updates.
"""

from __future__ import annotations

import anyio

from trunkline.core.values import Envelope

#: what identifies the message of an update: conversation, id, and whether it is a press
MessageKey = tuple[str, str, bool]


def key_of(envelope: Envelope) -> MessageKey:
    """The identity of a message."""
    return envelope.address.conversation, envelope.message_id, envelope.pressed is not None


class OpenUpdates:
    """The updates of a bot which Telegram may deliver again."""

    def __init__(self) -> None:
        #: not acknowledged, on this connection or earlier
        self._open: set[int] = set()
        #: handed to the gateway on this connection
        self._handed: set[int] = set()
        #: a message may come in several updates
        self._numbers: dict[MessageKey, set[int]] = {}
        #: needs no acknowledgement any more, and is not confirmed
        self._done: set[int] = set()
        self._changed = anyio.Event()

    def reconnect(self) -> None:
        """A new connection begins: what is not acknowledged is handed out again."""
        self._handed.clear()

    def is_done(self, number: int) -> bool:
        """Whether an update needs no acknowledgement; Telegram shows the update until the confirmation."""
        return number in self._done

    def note_update(self, number: int, envelope: Envelope | None) -> bool:
        """Note an update; returns whether to hand the message out now."""
        if number in self._done or number in self._handed:
            return False
        if envelope is None:
            self._done.add(number)
            return False
        self._handed.add(number)
        self._open.add(number)
        self._numbers.setdefault(key_of(envelope), set()).add(number)
        return True

    def ack(self, envelope: Envelope) -> None:
        """A message is durable."""
        numbers = self._numbers.pop(key_of(envelope), set())
        self._open -= numbers
        self._handed -= numbers
        self._done |= numbers
        self._changed.set()

    @property
    def waiting(self) -> int:
        """How many messages are not acknowledged."""
        return len(self._open)

    @property
    def offset(self) -> int | None:
        """The number to poll with; None: there is nothing to confirm."""
        last = min(self._open) if self._open else max(self._done, default=-1) + 1
        return last if any(number < last for number in self._done) else None

    def confirm(self, offset: int | None) -> None:
        """Confirm a poll with an offset: both sides forget everything before."""
        if offset is not None:
            self._done = {number for number in self._done if number >= offset}

    async def settle(self, seconds: float) -> None:
        """Wait until every message is acknowledged, for at most `seconds`."""
        with anyio.move_on_after(seconds):
            while self._open:
                self._changed = anyio.Event()
                await self._changed.wait()
