"""Brackets in the gutter that join copies: ``┏ ┃ ┣ ┗``. Where groups overlap, ends take precedence over bars."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container

from trunkline.app.view.index.evidence import Evidence


class CopyBrackets:
    """The brackets of a run, by row. `shown` contains the events that have a row."""

    def __init__(self, marks: Evidence, shown: Container[int]) -> None:
        #: member of a group -> its sign
        self._ends: dict[int, str] = {}
        spans: list[tuple[int, int]] = []
        for group in marks.groups:
            members = [seq for seq in group if seq in shown]
            if len(members) > 1:
                self._ends |= dict.fromkeys(members, "┣") | {members[0]: "┏", members[-1]: "┗"}
                spans.append((members[0], members[-1]))
        #: ranges with a bar, without overlaps
        self._starts: list[int] = []
        self._stops: list[int] = []
        for first, last in sorted(spans):
            if self._stops and first <= self._stops[-1]:
                self._stops[-1] = max(self._stops[-1], last)
            else:
                self._starts.append(first)
                self._stops.append(last)

    def of(self, seq: int) -> str:
        """The sign beside a row; empty beside most."""
        own = self._ends.get(seq)
        if own is not None:
            return own
        index = bisect_right(self._starts, seq) - 1
        return "┃" if index >= 0 and seq < self._stops[index] else ""
