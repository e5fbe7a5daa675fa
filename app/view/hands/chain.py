"""The chain of a delegation: trigger message, turn, delegation, result, callback turn, messages, ids of the platform.

Each link is a fact that leads to its event.
"""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import clean, quoted
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.hands.history import DelegationHistory
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.message import MessageHistory
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.messages import WORDS
from trunkline.app.view.labels.place_title import title
from trunkline.core.events import Event
from trunkline.core.events.gateway import InboundReceived, TurnEnded, TurnStarted
from trunkline.core.events.hands import DelegationFinished
from trunkline.sim.events.wire import WireAccepted


def chain_facts(view: RunView, hands: HandRuns, run: DelegationHistory, seq: int) -> Iterator[Fact]:
    """The links in their order; the first has the label."""
    for number, fact in enumerate(_links(view, hands, run, seq)):
        yield fact if number else Fact(label="chain", text=fact.text, tone=fact.tone, seq=fact.seq)


def _links(view: RunView, hands: HandRuns, run: DelegationHistory, seq: int) -> Iterator[Fact]:
    yield from _trigger(view, run)
    turn = view.nearest(run.accepted.seq, TurnStarted)
    if turn is not None and isinstance(turn.body, TurnStarted):
        yield _link("turn", turn, f"{clean(turn.turn or '?')} of agent {clean(turn.body.agent)}")
    yield _link("delegation", run.accepted, f"{run.name}  {clean(run.id)} to hand {clean(run.body.hand)}")
    if run.finished is not None and isinstance(run.finished.body, DelegationFinished):
        yield _link("result", run.finished, f"{run.finished.body.outcome} {quoted(run.finished.body.text)}")
    for started in run.callbacks:
        yield _link("callback turn", started, _turn(view, started))
    for intent in run.intents:
        history = hands.messages.of(intent)
        if history is not None:
            yield from _message(view, history, seq)


def _link(what: str, event: Event, text: str, tone: Tone = Tone.PLAIN) -> Fact:
    return Fact(label="", text=f"→ {what} #{event.seq} {text}", tone=tone, seq=event.seq)


def _trigger(view: RunView, run: DelegationHistory) -> Iterator[Fact]:
    """The message of the person, as it was posted or as the gateway received it."""
    received = view.nearest(run.accepted.seq, InboundReceived)
    if received is None or not isinstance(received.body, InboundReceived):
        return
    event = view.posted(received.seq) or received
    who = clean(received.body.peer.name or received.body.peer.id)
    text = f"{who} {quoted(received.body.text)} in {title(view.places, received.body.address)}"
    yield Fact(label="", text=f"message #{event.seq} {text} ({clean(received.body.message_id)})", seq=event.seq)


def _turn(view: RunView, started: Event) -> str:
    ended = next((event for event in view.of_inbound(started.inbound, TurnEnded) if event.turn == started.turn), None)
    if ended is None or not isinstance(ended.body, TurnEnded):
        return f"{clean(started.turn or '?')}, not ended"
    reason = f" ({ended.body.reason})" if ended.body.reason else ""
    return f"{clean(started.turn or '?')} {ended.body.outcome}{reason}"


def _message(view: RunView, history: MessageHistory, seq: int) -> Iterator[Fact]:
    """A row of the queue with its state after event `seq`, and what the platform accepted of it."""
    begun = history.seq <= seq
    step = history.step(seq) if begun else history.steps[0] if history.steps else None
    _, word, tone = WORDS[step.state] if step is not None else ("", "?", Tone.WARN)
    body = history.body
    place = f" to {title(view.places, body.address)}" if body is not None else ""
    why = f": {clean(step.why)}" if step is not None and step.why and begun else ""
    first = history.prepared or history.first
    yield _link("queue", first, f"{clean(history.id)} {word}{place}{why}", tone if begun else Tone.DIM)
    for event in history.accepted:
        if isinstance(event.body, WireAccepted):
            place = title(view.places, event.body.address)
            yield _link("platform", event, f"{clean(event.body.provider_id)} in {place}", Tone.GOOD)
