"""Positions in a run as people type them: ``t 1.27`` and ``1.27`` are times, ``#14`` is an event."""

from __future__ import annotations

import re

from trunkline.app.text.cells import clean, seconds
from trunkline.app.view.index.run_index import RunView
from trunkline.core.errors import UsageError

_TIME = re.compile(r"t?\s*(\d{1,18}(?:\.\d*)?|\.\d+)\s*s?", re.IGNORECASE | re.ASCII)
_EVENT = re.compile(r"#\s*(\d{1,18})", re.ASCII)
_SPEED = re.compile(r"(?:speed|[x×])\s*(\d{1,18}(?:\.\d*)?|\.\d+)", re.IGNORECASE)


def read_moment(view: RunView, text: str) -> int:
    """The event at a typed position: the last one up to a time, or the one with a number. Raises `UsageError`."""
    text = text.strip()
    if found := _EVENT.fullmatch(text):
        seq = int(found[1])
        if seq > view.last:
            raise UsageError(f"there is no event {seq}: the last one is #{view.last}")
        return seq
    if found := _TIME.fullmatch(text):
        at = float(found[1])
        end = view.time(view.last)
        if at > end:
            raise UsageError(f"the run ends at {seconds(end)} s: {seconds(at)} is later")
        return view.seq_before(at + 1e-6)
    raise UsageError(f"{clean(text)!r} is no moment: t 1.27 is a time in seconds, #14 an event")


def read_speed(text: str) -> float | None:
    """``speed 8``, ``x8``: the speed; none for other texts."""
    found = _SPEED.fullmatch(text.strip())
    return float(found[1]) if found and float(found[1]) > 0 else None
