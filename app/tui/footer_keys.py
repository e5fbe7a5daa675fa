"""Which keys the footer shows: first those for the current situation."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.tui.keys import SELDOM, Key, footer_of
from trunkline.app.tui.state.workspace import Workspace

#: keys in the footer, at most
MOST_KEYS = 8
#: shown in every situation
ALWAYS = ("play", "run", "help", "quit")

#: the run has faults: undo, keep, compare
_BRANCH = ("undo_fault", "save_scenario", "diff", "fault", "next_violation", "next_difference")
#: two runs are open
_TWO = ("diff",)
#: an invariant is violated up to the cursor: the next violation, the other copy, a fault
_BROKEN = ("next_violation", "next_difference", "twin", "fault")
#: more of the run may come
_LIVE = ("follow",)
#: hands were given work: bars over time, and the way between a message and its delegation
_DELEGATED = ("bars", "hand", "message")
#: screens that show these keys
_OUTBOUND = ("messages", "queue", "hands")
#: nothing to compare with yet
_ALONE = ("pin",)


def footer_keys(workspace: Workspace, screen: str) -> list[Key]:
    """The keys for the current situation, the most important first."""
    found = {key.id: key for key in footer_of(screen)}
    wanted = [*ALWAYS, *_urgent(workspace, screen)] if workspace.open_run is not None else ALWAYS
    idle = set(_idle(workspace, screen))
    first = [found[name] for name in dict.fromkeys(wanted) if name in found and name not in idle]
    rest = [key for name, key in found.items() if key not in first and name not in idle and key.rank < SELDOM]
    return [*first, *rest][:MOST_KEYS]


def _urgent(workspace: Workspace, screen: str) -> Iterator[str]:
    if screen == "bindings":
        yield "ask"
    if screen == "diff" and workspace.branch.other(workspace.open_run) is None:
        yield from _ALONE
    if workspace.live is not None and workspace.live.going_on:
        yield from _LIVE
    if workspace.branch.faults:
        yield from _BRANCH
    elif screen != "diff" and workspace.branch.other(workspace.open_run) is not None:
        yield from _TWO
    stops = workspace.run.view.marks.stops
    if stops and stops[0] <= workspace.cursor:
        yield from _BROKEN


def _idle(workspace: Workspace, screen: str) -> Iterator[str]:
    """Keys that would have no effect."""
    if screen == "diff":
        yield "diff"
    if screen not in _OUTBOUND or workspace.open_run is None or not workspace.run.view.delegations:
        yield from _DELEGATED
    if workspace.open_run is None:
        return
    if workspace.entry is None:
        yield from ("fault", "bug")
    elif not workspace.bugs and not workspace.entry.bugs:
        yield "bug"
    if not workspace.run.view.marks.stops and workspace.search.filter is None:
        yield "next_violation"
    if not workspace.has_twin:
        yield "twin"
