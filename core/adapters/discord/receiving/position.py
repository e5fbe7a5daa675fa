"""The read position of an account: how far messages were read, and how far everything read is durable in the gateway.

Two cursors, both in one stored value. The session and the number of its last event (RESUME) bring everything again that
Discord still keeps. The id of the last message finds in the history what was written while no session could be resumed:
ids grow with time over all channels. Both move only to what every message before is durable for (`acked`).

After a new session, the history of each server is read first. Until all of it is durable, neither the new session is
stored nor the last message moved: otherwise a crash in between would lose the rest of the history.
"""

from collections import deque
from dataclasses import dataclass

import msgspec

#: id units in a second: the ids of messages hold milliseconds, 22 bits up
_A_SECOND = 1000 << 22
#: how far back the history is read before the last message, for messages that were handed out in another order
OVERLAP = 5 * _A_SECOND


class StoredPosition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    #: None: no session can be resumed
    session: str | None = None
    url: str = ""
    seq: int = 0
    #: id of the last message; None: the account never was connected
    after: int | None = None
    #: messages up to here were written before the account was connected for the first time
    floor: int = 0


@dataclass(slots=True)
class _Entry:
    """An entry in the order of arrival: a message, or something without need of an acknowledgement."""

    seq: int | None
    message: str | None
    done: bool
    #: id of the message, by which the history is read; 0: it is none
    number: int = 0
    ends_history: bool = False


class ReadPosition:
    """The position of an account. No method changes the store: `stored` is to be saved."""

    def __init__(self, stored: StoredPosition) -> None:
        self.stored = stored
        self._entries: deque[_Entry] = deque()
        self._session: tuple[str, str] | None = None
        #: the history of the current session is not durable yet
        self._recovering = False
        #: the last event of the session before which everything is durable: what heartbeats and RESUME name
        self.seq = 0
        self._highest = stored.after or 0
        #: messages after the position that are durable already; they come again, and are not handed out again
        self._ahead: set[str] = set()

    def resume(self) -> None:
        """The stored session goes on, right after the stored event."""
        self._begin(recovering=False, seq=self.stored.seq)
        self._session = None if self.stored.session is None else (self.stored.session, self.stored.url)

    def begin_session(self, session: str, url: str) -> None:
        """Begin a new session, whose history comes first."""
        self._begin(recovering=True, seq=0)
        self._session = (session, url)

    def begin_unknown_session(self) -> None:
        """Begin a session without a known name, which cannot be resumed and moves nothing."""
        self._begin(recovering=True, seq=0)
        self._session = None

    def forget_session(self) -> None:
        """Discord does not resume the stored session."""
        self.stored = msgspec.structs.replace(self.stored, session=None, url="", seq=0)
        # An acknowledgement that comes late must not store it again.
        self._session = None

    def since(self) -> int | None:
        """The message after which the history is to be read; None on the first connection."""
        if self.stored.after is None:
            return None
        return max(self.stored.floor, self.stored.after - OVERLAP)

    def pass_event(self, seq: int | None) -> None:
        """An event needs no acknowledgement."""
        self._add(_Entry(seq, None, done=True))

    def note_repeat(self, message: str, seq: int | None, *, written: bool = True) -> bool:
        """Whether a message is durable since an earlier connection, and so needs no acknowledgement."""
        if message not in self._ahead:
            return False
        self._ahead.discard(message)
        self._add(_Entry(seq, message, done=True, number=int(message) if written else 0))
        return True

    def hand_out(self, message: str, seq: int | None, *, written: bool = True) -> None:
        """Note a message for the gateway; `seq` is None for a message from the history.

        `written`: it is in the history, as a press of a button is not.
        """
        self._add(_Entry(seq, message, done=False, number=int(message) if written else 0))

    def note_first(self, last: int) -> None:
        """Note a message written before the first connection."""
        if self.stored.after is None:
            self._highest = max(self._highest, last)

    def end_history(self) -> None:
        """All history was handed out."""
        self._add(_Entry(None, None, done=True, ends_history=True))

    def ack(self, message: str) -> bool:
        """A message is durable. Returns whether `stored` changed."""
        for entry in self._entries:
            if entry.message == message:
                entry.done = True
        return self._settle()

    def _begin(self, *, recovering: bool, seq: int) -> None:
        self._ahead |= {entry.message for entry in self._entries if entry.done and entry.message is not None}
        self._entries.clear()
        self._recovering = recovering
        self.seq = seq
        self._highest = self.stored.after or 0

    def _add(self, entry: _Entry) -> None:
        self._entries.append(entry)
        self._settle()

    def _settle(self) -> bool:
        """Move to the first entry without durability."""
        while self._entries and self._entries[0].done:
            entry = self._entries.popleft()
            self.seq = max(self.seq, entry.seq or 0)
            self._highest = max(self._highest, entry.number)
            self._recovering = self._recovering and not entry.ends_history
        if self._recovering:
            return False
        session, url = self._session or (None, "")
        first = self.stored.after is None
        moved = StoredPosition(
            session=session,
            url=url,
            seq=self.seq if session is not None else 0,
            after=self._highest,
            floor=self._highest if first else self.stored.floor,
        )
        changed, self.stored = moved != self.stored, moved
        return changed
