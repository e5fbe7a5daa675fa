"""One line of the timeline: where it is drawn, how it looks, and what it says."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Look(StrEnum):
    """How a row is drawn: shape, word and colour go together."""

    #: somebody speaks to the gateway
    INBOUND = "inbound"
    #: accepted, as decided
    DELIVERED = "delivered"
    #: the first of several copies
    FIRST = "first"
    #: a later copy
    COPY = "copy"
    #: elsewhere than asked, by configuration
    FALLBACK = "fallback"
    #: at a place where it should not be
    MISPLACED = "misplaced"
    #: nobody can tell whether it was accepted
    UNKNOWN = "unknown"
    #: not said, on purpose
    SUPPRESSED = "suppressed"
    #: will be tried again
    RETRY = "retry"
    #: will not be delivered
    DEAD = "dead"
    #: work given to a hand, and its result
    HAND = "hand"
    #: something about the world or the process
    NOTE = "note"
    #: the process died, a fault struck, a defect is on
    ALARM = "alarm"
    #: inside the gateway; shown only unfolded
    INTERNAL = "internal"


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the timeline. `start` and `end` are lanes; equal for a note."""

    seq: int
    at: float
    look: Look
    start: int
    end: int
    text: str
    #: who speaks, where that is not plain from the lane
    who: str = ""
    tags: tuple[str, ...] = ()
    #: ``m``, ``m!`` or ``m?``, and the event that it stands for
    mirror: str = ""
    mirror_seq: int = 0
    #: joins the copies of one thing: ``┏ ┃ ┣ ┗``
    bracket: str = ""

    @property
    def is_note(self) -> bool:
        """Drawn at one lane only."""
        return self.start == self.end
