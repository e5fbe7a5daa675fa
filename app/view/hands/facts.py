"""Words for a hand's run: shapes of its states, places of its announcements, and its facts."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.view.explain.resolver import title
from trunkline.app.view.hands.runs import HandRow, HandRuns, HandState
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.kinds.hands import step_label
from trunkline.app.view.text.cells import clean, quoted, seconds
from trunkline.app.view.text.fact import Fact, Tone, because
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.gateway import TurnStarted
from trunkline.core.events.hands import (
    CompletionPlanned,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
)
from trunkline.sim.events.wire import WireAccepted

_LABELS: dict[type[Body], str] = {
    WireAccepted: "said",
    DelegationAccepted: "dispatch",
    DelegationStarted: "start",
    DelegationIgnored: "ignored",
    RouterDecided: "router",
    FallbackDenied: "denied",
    TurnStarted: "callback",
    DelegationFinished: "result",
}
#: shape, word and tone of each state
HAND_WORDS: dict[HandState, tuple[str, Tone]] = {
    HandState.LATER: ("·", Tone.DIM),
    HandState.ACCEPTED: ("○", Tone.PLAIN),
    HandState.RUNNING: ("◐", Tone.WARN),
    HandState.ORPHANED: ("╳", Tone.BAD),
    HandState.FINISHED: ("●", Tone.WARN),
    HandState.LOST: ("╳", Tone.BAD),
    HandState.CALLBACK: ("↻", Tone.PLAIN),
    HandState.ANNOUNCED: ("✓", Tone.GOOD),
    HandState.HEARD: ("✓", Tone.GOOD),
    HandState.KEPT: ("–", Tone.DIM),
}
#: explanations of the states for newcomers
_MEANING: dict[HandState, str] = {
    HandState.LATER: "it is dispatched later in the run",
    HandState.ACCEPTED: "the task is stored, the hand has not started",
    HandState.RUNNING: "the hand works on it",
    HandState.ORPHANED: "its process has died, and no other has taken over yet",
    HandState.FINISHED: "it has ended, and its requester does not have the result yet",
    HandState.LOST: "it was lost with its process, and its requester does not know yet",
    HandState.CALLBACK: "the agent that asked is reading the result",
    HandState.ANNOUNCED: "its result was announced",
    HandState.HEARD: "the agent that asked has read the result; people have not seen it",
    HandState.KEPT: "deliberately not announced",
}


def spoken(view: RunView, row: HandRow) -> str:
    """The places of its announcements, with their numbers."""
    places: dict[str, int] = {}
    for one in row.said:
        name = title(view.places, one.address)
        places[name] = places.get(name, 0) + 1
    return ", ".join(f"{name} {times}×" if times > 1 else name for name, times in places.items())


def hand_facts(view: RunView, hands: HandRuns, row: HandRow, seq: int) -> Iterator[Fact]:
    """The facts of a run after event `seq`, and its events."""
    yield _state(row)
    for name in row.broken:
        verdict = next((one for one in view.verdicts if one.id == name), None)
        text = f"✗ {name} {verdict.title}: {verdict.sentence}" if verdict else f"✗ {name}"
        yield Fact(label="broken", text=text, tone=Tone.BAD, seq=row.since)
    yield Fact(label="task", text=f"{quoted(row.task)} for hand {row.hand}, by agent {row.agent or '?'}", seq=row.since)
    yield Fact(label="origin", text=_origin(view, row), seq=row.since)
    yield Fact(label="requester", text=clean(row.requester), seq=row.since)
    yield Fact(label="session", text=clean(row.session) or "none of its own", seq=row.since)
    yield _deadline(view, row, seq)
    if row.waits is not None:
        yield Fact(label="not notified", text=f"for {seconds(row.waits)} s", tone=Tone.WARN, seq=row.finished)
    if row.reason is not None:
        yield because(row.reason, row.finished)
    for event in _story(view, row, hands):
        yield _event_fact(view, event)


def _state(row: HandRow) -> Fact:
    _, tone = HAND_WORDS[row.state]
    text = f"{row.word}: {_MEANING[row.state]}"
    if row.over:
        text = f"{row.word}  ✗ the run is over and it was never reported"
    elif row.overdue:
        text = f"✗ L2  {row.word}: it is past its deadline, and its requester has no result"
    return Fact(label="state", text=text, tone=Tone.BAD if row.over or row.overdue else tone, seq=row.since)


def _event_fact(view: RunView, event: Event) -> Fact:
    body = event.body
    if isinstance(body, CompletionPlanned):
        text = "; ".join(step_label(view, step) for step in body.steps) or "no announcement"
        return Fact(label="plan", text=f"#{event.seq} {seconds(event.at)} {text}", seq=event.seq)
    label = _LABELS.get(type(body), "")
    return Fact(label=label, text=f"#{event.seq} {seconds(event.at)} {describe(view, event)}", seq=event.seq)


def _story(view: RunView, row: HandRow, hands: HandRuns) -> list[Event]:
    kinds = (
        DelegationAccepted,
        DelegationStarted,
        DelegationFinished,
        DelegationIgnored,
        RouterDecided,
        CompletionPlanned,
        FallbackDenied,
        TurnStarted,
    )
    found = {event.seq: event for event in view.of_delegation(row.id, *kinds)}
    found.update({one.seq: view.event(one.seq) for one in hands.said(row.id)})
    return [found[seq] for seq in sorted(found)]


def _origin(view: RunView, row: HandRow) -> str:
    if row.origin is None:
        return "none: it was not requested in a place"
    return f"{view.places.label(row.origin)}, frozen at #{row.since}  ({row.origin})"


def _deadline(view: RunView, row: HandRow, seq: int) -> Fact:
    tone = Tone.BAD if row.overdue else Tone.WARN if row.overran else Tone.PLAIN
    text = "not recorded: the trace is older than this field"
    if row.deadline is not None:
        left = row.deadline - view.time(seq)
        text = f"{seconds(row.deadline)} s"
        if row.overran:
            text += f", passed: it was ended after {seconds(row.age)} s"
        elif row.overdue:
            text += f", passed {seconds(-left)} s ago"
        elif row.finished:
            text += f", ended {seconds(row.deadline - view.event(row.finished).at)} s before it"
        elif row.state is not HandState.LATER:
            text += f", in {seconds(max(left, 0.0))} s"
        text += f"; it was started {row.runs} times, each with as long" if row.runs > 1 else ""
    elif row.overran:
        text = f"passed: it was ended after {seconds(row.age)} s"
    return Fact(label="deadline", text=text, tone=tone, seq=row.since)
