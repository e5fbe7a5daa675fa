"""The facts of a delegation for the detail pane and the reports: both columns, its origin, its chain and its events."""

from collections import Counter
from collections.abc import Iterable, Iterator

from trunkline.app.text.cells import clean, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, facts, under
from trunkline.app.view.hands.columns import OPEN_WORK, TO_PARENT, WORK_LOOKS, HandRow, WorkPhase
from trunkline.app.view.hands.runs import DelegationHistory, HandRuns
from trunkline.app.view.index.messages import OPEN, MessageHistory, QueueState
from trunkline.app.view.index.places import title
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.kinds.gateway import CALLBACK_LOOKS, step_label
from trunkline.app.view.kinds.registry import describe, event_fact
from trunkline.app.view.labels.messages import WORDS
from trunkline.core.events import Body, Event, bindings, delivery
from trunkline.core.events import hands as hand_events
from trunkline.core.events.gateway import InboundReceived, TurnEnded, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import Peer
from trunkline.sim.events.wire import WireAccepted

# Why people see no message with the result of a delegation: one sentence, from what was recorded.

_WORKING: dict[WorkPhase, str] = {
    WorkPhase.LATER: "it is delegated later in the run",
    WorkPhase.ACCEPTED: "the hand has not started",
    WorkPhase.RUNNING: "the hand still works on it",
    WorkPhase.ORPHANED: "the process that ran it has died, and the next one decides what becomes of it",
}
_BY_STATE: dict[CallbackState, str] = {
    CallbackState.WAITING: "the work has ended, and nothing reports it yet",
    CallbackState.PENDING_TURN: "the callback waits for its turn in the session of the agent that delegated",
    CallbackState.IN_TURN: "the agent that delegated is reading the result",
    CallbackState.QUEUED: "its message is in the queue",
    CallbackState.PARKED: "its message waits for its adapter, or for an operator who finds out whether it arrived",
    CallbackState.UNDELIVERABLE: "it cannot be delivered",
    CallbackState.SUPPRESSED: "deliberately nothing is sent",
}
#: reasons whose own sentence does not say what became of the result
_OF_REASON: dict[Reason, str] = {
    Reason.NO_REPLY: "the agent read the result and had nothing to say",
    Reason.ALREADY_SENT: "the callback turn had sent the same text to the same place by the message tool",
    Reason.CANCELLED_BY_AGENT: "the agent that delegated it cancelled it itself, and needs no report",
    Reason.DISCARDED: "an operator discarded the report",
    Reason.REQUESTER_REPLACED: "the session that asked has been replaced, and there is no place to post the result",
}


def why_unseen(view: RunView, hands: HandRuns, row: HandRow, seq: int) -> tuple[str, int] | None:
    """Why nothing of it is visible after event `seq`, and the event that says so; none if people have seen it."""
    run = hands.history(row.id)
    if run is None or row.said or row.callback is CallbackState.DELIVERED:
        return None
    if row.work in OPEN_WORK or row.later:
        return _working(row)
    if row.over:
        return "the run is over, and it was never reported", row.finished or row.since
    if row.callback is CallbackState.SUPPRESSED and row.callback_reason in TO_PARENT and row.parent:
        above = hands.history(row.parent)
        name = f"{hands.name(row.parent)} of hand {clean(above.body.hand)}" if above is not None else clean(row.parent)
        return f"its result went to the hand that delegated it, and is part of {name}", row.callback_since
    if row.callback in (CallbackState.QUEUED, CallbackState.PARKED, CallbackState.UNDELIVERABLE):
        found = _of_messages(view, hands, run, row, seq)
        if found is not None:
            return found
    return _reasoned(row, row.callback_reason), row.callback_since


def _working(row: HandRow) -> tuple[str, int]:
    if row.work is WorkPhase.ACCEPTED and row.body.hand_kind == "worker":
        return "no worker has taken the task", row.since
    text = _WORKING[row.work]
    if row.work is WorkPhase.RUNNING and row.progress:
        return f"{text}; it reported “{clean(row.progress)}”", row.progressed
    return text, row.started or row.since


def _of_messages(
    view: RunView, hands: HandRuns, run: DelegationHistory, row: HandRow, seq: int
) -> tuple[str, int] | None:
    """The wait of a report's messages, or how the last one ended."""
    histories = [found for intent in run.intents if (found := hands.messages.of(intent)) is not None]
    known = [history for history in histories if history.seq <= seq]
    if not known:
        return None
    if row.callback is CallbackState.UNDELIVERABLE:
        return next(filter(None, (_settled(history, row, seq) for history in reversed(known))), None)
    step = known[-1].step(seq)
    waits = _waiting(view, known[-1], seq)
    if row.callback is CallbackState.PARKED and step.state not in (*OPEN, QueueState.UNKNOWN):
        ended = _settled(known[-1], row, seq)
        return (f"{ended[0]} An operator can retry or discard it.", ended[1]) if ended is not None else None
    if step.state is QueueState.UNKNOWN:
        text = "the platform may have it or not, and only an operator can find out"
        return f"{text}: {step.why}" if step.why else text, step.seq
    if waits is not None:
        return f"its message waits: {describe(view, waits)}", waits.seq
    due = f", tried again at {seconds(step.due)} s" if step.due is not None else ""
    why = f" ({step.why})" if step.why else ""
    return f"its message is in the queue, {step.state}{why}{due}", step.seq


def _settled(history: MessageHistory, row: HandRow, seq: int) -> tuple[str, int] | None:
    """How a message ended that did not arrive."""
    for event in reversed(history.settled):
        body = event.body
        if event.seq <= seq and isinstance(body, delivery.IntentSettled):
            detail = f" ({clean(body.detail)})" if body.detail else ""
            reason = row.callback_reason or body.reason
            return f"its message is {body.state}. {reason.sentence}{detail}", event.seq
    return None


def _waiting(view: RunView, history: MessageHistory, seq: int) -> Event | None:
    """Why its lane cannot send, unless it was tried since."""
    waits = (event for event in history.events if event.seq <= seq and isinstance(event.body, delivery.LaneWaiting))
    found = max(waits, key=lambda event: event.seq, default=None)
    tried = history.tried(seq)
    return found if found is not None and (not tried or tried[-1].event.seq < found.seq) else None


def _reasoned(row: HandRow, reason: Reason | None) -> str:
    if reason is None:
        return _BY_STATE[row.callback]
    if row.callback is CallbackState.UNDELIVERABLE and row.turn:
        return f"its callback turn failed. {reason.sentence}"
    return _OF_REASON.get(reason) or f"{_BY_STATE[row.callback]}. {reason.sentence}"


#: labels of the events of a delegation, and of those that its message and its turn add
_LABELS: dict[type[Body], str] = {
    hand_events.DelegationAccepted: "dispatch",
    hand_events.DelegationStarted: "start",
    hand_events.DelegationProgressed: "progress",
    hand_events.DelegationIgnored: "ignored",
    hand_events.AnswerTurnedAway: "refused",
    bindings.RouterDecided: "router",
    bindings.FallbackDenied: "denied",
    TurnStarted: "callback",
    hand_events.CallbackChanged: "callback",
    hand_events.DelegationFinished: "result",
    hand_events.CompletionPlanned: "plan",
}


def spoken(view: RunView, row: HandRow) -> str:
    """The places of its announcements, with their numbers."""
    places = Counter(title(view.places, message.address) for message in row.said)
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
        titles = [f" {verdict.name}" for verdict in view.verdicts if verdict.id == name]
        summaries = [f": {mark.summary}" for mark in view.marks.found if (mark.at, mark.invariant) == (at, name)]
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
    _, word, tone, meaning = CALLBACK_LOOKS[row.callback]
    text = f"{word}: {meaning}"
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
    word, body = CALLBACK_LOOKS[row.callback][1], row.body
    return Fact("", f"{row.name}  {row.work}, {word}  {quoted(body.task)} for {body.hand}", row.since)


def _late(run: DelegationHistory, events: Iterable[Event]) -> Iterator[Fact]:
    """Results that came after the first one."""
    for event, body in typed(events, hand_events.DelegationIgnored):
        who = f" from {body.by}" if body.by else ""
        outcome = f"{body.outcome} " if body.outcome is not None else ""
        after = seconds(event.at - run.finished.at if run.finished is not None else 0.0)
        yield Fact("", f"{outcome}{quoted(body.text)}{who} after {after} s: {body.reason}", event.seq, Tone.WARN)


def _story(view: RunView, run: DelegationHistory) -> Iterator[Fact]:
    """The events of the delegation, of its callback turns, and of what people saw of it."""
    events = (*view.of_delegation(run.id, *_LABELS), *run.callbacks, *(view.event(message.seq) for message in run.said))
    for _, event in sorted({event.seq: event for event in events}.items()):
        body = event.body
        if isinstance(body, hand_events.CompletionPlanned):
            text = "; ".join(step_label(view, step) for step in body.steps) or "no announcement"
            yield Fact("plan", f"#{event.seq} {seconds(event.at)} {text}", event.seq)
        else:
            label = "said" if isinstance(body, WireAccepted) else _LABELS.get(type(body), "")
            yield event_fact(view, event, label, timed=True)


def who(peer: Peer | None) -> str:
    """A person by name, with the id of the platform."""
    return "nobody" if peer is None else f"{peer.name} ({peer.id})" if peer.name else peer.id


def _origin(view: RunView, run: DelegationHistory, row: HandRow) -> Iterator[Fact]:
    """Where the person asked: place, person and message, turn and sessions, and the bot that heard it."""
    asked = next((row for row in (run, *run.line) if row.body.origin is not None), run)
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


def _links(view: RunView, hands: HandRuns, run: DelegationHistory, seq: int) -> Iterator[Fact]:
    """From the message of the person to the ids of the platform, each link with its event."""
    for received, heard in typed([view.nearest(run.accepted.seq, InboundReceived)], InboundReceived):
        event = view.posted(received.seq) or received
        text = f"{heard.peer.name or heard.peer.id} {quoted(heard.text)} in {title(view.places, heard.address)}"
        yield Fact("", f"message #{event.seq} {text} ({heard.message_id})", event.seq)
    for turn, begun in typed([view.nearest(run.accepted.seq, TurnStarted)], TurnStarted):
        yield _link("turn", turn, f"{turn.turn or '?'} of agent {begun.agent}")
    yield _link("delegation", run.accepted, f"{run.name}  {run.id} to hand {run.body.hand}")
    for finished, result in typed([run.finished], hand_events.DelegationFinished):
        yield _link("result", finished, f"{result.outcome} {quoted(result.text)}")
    for started in run.callbacks:
        ends = (end for ended, end in typed(view.of_inbound(started.inbound), TurnEnded) if ended.turn == started.turn)
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
