"""The lives of what moves through a run: messages, the queue they wait in, and the work of hands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from app.view.fact import Fact, Tone, because
from app.view.labels import describe
from app.view.story import RunView
from app.view.text import clean, count, quoted, seconds
from core.events import Event
from core.events import bodies as b
from core.values import IntentState

#: states from which nothing more comes by itself, and which somebody should look at
_BAD = frozenset({IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN, IntentState.PARTIAL})
_OPEN = frozenset({IntentState.PREPARED, IntentState.SENDING})


def _step(view: RunView, event: Event, label: str = "life") -> Fact:
    return Fact(label=label, text=f"#{event.seq} {seconds(event.at)} {describe(view, event)}", seq=event.seq)


# ---------------------------------------------------------------- messages


def message_sections(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every message: heard from people, said by the gateway, or taken back, each with its life. In order of time."""
    firsts: dict[tuple[str, str], int] = {}
    for event in view.events:
        if event.intent is not None:
            firsts.setdefault(("intent", event.intent), event.seq)
        elif event.inbound is not None and isinstance(event.body, b.InboundReceived | b.InboundDropped):
            firsts.setdefault(("inbound", event.inbound), event.seq)
    for kind, name in firsts:
        yield _intent(view, name) if kind == "intent" else _inbound(view, name)


def _inbound(view: RunView, name: str) -> tuple[str, Iterable[Fact]]:
    events = view.of_inbound(name)
    said = view.posted(events[0].seq)
    own = [event for event in events if event.intent is None and event.delegation is None]
    steps = sorted({event.seq: event for event in ([said] if said else []) + own}.values(), key=lambda one: one.seq)
    body = said.body if said is not None else None
    who = ""
    if isinstance(body, b.PeerSaid):
        person = view.places.person(body.address.channel, body.peer.id, body.peer.name)
        who = f" from {person} in {view.places.label(body.address)}: {quoted(body.text)}"
    return f"Message {name}{who}", [_step(view, event) for event in steps]


def _intent(view: RunView, name: str) -> tuple[str, Iterable[Fact]]:
    events = view.of_intent(name)
    facts = view.at(view.last).intents.get(name)
    if facts is None:
        return f"Message {name}, never prepared", [_step(view, event) for event in events]
    where = view.places.label(facts.address)
    return f"Message {name} to {where}: {quoted(facts.text)}", [
        Fact(label="kind", text=f"{facts.intent_kind}, {count(facts.chunks, 'chunk')}"),
        _state(view, name),
        because(getattr(view.event(facts.prepared).body, "reason", None), facts.prepared),
        Fact(label="counts", text=f"{count(facts.attempts, 'attempt')}, {len(facts.accepted)} accepted on the wire"),
        Fact(label="session", text=clean(facts.mirror_key or "none remembers it")),
        *_copies(view, facts.accepted),
        *(_step(view, event) for event in events),
    ]


def _state(view: RunView, name: str) -> Fact:
    facts = view.at(view.last).intents[name]
    tone = Tone.BAD if facts.state in _BAD else Tone.WARN if facts.state in _OPEN else Tone.PLAIN
    return Fact(label="state", text=facts.state.value, tone=tone, seq=facts.last)


def _copies(view: RunView, accepted: Iterable[int]) -> Iterator[Fact]:
    """What the invariants say of its deliveries: copies of one thing, places that are wrong."""
    for seq in accepted:
        copy = view.marks.copies.get(seq)
        if copy is not None:
            group = view.marks.groups[copy.group]
            others = " ".join(f"#{other}" for other in group if other != seq)
            text = f"#{seq} is number {copy.number} of {len(group)} of the same thing, with {others}"
            yield Fact(label="copy", text=text, tone=Tone.BAD, seq=seq)
        if seq in view.marks.misplaced:
            yield Fact(label="place", text=f"#{seq} is where it does not belong", tone=Tone.BAD, seq=seq)


# ---------------------------------------------------------------- the queue


def queue_facts(view: RunView) -> Iterator[Fact]:
    """The conservation line, what is left open or went wrong, and what the queue waited for."""
    intents = view.at(view.last).intents
    if not intents:
        yield Fact(label="", text="nothing was put into the queue in this run")
    else:
        yield conservation(view)
    for name, facts in intents.items():
        if facts.state in _OPEN or facts.state in _BAD:
            place = view.places.label(facts.address)
            text = f"{name} is {facts.state.value}: {quoted(facts.text)} to {place}"
            yield Fact(label="left", text=text, tone=Tone.WARN, seq=facts.last)
    told = (b.LaneWaiting, b.BacklogWaiting, b.OperatorActed, b.StorePruned, b.ProcessRecovered)
    yield from (_step(view, event, "queue") for event in view.events if isinstance(event.body, told))


def conservation(view: RunView) -> Fact:
    """What was prepared is what came of it: counted from two sides, so that nothing can be missing unseen."""
    prepared = len({event.intent for event in view.events if isinstance(event.body, b.IntentPrepared)})
    states = Counter(facts.state for facts in view.at(view.last).intents.values())
    parts = " + ".join(f"{states[state]} {state.value}" for state in IntentState if states[state])
    equal = prepared == sum(states.values())
    text = f"{prepared} prepared {'=' if equal else '≠'} {parts or 0}"
    return Fact(label="balance", text=text, tone=Tone.GOOD if equal else Tone.BAD, mark="✓" if equal else "✗")


# ---------------------------------------------------------------- hands


def hand_sections(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every task of a hand: where it came from, how it ended, and how that was told."""
    for name, facts in view.at(view.last).delegations.items():
        yield f"Task {name} of hand {facts.hand}: {quoted(facts.task)}", _hand(view, name)


def _hand(view: RunView, name: str) -> Iterator[Fact]:
    facts = view.at(view.last).delegations[name]
    yield Fact(label="origin", text=view.places.label(facts.origin), seq=facts.accepted)
    yield Fact(label="session", text=clean(facts.session_key), seq=facts.accepted)
    if facts.outcome is None:
        yield Fact(label="outcome", text="it never reported", tone=Tone.BAD)
    else:
        end = facts.finished or facts.accepted
        took = view.event(end).at - view.event(facts.accepted).at
        yield Fact(label="outcome", text=f"{facts.outcome.value}, after {seconds(took)} s", seq=end)
    yield from (_step(view, event) for event in view.of_delegation(name) if event.intent is None)
    events = [view.event(seq) for seq in view.causes.effects(facts.finished)] if facts.finished else []
    said = [event for event in events if isinstance(event.body, b.WireAccepted)]
    yield from (_step(view, event, "told") for event in said)
    if events and not said:
        yield Fact(label="told", text="its end led to nothing that people saw")
