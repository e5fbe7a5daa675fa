"""Report sections on messages, the queue and hands at the end of a run, from the models of the screens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.app.text.cells import clean, count, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, because
from trunkline.app.view.hands.facts import hand_facts
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.message import AttemptKind, MessageHistory
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.labels.messages import LabelCell, says
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.queue.rows import QueueRows
from trunkline.core.events import Event
from trunkline.core.events.gateway import InboundDropped, InboundReceived
from trunkline.sim.events.world import PeerSaid


def _step(view: RunView, event: Event) -> Fact:
    return Fact("life", f"#{event.seq} {seconds(event.at)} {describe(view, event)}", event.seq)


def _words(cell: LabelCell) -> str:
    """The label of a state without its shape."""
    return (cell.more or cell.text).partition(" ")[2]


def message_sections(view: RunView, messages: MessageRows) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every message with its history, in order of time: inbound, outbound, and deliberately not sent."""
    heard: dict[str, int] = {}
    for event in view.events:
        if event.intent is None and isinstance(event.body, InboundReceived | InboundDropped):
            heard.setdefault(event.inbound or "", event.seq)
    found: list[tuple[int, str | MessageHistory]] = [(seq, name) for name, seq in heard.items() if name]
    found += [(history.first.seq, history) for history in messages.histories]
    for _, one in sorted(found, key=lambda item: item[0]):
        yield _said(view, messages, one) if isinstance(one, MessageHistory) else _heard(view, one)


def _heard(view: RunView, name: str) -> tuple[str, Iterable[Fact]]:
    events = view.of_inbound(name)
    said = view.posted(events[0].seq)
    own = [event for event in events if event.intent is None and event.delegation is None]
    steps = sorted({event.seq: event for event in ([said] if said else []) + own}.values(), key=lambda one: one.seq)
    body = said.body if said is not None else None
    who = ""
    if isinstance(body, PeerSaid):
        person = view.places.person(body.address.channel, body.peer.id, body.peer.name)
        who = f" from {person} in {view.places.label(body.address)}: {quoted(body.text)}"
    return f"Message {name}{who}", [_step(view, event) for event in steps]


def _said(view: RunView, messages: MessageRows, history: MessageHistory) -> tuple[str, Iterable[Fact]]:
    address = history.body.address if history.body else getattr(history.first.body, "address", None)
    where = f" to {view.places.label(address)}" if address is not None else ""
    return f"Message {history.id}{where}: {says(history)}", _life(view, messages, history)


def _life(view: RunView, messages: MessageRows, history: MessageHistory) -> Iterator[Fact]:
    head, body = messages.head(history, view.last), history.body
    state = head.cells["terminal"]
    yield Fact("state", _words(state), state.seq, state.tone)
    if body is not None:
        yield Fact("kind", f"{body.intent_kind}, {count(body.chunks, 'chunk')}")
        yield because(body.reason, history.seq)
        tried = count(sum(one.part is AttemptKind.ATTEMPT for one in history.tries), "attempt")
        yield Fact("counts", f"{tried}, {len(history.accepted)} accepted on the wire")
        yield Fact("session", clean(body.mirror_key or "not mirrored"))
    broken = head.cells["broken"].text
    if broken:
        yield Fact("broken", broken, head.seq, Tone.BAD)
    yield from _copies(view, history)
    yield from (_step(view, event) for event in history.events)


def _copies(view: RunView, history: MessageHistory) -> Iterator[Fact]:
    for seq in (event.seq for event in history.accepted):
        copy = view.marks.copies.get(seq)
        if copy is not None:
            group = view.marks.groups[copy.group]
            others = " ".join(f"#{other}" for other in group if other != seq)
            text = f"#{seq} is number {copy.number} of {len(group)} of the same message, with {others}"
            yield Fact("copy", text, seq, Tone.BAD)
        if seq in view.marks.misplaced:
            yield Fact("place", f"#{seq} is at the wrong place", seq, Tone.BAD)


def queue_facts(view: RunView, queue: QueueRows) -> Iterator[Fact]:
    """The balance, the messages that break it, and every row with its owners over time."""
    if queue.empty:
        yield Fact("", "nothing was queued in this run")
        return
    ledger = queue.ledger(view.last)
    yield Fact("balance", ledger.text, tone=Tone.GOOD if ledger.holds else Tone.BAD)
    if ledger.names:
        yield Fact("missing", ledger.names, tone=Tone.BAD)
    for row in queue.rows:
        line = queue.line(row, view.last)
        if line.mark:
            tone = Tone.BAD if line.tone is Tone.BAD else Tone.PLAIN
            yield Fact("mark", line.mark, line.seq, tone)
            continue
        cells = line.cells
        text = f"{cells['id'].text} {_words(cells['state'])}: {cells['what'].text} to {cells['place'].more}"
        why = cells["why"]
        yield Fact("row", f"{text}, {cells['age'].text} s: {why.text}", line.seq, why.tone)
        yield from queue.facts(row, view.last, drawn=False)


def hand_sections(view: RunView, hands: HandRuns) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every task of a hand: origin, deadline, outcome and announcements."""
    for row in hands.rows(view.last):
        title = f"Task {row.id} of hand {row.body.hand}: {quoted(row.body.task)}, {row.work} {row.callback}"
        yield title, hand_facts(view, hands, row, view.last)
