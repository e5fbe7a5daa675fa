"""One row of the timeline: position, look and text."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Look(StrEnum):
    """The look of a row: shape, word and colour."""

    #: an inbound message
    INBOUND = "inbound"
    #: accepted, as decided
    DELIVERED = "delivered"
    #: the first of several copies
    FIRST = "first"
    #: a later copy
    COPY = "copy"
    #: elsewhere than requested, by configuration
    FALLBACK = "fallback"
    #: at the wrong place
    MISPLACED = "misplaced"
    #: unknown whether it was accepted
    UNKNOWN = "unknown"
    #: deliberately not sent
    SUPPRESSED = "suppressed"
    #: will be tried again
    RETRY = "retry"
    #: will not be delivered
    DEAD = "dead"
    #: work given to a hand, and its result
    HAND = "hand"
    #: an event of the world or of a process
    NOTE = "note"
    #: a crash, a fault, a defect that is on
    ALARM = "alarm"
    #: inside the gateway; shown only unfolded
    INTERNAL = "internal"


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the timeline. `start` and `end` are lanes; equal for a note."""

    seq: int
    at: float
    look: Look
    start: int
    end: int
    text: str
    #: the author, if the lane does not show it
    who: str = ""
    tags: tuple[str, ...] = ()
    #: ``m``, ``m!`` or ``m?``, and its event
    mirror: str = ""
    mirror_seq: int = 0
    #: joins copies: ``┏ ┃ ┣ ┗``
    bracket: str = ""

    @property
    def is_note(self) -> bool:
        """Drawn at one lane only."""
        return self.start == self.end
