"""The facts of a delegation for the detail pane and the reports: both columns, its origin, its chain and its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from trunkline.app.text.cells import quoted, seconds
from trunkline.app.text.fact import Fact, Tone, facts, under
from trunkline.app.view.hands.columns import CALLBACK_LOOKS, OPEN_WORK, WORK_LOOKS, WorkPhase
from trunkline.app.view.hands.history import DelegationHistory
from trunkline.app.view.hands.row import HandRow
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.hands.silence import why_unseen
from trunkline.app.view.index.message import MessageHistory
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.kinds import event_fact
from trunkline.app.view.kinds.hands import CALLBACK_TEXTS, step_label
from trunkline.app.view.labels.messages import WORDS
from trunkline.app.view.labels.place_title import title
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.gateway import InboundReceived, TurnEnded, TurnStarted
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
from trunkline.core.values import Peer
from trunkline.sim.events.wire import WireAccepted

#: labels of the events of a delegation, and of those that its message and its turn add
_LABELS: dict[type[Body], str] = {
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
    CompletionPlanned: "plan",
}


def spoken(view: RunView, row: HandRow) -> str:
    """The places of its announcements, with their numbers."""
    places = Counter(title(view.places, one.address) for one in row.said)
    return ", ".join(f"{name} {times}×" if times > 1 else name for name, times in places.items())


def hand_facts(view: RunView, hands: HandRuns, row: HandRow, seq: int) -> Iterator[Fact]:
    """The facts of a delegation after event `seq`, and its events."""
    run = hands.history(row.id)
    assert run is not None
    yield _work(row)
    yield _callback(row)
    unseen = why_unseen(view, hands, row, seq)
    if unseen is not None and not row.over:
        usual = row.work in OPEN_WORK or row.later or row.callback is CallbackState.SUPPRESSED
        yield Fact("unseen", f"nothing is visible: {unseen[0]}", unseen[1], Tone.PLAIN if usual else Tone.WARN)
    for name in row.broken:
        # What the invariant found first about it; leads to the event that proves it.
        at = hands.first_broken(run)[name]
        titles = [f" {one.title}" for one in view.verdicts if one.id == name]
        summaries = [f": {one.summary}" for one in view.marks.found if (one.at, one.invariant) == (at, name)]
        yield Fact("broken", "".join((f"✗ {name}", *titles[:1], *summaries[:1])), at, Tone.BAD)
    yield from _task(row)
    yield from under("chain", _links(view, hands, run, seq))
    yield from _origin(view, run, row)
    yield _deadline(view, row, seq)
    if row.waits is not None:
        yield Fact("waits", f"for {seconds(row.waits)} s", row.finished, Tone.WARN)
    yield from facts(row.finished, ("because", row.result and row.result.reason))
    above = hands.history(row.parent)
    if above is not None:
        text = f"{above.name}  {quoted(above.body.task)} for hand {above.body.hand}, which delegated this"
        yield Fact("above", text, above.accepted.seq)
    yield from under("below", (_below(hands.row(child, seq)) for child in run.children))
    yield from under("late", _late(run, run.ignored[: run.ignored.upto(seq)]))
    yield from _story(view, run)


def _work(row: HandRow) -> Fact:
    _, tone, meaning = WORK_LOOKS[row.work]
    text = f"{row.work}: {meaning}"
    if row.overdue:
        text = f"✗ L2  {row.work}: it is past its deadline, and its requester has no result"
    elif row.work is WorkPhase.ACCEPTED and row.body.hand_kind == "worker":
        text = f"{row.work}: no worker has taken the task"
    elif row.worker and row.work is WorkPhase.RUNNING:
        text = f"{row.work}: worker {row.worker} works on it"
    elif row.result and row.result.by:
        text += f", by {row.result.by}"
    return Fact("work", text, row.finished or row.since, Tone.BAD if row.overdue else tone)


def _callback(row: HandRow) -> Fact:
    _, word, tone = CALLBACK_LOOKS[row.callback]
    text = f"{word}: {CALLBACK_TEXTS[row.callback]}"
    if row.callback_reason is not None:
        text += f" ({row.callback_reason})"
    if row.over:
        text, tone = f"✗ {word}: the run is over and it was never reported", Tone.BAD
    return Fact("callback", text, row.callback_since or row.since, tone)


def _task(row: HandRow) -> Iterator[Fact]:
    """The task of the hand, and how often it was tried."""
    body = row.body
    kind = f"{body.hand_kind} " if body.hand_kind in ("agent", "worker") else ""
    yield Fact("task", f"{quoted(body.task)} for {kind}hand {body.hand}, by agent {row.agent or '?'}", row.since)
    yield from facts(row.since, ("label", body.label and f"{quoted(body.label)}, the agent's own name for it"))
    yield from facts(row.progressed, ("progress", row.progress and quoted(row.progress)))
    yield from facts(row.started, ("worker", row.worker))
    yield from facts(row.since, ("refused", f"{row.refused}×: see below" if row.refused else "", Tone.WARN))


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
    return Fact("deadline", text, row.since, tone)


def _below(row: HandRow) -> Fact:
    """A delegation that the hand made."""
    word, body = CALLBACK_LOOKS[row.callback][1], row.body
    return Fact("", f"{row.name}  {row.work}, {word}  {quoted(body.task)} for {body.hand}", row.since)


def _late(run: DelegationHistory, events: Iterable[Event]) -> Iterator[Fact]:
    """Results that came after the first one."""
    for event, body in typed(events, DelegationIgnored):
        who = f" from {body.by}" if body.by else ""
        outcome = f"{body.outcome} " if body.outcome is not None else ""
        after = seconds(event.at - run.finished.at if run.finished is not None else 0.0)
        yield Fact("", f"{outcome}{quoted(body.text)}{who} after {after} s: {body.reason}", event.seq, Tone.WARN)


def _story(view: RunView, run: DelegationHistory) -> Iterator[Fact]:
    """The events of the delegation, of its callback turns, and of what people saw of it."""
    events = (*view.of_delegation(run.id, *_LABELS), *run.callbacks, *(view.event(one.seq) for one in run.said))
    for _, event in sorted({event.seq: event for event in events}.items()):
        body = event.body
        if isinstance(body, CompletionPlanned):
            text = "; ".join(step_label(view, step) for step in body.steps) or "no announcement"
            yield Fact("plan", f"#{event.seq} {seconds(event.at)} {text}", event.seq)
        else:
            label = "said" if isinstance(body, WireAccepted) else _LABELS.get(type(body), "")
            yield event_fact(view, event, label, timed=True)


# ---------------------------------------------------------------- where it comes from


def who(peer: Peer | None) -> str:
    """A person by name, with the id of the platform."""
    return "nobody" if peer is None else f"{peer.name} ({peer.id})" if peer.name else peer.id


def _origin(view: RunView, run: DelegationHistory, row: HandRow) -> Iterator[Fact]:
    """Where the person asked: place, person and message, turn and sessions, and the bot that heard it."""
    asked = next((one for one in (run, *run.line) if one.body.origin is not None), run)
    place = asked.body.origin
    if place is None:
        yield Fact("origin", "none: it was not requested in a place", row.since)
    elif asked is run:
        yield Fact("origin", f"{view.places.label(place)}, frozen at #{row.since}  ({place})", row.since)
    else:
        yield Fact("origin", f"that of {asked.name}, for which it works: {view.places.label(place)}", row.since)
    if place is not None:
        below = f", below {place.parent}" if place.parent else ""
        thread = f", thread {place.thread}" if place.thread else ""
        yield Fact("", f"{place.kind} {place.conversation}{below}{thread}", asked.accepted.seq)
        bot = view.places.bot(place)
        heard = f", as bot {who(bot)}" if bot is not None else ""
        yield Fact("", f"account {place.account} of {place.channel}{heard}", asked.accepted.seq)
    message = f" by message {row.message_id}" if row.message_id else ""
    yield Fact("asked by", f"{who(row.asked_by)}{message}", row.since)
    event = run.accepted
    made = f"turn {event.turn or '?'}, inbound {event.inbound or '?'}, at {seconds(event.at)} s"
    yield Fact("asked in", made, row.since)
    yield Fact("requester", row.body.session_key, row.since)
    yield Fact("session", row.session or "none of its own", row.since)


# ---------------------------------------------------------------- its chain


def _links(view: RunView, hands: HandRuns, run: DelegationHistory, seq: int) -> Iterator[Fact]:
    """From the message of the person to the ids of the platform, each link with its event."""
    for received, heard in typed([view.nearest(run.accepted.seq, InboundReceived)], InboundReceived):
        event = view.posted(received.seq) or received
        text = f"{heard.peer.name or heard.peer.id} {quoted(heard.text)} in {title(view.places, heard.address)}"
        yield Fact("", f"message #{event.seq} {text} ({heard.message_id})", event.seq)
    for turn, begun in typed([view.nearest(run.accepted.seq, TurnStarted)], TurnStarted):
        yield _link("turn", turn, f"{turn.turn or '?'} of agent {begun.agent}")
    yield _link("delegation", run.accepted, f"{run.name}  {run.id} to hand {run.body.hand}")
    for finished, result in typed([run.finished], DelegationFinished):
        yield _link("result", finished, f"{result.outcome} {quoted(result.text)}")
    for started in run.callbacks:
        ends = (end for one, end in typed(view.of_inbound(started.inbound), TurnEnded) if one.turn == started.turn)
        end = next((f" {end.outcome}{f' ({end.reason})' if end.reason else ''}" for end in ends), ", not ended")
        yield _link("callback turn", started, f"{started.turn or '?'}{end}")
    for history in filter(None, map(hands.messages.of, run.intents)):
        yield from _message(view, history, seq)


def _link(what: str, event: Event, text: str, tone: Tone = Tone.PLAIN) -> Fact:
    return Fact("", f"→ {what} #{event.seq} {text}", event.seq, tone)


def _message(view: RunView, history: MessageHistory, seq: int) -> Iterator[Fact]:
    """A row of the queue with its state after event `seq`, and what the platform accepted of it."""
    begun = history.seq <= seq
    step = history.step(seq) if begun else history.steps[0] if history.steps else None
    _, word, tone = WORDS[step.state] if step is not None else ("", "?", Tone.WARN)
    body = history.body
    place = f" to {title(view.places, body.address)}" if body is not None else ""
    why = f": {step.why}" if step is not None and step.why and begun else ""
    first = history.prepared or history.first
    yield _link("queue", first, f"{history.id} {word}{place}{why}", tone if begun else Tone.DIM)
    for event, accepted in typed(history.accepted, WireAccepted):
        yield _link("platform", event, f"{accepted.provider_id} in {title(view.places, accepted.address)}", Tone.GOOD)
