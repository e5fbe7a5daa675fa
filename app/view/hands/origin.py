"""The task of a delegation, and where it comes from: everything that its origin holds."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import clean, quoted, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.hands.history import DelegationHistory
from trunkline.app.view.hands.row import HandRow
from trunkline.app.view.index.run_index import RunView
from trunkline.core.values import Address, Peer


def task_facts(row: HandRow) -> Iterator[Fact]:
    """What was asked of which hand, and how often it was tried."""
    kind = f"{row.kind} " if row.kind in ("agent", "worker") else ""
    text = f"{quoted(row.task)} for {kind}hand {row.hand}, by agent {row.agent or '?'}"
    yield Fact(label="task", text=text, seq=row.since)
    if row.label:
        yield Fact(label="label", text=f"{quoted(row.label)}, the agent's own name for it", seq=row.since)
    if row.progress:
        yield Fact(label="progress", text=quoted(row.progress), seq=row.progressed)
    if row.worker:
        yield Fact(label="worker", text=row.worker, seq=row.started)
    if row.refused:
        yield Fact(label="refused", text=f"{row.refused}×: see below", tone=Tone.WARN, seq=row.since)


def who(peer: Peer | None) -> str:
    """A person by name, with the id of the platform."""
    if peer is None:
        return "nobody"
    return clean(f"{peer.name} ({peer.id})" if peer.name else peer.id)


def origin_facts(view: RunView, run: DelegationHistory, row: HandRow) -> Iterator[Fact]:
    """Where the person asked: place, person and message, turn and sessions, and the bot that heard it."""
    yield Fact(label="origin", text=_place(view, run, row), seq=row.since)
    asked = next((one for one in (run, *run.line) if one.body.origin is not None), run)
    if asked.body.origin is not None:
        yield Fact(label="", text=_conversation(asked.body.origin), seq=asked.accepted.seq)
        yield Fact(label="", text=_account(view, asked.body.origin), seq=asked.accepted.seq)
    message = f" by message {clean(row.message_id)}" if row.message_id else ""
    yield Fact(label="asked by", text=f"{who(row.asked_by)}{message}", seq=row.since)
    event = run.accepted
    made = f"turn {clean(event.turn or '?')}, inbound {clean(event.inbound or '?')}, at {seconds(event.at)} s"
    yield Fact(label="asked in", text=made, seq=row.since)
    yield Fact(label="requester", text=row.requester, seq=row.since)
    yield Fact(label="session", text=row.session or "none of its own", seq=row.since)


def _place(view: RunView, run: DelegationHistory, row: HandRow) -> str:
    first = next((one for one in run.line if one.body.origin is not None), None)
    if row.origin is None and first is not None:
        return f"that of {first.name}, for which it works: {view.places.label(first.body.origin)}"
    if row.origin is None:
        return "none: it was not requested in a place"
    return f"{view.places.label(row.origin)}, frozen at #{row.since}  ({row.origin})"


def _conversation(place: Address) -> str:
    below = f", below {clean(place.parent)}" if place.parent else ""
    thread = f", thread {clean(place.thread)}" if place.thread else ""
    return f"{place.kind} {clean(place.conversation)}{below}{thread}"


def _account(view: RunView, place: Address) -> str:
    bot = view.places.bot(place)
    heard = f", as bot {who(bot)}" if bot is not None else ""
    return f"account {clean(place.account)} of {clean(place.channel)}{heard}"
