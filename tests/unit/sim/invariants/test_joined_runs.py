"""Runs that are judged from the middle, as a watched gateway is: no false alarm, and defects are still found."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest

from tests.support.paths import SCENARIO_FILES
from trunkline.core.events import Event
from trunkline.core.events.bindings import BindingBound, BindingEnded, BindingEnding
from trunkline.core.events.delivery import AttemptEnded, AttemptStarted, ChunkAcked, IntentPrepared, IntentSettled
from trunkline.core.events.gateway import ProcessStarted, RunJoined, SessionCreated
from trunkline.core.events.hands import (
    CallbackChanged,
    DelegationAccepted,
    DelegationFinished,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.sim.invariants import CHECKERS, Judge, Status
from trunkline.sim.run.runner import run_scenario
from trunkline.sim.scenario.load import load_scenario

#: what of a story that is still open a snapshot shows
_OPEN = (
    *(IntentPrepared, AttemptStarted, AttemptEnded, ChunkAcked, BindingBound, BindingEnding),
    *(DelegationAccepted, DelegationStarted, DelegationProgressed, DelegationFinished, CallbackChanged),
)
#: how many places a run is cut at
CUTS = 8


def shown_at(events: Sequence[Event], cut: int) -> list[Event]:
    """Of the events before a cut, those that a snapshot of the store shows."""
    before = events[:cut]
    over = {event.intent for event in before if isinstance(event.body, IntentSettled)}
    over |= {event.binding for event in before if isinstance(event.body, BindingEnded)}
    over.discard(None)
    started = [event for event in before if isinstance(event.body, ProcessStarted)][-1:]
    return started + [
        event
        for event in before
        if isinstance(event.body, SessionCreated)
        or (isinstance(event.body, _OPEN) and not over & {event.intent or "", event.binding or ""})
    ]


def joined_at(events: Sequence[Event], cut: int, *, bare: bool) -> list[Event]:
    """The run as somebody who joins it at a cut sees it, numbered anew. `bare`: without what is open."""
    shown = [] if bare else shown_at(events, cut)
    at = min([events[cut].at, *(event.at for event in shown)])
    head = Event(seq=0, at=at, node="snapshot", body=RunJoined(after=cut, joined_at=events[cut].at))
    begun = [head, *(msgspec.structs.replace(event, cause=None, node="snapshot") for event in shown)]
    offset = len(begun) - cut
    rest = [
        msgspec.structs.replace(event, cause=event.cause + offset if event.cause and event.cause > cut else None)
        for event in events[cut:]
    ]
    return [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate([*begun, *rest], 1)]


def violated(events: Sequence[Event]) -> set[str]:
    """The invariants that a judge sees violated."""
    judge = Judge(CHECKERS)
    for event in events:
        judge.see(event)
    judge.finish()
    return {one.id for one in judge.verdicts() if one.status is Status.VIOLATED}


@cache
def recorded(path: Path, bug: str = "") -> tuple[Event, ...]:
    """The events of a run of a shipped scenario."""
    return run_scenario(load_scenario(path), bugs=(bug,) if bug else ()).trace.events


def found_when_joined(path: Path) -> dict[str, list[int]]:
    """Invariants that are violated in a run that is joined, and the cuts."""
    events = recorded(path)
    found: dict[str, list[int]] = {}
    for cut in sorted({len(events) * part // (CUTS + 1) for part in range(1, CUTS + 1)}):
        for bare in (False, True):
            for one in violated(joined_at(events, cut, bare=bare)):
                found.setdefault(one, []).append(cut)
    return found


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_a_run_that_is_joined_violates_nothing_that_the_whole_run_holds(path: Path) -> None:
    whole = violated(recorded(path))
    assert {one: cuts for one, cuts in found_when_joined(path).items() if one not in whole} == {}


@pytest.mark.parametrize("bare", [False, True], ids=["open-shown", "nothing-shown"])
@pytest.mark.parametrize(
    ("bug", "scenario", "invariant"),
    [
        ("doubt-falls-back", "hybrid-fallback", "D4"),
        ("tool-send-captures-route", "crossing-is-marked", "R3"),
        ("first-messages-fork", "B074-first-messages-fork", "S4"),
    ],
)
def test_a_defect_after_the_cut_is_still_found(bug: str, scenario: str, invariant: str, *, bare: bool) -> None:
    [path] = [one for one in SCENARIO_FILES if one.stem == scenario]
    events = recorded(path, bug)
    joined = joined_at(events, len(events) // 3, bare=bare)
    assert invariant in violated(joined)
    healthy = recorded(path)
    assert invariant not in violated(joined_at(healthy, len(healthy) // 3, bare=bare))
