"""Where am I: the facts of the status line."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.text.cells import count
from trunkline.app.view.text.fact import Tone


class PlaybackMode(StrEnum):
    """What the clock of the screen does."""

    PLAYING = "PLAYING"
    PAUSED = "PAUSED"
    #: stopped by itself, because an invariant broke
    AUTO_PAUSED = "AUTO-PAUSED"
    #: stands at the end, and goes along when the run grows
    FOLLOWING = "FOLLOWING"
    #: the same, of a run that goes on
    LIVE = "LIVE"
    #: stopped by itself, at a breakpoint
    BREAKPOINT = "BREAKPOINT"
    #: the cursor stands before the furthest event reached
    REWOUND = "REWOUND"
    ENDED = "ENDED"
    #: a run that is watched has told nothing yet; and one of which nothing more can be read
    WAITING = "WAITING"
    CUT = "CUT OFF"


class StatusChip(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict in a few words."""

    text: str
    tone: Tone
    hint: str = ""
    #: the same for a narrow terminal
    short: str = ""


class StatusLine(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the status line shows."""

    scenario: str
    seed: int
    mode: PlaybackMode
    speed: float
    at: float
    seq: int
    last: int
    #: events between the cursor and the furthest one reached
    behind: int
    bugs: tuple[str, ...]
    chip: StatusChip
    #: the run goes on
    live: bool = False
    #: which of two runs it is, A or B; nothing while there is only one
    letter: str = ""


def status_line(
    view: RunView, *, seq: int, head: int, mode: PlaybackMode, speed: float = 1.0, letter: str = ""
) -> StatusLine:
    """The status after event `seq`."""
    header = view.header
    return StatusLine(
        scenario=header.scenario,
        seed=header.seed,
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
    """What the invariants say: broken by now, broken later, or all well, and how much of it was exercised."""
    if view.marks.stops and view.marks.stops[0] <= seq:
        text, short = _broken_words(view, seq)
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


def _broken_words(view: RunView, seq: int) -> tuple[str, str]:
    broken = view.marks.broken_by(seq)
    ids = [verdict.id for verdict in view.verdicts if verdict.id in broken]
    copies = view.marks.copies_by(seq)
    words = f"  {copies} {'DUPLICATE' if copies == 1 else 'DUPLICATES'}" if copies else ""
    short = f"✗ {' '.join(ids)}"
    return short + words, short
