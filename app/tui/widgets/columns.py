"""Columns for lists of our own: fixed widths, and one column that takes the rest."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class ListColumn(msgspec.Struct, frozen=True):
    """One column. `width` 0 takes what the others leave; `right` aligns numbers."""

    title: str
    width: int
    right: bool = False


def spread(columns: Sequence[ListColumn], width: int, gap: int = 2) -> list[tuple[int, int]]:
    """Start and width of each column in a line of `width` cells."""
    fixed = sum(column.width for column in columns) + gap * (len(columns) - 1)
    flexible = max(sum(column.width == 0 for column in columns), 1)
    room = max((width - fixed) // flexible, 4)
    places: list[tuple[int, int]] = []
    x = 0
    for column in columns:
        size = column.width or room
        places.append((x, size))
        x += size + gap
    return places
