"""The words of the status line and of the hints."""

from collections.abc import Collection
from enum import StrEnum

import msgspec

from trunkline.app.text.cells import count
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.wire_side.facts import gateway_name


class PlaybackMode(StrEnum):
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
    text: str
    tone: Tone
    hint: str = ""
    #: the same for a narrow terminal
    short: str = ""


def run_source(view: RunView, mode: PlaybackMode) -> str:
    """The seed of a run, or the gateway of which only the wire is known, with its version; blank for any other."""
    if view.header.seeded and mode is not PlaybackMode.WAITING:
        return f"seed {view.header.seed}"
    return gateway_name(view.header) if view.wire_side else ""


def verdict_chip(view: RunView, seq: int) -> StatusChip:
    """The verdict at a moment: violated so far, violated later, or all hold, and how much was exercised."""
    if view.marks.stops and view.marks.stops[0] <= seq:
        broken, copies = view.marks.broken_by(seq), view.marks.copies_by(seq)
        short = f"✗ {' '.join(verdict.id for verdict in view.verdicts if verdict.id in broken)}"
        text = f"{short}  {count(copies, 'DUPLICATE', 'DUPLICATES')}" if copies else short
        return StatusChip(text=text, tone=Tone.BAD, hint=f"first #{view.marks.stops[0]}", short=short)
    ahead = len(view.marks.violations)
    if ahead:
        # From the culprit on it has gone wrong, although nobody sees it yet.
        gone_wrong = any(culprit.seq <= seq for culprit in view.culprits)
        tone = Tone.BAD if gone_wrong else Tone.WARN
        return StatusChip(text=f"{count(ahead, 'violation')} ahead", tone=tone, hint="n jumps there")
    if view.unmet and view.run.not_exercised == len(view.unmet):
        return StatusChip(text="✗ not exercised", tone=Tone.BAD)
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


# Hints for newcomers: what a key would do now. Each disappears once its key was used.

_COMPARE = ("app.show('diff')", "9 compares with the run before")


def timeline_hints(
    used: Collection[str],
    *,
    broken: bool = False,
    twin: bool = False,
    defect: bool = False,
    other: bool = False,
    rewound: bool = False,
    start: bool = False,
) -> str:
    """A one-line hint for this moment; blank if every key of it was used.

    `broken`: an invariant breaks at the cursor; `twin`: the delivery there has another copy; `defect`: one is on;
    `other`: a run to compare with is open; `rewound`: the cursor was further; `start`: nothing has happened yet.
    """
    if start:
        return _hint("t=0, nothing has happened yet", (("step(1)", "] steps"), ("play", "Space plays")), used)
    if broken:
        keys = [("why", "e explains")]
        keys += [("twin", "t twin")] if twin else []
        keys += [("chain", "c chain")]
        keys += [("bug", "d without the defect")] if defect else []
        keys += [_COMPARE] if other else []
        return _hint("broken here", keys, used)
    if other:
        return _hint("run again", (_COMPARE,), used)
    if rewound:
        return _hint("rewound, later rows are dim", (("run_to_end", "$ goes to the end"),), used)
    return ""


def card_hints(hint: str, title: str, used: Collection[str]) -> str:
    """A hint about Enter on the Overview; once it was used, the title of the run."""
    keys = [] if "overview:enter" in used else [f"Enter: {hint}"]
    keys += [] if "app.focus_next" in used else ["Tab: the next card"]
    return "   ".join(keys) or title


def _hint(what: str, keys: Collection[tuple[str, str]], used: Collection[str]) -> str:
    """The hint, or blank if every key was used."""
    left = [text for action, text in keys if action not in used]
    return f"{what}: {'  '.join(left)}" if left else ""
