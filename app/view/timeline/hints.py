"""The hints of the first minutes: what a key would do now. Each stops when its key was used."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

_COMPARE = ("show('diff')", "9 compares with the run before")


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What the hints depend on."""

    #: an invariant breaks at the cursor
    broken: bool = False
    #: what is under the cursor has another copy
    twin: bool = False
    #: a defect is on
    defect: bool = False
    #: there is a run to compare with
    other: bool = False
    #: the cursor stands before the furthest event reached
    rewound: bool = False
    #: nothing has happened yet
    start: bool = False


def timeline_hints(now: Situation, used: Collection[str]) -> str:
    """What to do at this moment, in a line; blank when there is nothing to say that is not known by now."""
    if now.start:
        return _told("t=0, nothing has happened yet", (("step", "] steps"), ("play", "Space plays")), used)
    if now.broken:
        keys = [("why", "e explains")]
        keys += [("twin", "t twin")] if now.twin else []
        keys += [("chain", "c chain")]
        keys += [("bug", "d without the defect")] if now.defect else []
        keys += [_COMPARE] if now.other else []
        return _told("broken here", keys, used)
    if now.other:
        return _told("run again", (_COMPARE,), used)
    if now.rewound:
        return _told("rewound, later rows are dim", (("run_to_end", "$ goes to the end"),), used)
    return ""


def card_hints(hint: str, title: str, used: Collection[str]) -> str:
    """What Enter does on a card of the Overview; once that is known, what the run is about."""
    keys = [] if "overview:enter" in used else [f"Enter: {hint}"]
    keys += [] if "next_pane" in used else ["Tab: the next card"]
    return "   ".join(keys) or title


def _told(what: str, keys: Collection[tuple[str, str]], used: Collection[str]) -> str:
    """Blank when every key is known."""
    left = [text for action, text in keys if action not in used]
    return f"{what}: {'  '.join(left)}" if left else ""
