"""The facts of a delegation for the detail pane and the reports, and the places where its result was announced."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import clean, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, because
from trunkline.app.view.hands.chain import chain_facts
from trunkline.app.view.hands.columns import (
    CALLBACK_LOOKS,
    OPEN_WORK,
    WORK_LOOKS,
    WORK_MEANINGS,
    WorkPhase,
)
from trunkline.app.view.hands.history import DelegationHistory
from trunkline.app.view.hands.origin import origin_facts, task_facts
from trunkline.app.view.hands.row import HandRow
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.hands.silence import why_unseen
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.kinds.hands import CALLBACK_TEXTS, step_label
from trunkline.app.view.labels.place_title import title
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.gateway import TurnStarted
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    CompletionPlanned,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.states.delegation import CallbackState
from trunkline.sim.events.wire import WireAccepted

_LABELS: dict[type[Body], str] = {
    WireAccepted: "said",
    DelegationAccepted: "dispatch",
    DelegationStarted: "start",
    DelegationProgressed: "progress",
    DelegationIgnored: "ignored",
    AnswerTurnedAway: "refused",
    RouterDecided: "router",
    FallbackDenied: "denied",
    TurnStarted: "callback",
    CallbackChanged: "callback",
    DelegationFinished: "result",
}


def spoken(view: RunView, row: HandRow) -> str:
    """The places of its announcements, with their numbers."""
    places: dict[str, int] = {}
    for one in row.said:
        name = title(view.places, one.address)
        places[name] = places.get(name, 0) + 1
    return ", ".join(f"{name} {times}×" if times > 1 else name for name, times in places.items())


def hand_facts(view: RunView, hands: HandRuns, row: HandRow, seq: int) -> Iterator[Fact]:
    """The facts of a delegation after event `seq`, and its events."""
    run = hands.history(row.id)
    assert run is not None
    yield _work(row)
    yield _callback(row)
    unseen = why_unseen(view, hands, row, seq)
    if unseen is not None and not row.over:
        text, at = unseen
        usual = row.work in OPEN_WORK or row.later or row.callback is CallbackState.SUPPRESSED
        tone = Tone.PLAIN if usual else Tone.WARN
        yield Fact(label="unseen", text=f"nothing is visible: {text}", tone=tone, seq=at)
    for name in row.broken:
        yield _broken(view, run, name)
    yield from task_facts(row)
    yield from chain_facts(view, hands, run, seq)
    yield from origin_facts(view, run, row)
    yield _deadline(view, row, seq)
    if row.waits is not None:
        yield Fact(label="waits", text=f"for {seconds(row.waits)} s", tone=Tone.WARN, seq=row.finished)
    if row.reason is not None:
        yield because(row.reason, row.finished)
    yield from _relations(hands, run, row, seq)
    yield from _late(run, seq)
    for event in _story(view, run):
        yield _event_fact(view, event)


def _work(row: HandRow) -> Fact:
    _, tone = WORK_LOOKS[row.work]
    text = f"{row.work}: {WORK_MEANINGS[row.work]}"
    if row.overdue:
        text = f"✗ L2  {row.work}: it is past its deadline, and its requester has no result"
    elif row.work is WorkPhase.ACCEPTED and row.kind == "worker":
        text = f"{row.work}: no worker has taken the task"
    elif row.worker and row.work is WorkPhase.RUNNING:
        text = f"{row.work}: worker {clean(row.worker)} works on it"
    elif row.by:
        text += f", by {clean(row.by)}"
    return Fact(label="work", text=text, tone=Tone.BAD if row.overdue else tone, seq=row.finished or row.since)


def _callback(row: HandRow) -> Fact:
    _, _, tone = CALLBACK_LOOKS[row.callback]
    text = f"{CALLBACK_LOOKS[row.callback][1]}: {CALLBACK_TEXTS[row.callback]}"
    if row.callback_reason is not None:
        text += f" ({row.callback_reason})"
    if row.over:
        text, tone = f"✗ {CALLBACK_LOOKS[row.callback][1]}: the run is over and it was never reported", Tone.BAD
    return Fact(label="callback", text=text, tone=tone, seq=row.callback_since or row.since)


def _broken(view: RunView, run: DelegationHistory, name: str) -> Fact:
    """What an invariant found first about it; leads to the event that proves it."""
    at = next(at for at, found in run.broken if found == name)
    verdict = next((one for one in view.verdicts if one.id == name), None)
    title = f" {verdict.title}" if verdict is not None else ""
    found = next((one for one in view.marks.found if (one.at, one.invariant) == (at, name)), None)
    summary = f": {clean(found.summary)}" if found is not None else ""
    return Fact(label="broken", text=f"✗ {name}{title}{summary}", tone=Tone.BAD, seq=at)


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
        elif not row.later:
            text += f", in {seconds(max(left, 0.0))} s"
        text += f"; it was started {row.runs} times, each with as long" if row.runs > 1 else ""
    elif row.overran:
        text = f"passed: it was ended after {seconds(row.age)} s"
    return Fact(label="deadline", text=text, tone=tone, seq=row.since)


def _relations(hands: HandRuns, run: DelegationHistory, row: HandRow, seq: int) -> Iterator[Fact]:
    """The delegation above it, and those below it."""
    above = hands.history(row.parent)
    if above is not None:
        text = f"{above.name}  {quoted(above.body.task)} for hand {above.body.hand}, which delegated this"
        yield Fact(label="above", text=text, seq=above.accepted.seq)
    for number, child in enumerate(run.children):
        one = hands.row(child, seq)
        text = f"{one.name}  {one.work}, {CALLBACK_LOOKS[one.callback][1]}  {quoted(one.task)} for {one.hand}"
        yield Fact(label="" if number else "below", text=text, seq=one.since)


def _late(run: DelegationHistory, seq: int) -> Iterator[Fact]:
    """Results that came after the first one."""
    late = [event for event in run.ignored if event.seq <= seq]
    for number, event in enumerate(late):
        body = event.body
        assert isinstance(body, DelegationIgnored)
        who = f" from {clean(body.by)}" if body.by else ""
        outcome = f"{body.outcome} " if body.outcome is not None else ""
        text = f"{outcome}{quoted(body.text)}{who} after {seconds(event.at - _ended_at(run, event))} s: {body.reason}"
        yield Fact(label="" if number else "late", text=text, tone=Tone.WARN, seq=event.seq)


def _ended_at(run: DelegationHistory, event: Event) -> float:
    return run.finished.at if run.finished is not None else event.at


def _event_fact(view: RunView, event: Event) -> Fact:
    body = event.body
    if isinstance(body, CompletionPlanned):
        text = "; ".join(step_label(view, step) for step in body.steps) or "no announcement"
        return Fact(label="plan", text=f"#{event.seq} {seconds(event.at)} {text}", seq=event.seq)
    label = _LABELS.get(type(body), "")
    return Fact(label=label, text=f"#{event.seq} {seconds(event.at)} {describe(view, event)}", seq=event.seq)


def _story(view: RunView, run: DelegationHistory) -> list[Event]:
    kinds = (*(kind for kind in _LABELS if kind is not WireAccepted), CompletionPlanned)
    found = {event.seq: event for event in view.of_delegation(run.id, *kinds)}
    found.update({event.seq: event for event in run.callbacks})
    found.update({one.seq: view.event(one.seq) for one in run.said})
    return [found[seq] for seq in sorted(found)]
