"""Rows of lists about a gateway of which only the wire is known."""

from __future__ import annotations

from typing import Protocol

from trunkline.app.view.labels.lines import ListLine
from trunkline.core.events import Event


class WireRows(Protocol):
    """The rows of a list."""

    def __len__(self) -> int: ...

    def line(self, index: int, seq: int) -> ListLine:
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
