"""Hints for newcomers: what a key would do now. Each disappears once its key was used."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

_COMPARE = ("show('diff')", "9 compares with the run before")


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The state that hints depend on."""

    #: an invariant breaks at the cursor
    broken: bool = False
    #: the delivery under the cursor has another copy
    twin: bool = False
    #: a defect is on
    defect: bool = False
    #: a run to compare with is open
    other: bool = False
    #: the cursor stands before the furthest event reached
    rewound: bool = False
    #: nothing has happened yet
    start: bool = False


def timeline_hints(now: Situation, used: Collection[str]) -> str:
    """A one-line hint for this moment; blank if every key of it was used."""
    if now.start:
        return _hint("t=0, nothing has happened yet", (("step", "] steps"), ("play", "Space plays")), used)
    if now.broken:
        keys = [("why", "e explains")]
        keys += [("twin", "t twin")] if now.twin else []
        keys += [("chain", "c chain")]
        keys += [("bug", "d without the defect")] if now.defect else []
        keys += [_COMPARE] if now.other else []
        return _hint("broken here", keys, used)
    if now.other:
        return _hint("run again", (_COMPARE,), used)
    if now.rewound:
        return _hint("rewound, later rows are dim", (("run_to_end", "$ goes to the end"),), used)
    return ""


def card_hints(hint: str, title: str, used: Collection[str]) -> str:
    """A hint about Enter on the Overview; once it was used, the title of the run."""
    keys = [] if "overview:enter" in used else [f"Enter: {hint}"]
    keys += [] if "next_pane" in used else ["Tab: the next card"]
    return "   ".join(keys) or title


def _hint(what: str, keys: Collection[tuple[str, str]], used: Collection[str]) -> str:
    """The hint, or blank if every key was used."""
    left = [text for action, text in keys if action not in used]
    return f"{what}: {'  '.join(left)}" if left else ""
