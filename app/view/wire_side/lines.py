"""Rows of lists about a gateway of which only the wire is known."""

from __future__ import annotations

from typing import Protocol

import msgspec

from trunkline.app.view.labels.messages import LabelCell
from trunkline.app.view.text.fact import Tone
from trunkline.core.events import Event


class WireLine(msgspec.Struct, frozen=True, kw_only=True):
    """One row, as it was after an event."""

    #: the event that Enter leads to
    seq: int
    cells: dict[str, LabelCell] = {}
    #: ``2×``, ``!!``, ``✗``
    tag: str = ""
    #: the text of a mark between the rows
    mark: str = ""
    tone: Tone = Tone.PLAIN
    later: bool = False


class WireRows(Protocol):
    """The rows of a list."""

    def __len__(self) -> int: ...

    def line(self, index: int, seq: int) -> WireLine:
        """A row after event `seq`."""
        ...

    def place(self, event: Event) -> int | None:
        """The number of the row that an event belongs to."""
        ...

    def seqs(self, index: int) -> frozenset[int]:
        """The events of a row, for filters."""
        ...

    def wrong(self, seq: int) -> tuple[int, ...]:
        """Numbers of the rows that had broken something after event `seq`."""
        ...
