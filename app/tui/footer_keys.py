"""Which keys the footer shows: what matters now stands before what is always there."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.tui.keys import SELDOM, Key, footer_of
from trunkline.app.tui.state.workspace import Desk

#: keys in the footer, at most
MOST_KEYS = 8
#: they are there whatever else is
ALWAYS = ("play", "run", "help", "quit")

#: on a run with faults: take back, keep, compare
_BRANCH = ("undo_fault", "save_scenario", "diff", "fault", "next_violation", "next_difference")
#: two runs are open
_TWO = ("diff",)
#: a promise is broken by now: the next one, the other copy, what would mend it
_BROKEN = ("next_violation", "next_difference", "twin", "fault")
#: more of the run may come
_LIVE = ("follow",)
#: nothing to compare with yet
_ALONE = ("pin",)


def footer_keys(desk: Desk, screen: str) -> list[Key]:
    """The keys for what is open now, the most important first."""
    found = {key.id: key for key in footer_of(screen)}
    wanted = [*ALWAYS, *_urgent(desk, screen)] if desk.opened is not None else ALWAYS
    idle = set(_idle(desk, screen))
    first = [found[name] for name in dict.fromkeys(wanted) if name in found and name not in idle]
    rest = [key for name, key in found.items() if key not in first and name not in idle and key.rank < SELDOM]
    return [*first, *rest][:MOST_KEYS]


def _urgent(desk: Desk, screen: str) -> Iterator[str]:
    if screen == "bindings":
        yield "ask"
    if screen == "diff" and desk.branch.other(desk.opened) is None:
        yield from _ALONE
    if desk.live is not None and desk.live.going_on:
        yield from _LIVE
    if desk.branch.faults:
        yield from _BRANCH
    elif screen != "diff" and desk.branch.other(desk.opened) is not None:
        yield from _TWO
    stops = desk.run.view.marks.stops
    if stops and stops[0] <= desk.cursor:
        yield from _BROKEN


def _idle(desk: Desk, screen: str) -> Iterator[str]:
    """Keys that would do nothing but say why."""
    if screen == "diff":
        yield "diff"
    if desk.opened is None:
        return
    if desk.entry is None:
        yield from ("fault", "bug")
    elif not desk.bugs and not desk.entry.bugs:
        yield "bug"
    if not desk.run.view.marks.stops and desk.finding.filter is None:
        yield "next_violation"
    if not desk.has_twin:
        yield "twin"
