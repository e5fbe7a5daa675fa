"""The facts of the status line."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from trunkline.app.text.cells import count
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.wire_side.unknown import gateway_name


class PlaybackMode(StrEnum):
    """The state of playback."""

    PLAYING = "PLAYING"
    PAUSED = "PAUSED"
    #: stopped at a violation
    AUTO_PAUSED = "AUTO-PAUSED"
    #: at the end, following the run as it grows
    FOLLOWING = "FOLLOWING"
    #: the same, for a live run
    LIVE = "LIVE"
    #: stopped at a breakpoint
    BREAKPOINT = "BREAKPOINT"
    #: the cursor stands before the furthest event reached
    REWOUND = "REWOUND"
    ENDED = "ENDED"
    #: a watched run without events yet; and one that cannot be read any further
    WAITING = "WAITING"
    CUT = "CUT OFF"


class StatusChip(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict, in a few words."""

    text: str
    tone: Tone
    hint: str = ""
    #: the same for a narrow terminal
    short: str = ""


class StatusLine(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the status line."""

    scenario: str
    #: None for a gateway that is not simulated
    seed: int | None
    #: the gateway of which only the wire is known, with its version
    gateway: str = ""
    mode: PlaybackMode
    speed: float
    at: float
    seq: int
    last: int
    #: events between the cursor and the furthest one reached
    behind: int
    bugs: tuple[str, ...]
    chip: StatusChip
    #: more events may come
    live: bool = False
    #: A or B, if two runs are open
    letter: str = ""


def status_line(
    view: RunView, *, seq: int, head: int, mode: PlaybackMode, speed: float = 1.0, letter: str = ""
) -> StatusLine:
    """The status after event `seq`."""
    header = view.header
    return StatusLine(
        scenario=header.scenario,
        seed=header.seed if header.seeded and mode is not PlaybackMode.WAITING else None,
        gateway=gateway_name(header) if view.wire_side else "",
        mode=mode,
        speed=speed,
        at=view.time(seq),
        seq=seq,
        last=view.last,
        behind=max(head - seq, 0),
        bugs=header.bugs,
        chip=verdict_chip(view, seq),
        live=view.growing,
        letter=letter,
    )


def verdict_chip(view: RunView, seq: int) -> StatusChip:
    """The verdict at a moment: violated so far, violated later, or all hold, and how much was exercised."""
    if view.marks.stops and view.marks.stops[0] <= seq:
        broken, copies = view.marks.broken_by(seq), view.marks.copies_by(seq)
        short = f"✗ {' '.join(verdict.id for verdict in view.verdicts if verdict.id in broken)}"
        text = f"{short}  {count(copies, 'DUPLICATE', 'DUPLICATES')}" if copies else short
        return StatusChip(text=text, tone=Tone.BAD, hint=f"first #{view.marks.stops[0]}", short=short)
    ahead = len(view.marks.violations)
    if ahead:
        return StatusChip(text=f"{count(ahead, 'violation')} ahead", tone=Tone.WARN, hint="n jumps there")
    if view.unmet:
        return StatusChip(text=f"✗ {count(len(view.unmet), 'expectation')} unmet", tone=Tone.BAD)
    total = len(view.verdicts)
    if not view.exercised:
        return StatusChip(text="nothing exercised", tone=Tone.DIM)
    hold = "cut: ✓ so far" if view.cut else f"✓ all hold{view.so_far}"
    tone = Tone.WARN if view.cut else Tone.GOOD
    return StatusChip(
        text=f"{hold} ({view.exercised} of {total} exercised)", tone=tone, short=f"{hold} {view.exercised}/{total}"
    )
