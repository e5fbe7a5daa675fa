"""Decisions about routes, targets, sends and sessions as facts: the same in the Why pane and in `trunkline explain`.

Everything here is made of event bodies, which is what the gateway records; `trunkline explain` asks the deciding code
for the same bodies. `Name` is what a place is called: as the people of a run call it, or by its ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.cells import cell_len

from trunkline.app.view.text.cells import clean, count, pad, quoted
from trunkline.app.view.text.fact import Fact, Tone, because
from trunkline.core.events import Body
from trunkline.core.events.delivery import SendJoined, SendPreviewed, SendRefused, SendRequested, TargetResolved
from trunkline.core.events.gateway import (
    ConfigReloaded,
    RouteDecided,
    SessionCreated,
    SessionLeft,
    SessionMoved,
    SessionReset,
    SessionShared,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, SessionEntry

Name = Callable[[Address | None], str]

#: of a binding that won, and of one that lost
WON, LOST = "✓", "✗"
#: between the columns of the table of bindings
_GAP = "  "


def place_of(address: Address | None) -> str:
    """A place by its ids, for where nobody has given it a name."""
    if address is None:
        return "nowhere"
    under = f", under {address.parent}" if address.parent else ""
    return f"{address} ({address.kind}{under})"


def _fact(label: str, text: str, seq: int, tone: Tone = Tone.PLAIN) -> Fact:
    return Fact(label=label, text=clean(text), tone=tone, seq=seq)


def _why(reason: Reason, detail: str, seq: int) -> Iterator[Fact]:
    yield because(reason, seq)
    if detail:
        yield _fact("detail", detail, seq)


def _numbered(seq: int) -> str:
    return f"#{seq} " if seq else ""


# ---------------------------------------------------------------- where a message belongs


def route_facts(body: RouteDecided, name: Name, seq: int = 0, more: Iterable[Fact] = ()) -> Iterator[Fact]:
    """Where an inbound message belongs, then `more`, then every binding that was looked at."""
    won = f"binding {body.binding} ({body.matched_by})" if body.binding else _by_default(body.matched_by)
    yield _fact("route", f"{_numbered(seq)}agent {body.agent}, by {won}", seq)
    yield _fact("session", body.session_key, seq)
    if body.scope:
        later = f"  (configuration {body.revision})" if body.revision > 1 else ""
        yield _fact("scope", f"{body.scope}{later}", seq)
    reason = body.reply_reason
    yield _fact("answer to", f"{name(body.reply_to)}  {reason}: {reason.sentence}", seq)
    yield from more
    yield from _bindings(body, seq)


def _by_default(matched_by: str) -> str:
    return f"{matched_by}: {Reason.DEFAULT_AGENT.sentence}" if matched_by == "default" else matched_by


def _bindings(body: RouteDecided, seq: int) -> Iterator[Fact]:
    """A line for each binding, in columns: mark, name, tier, reason code and its sentence."""
    rows = [(clean(one.binding), one.tier, one.reason.value) for one in body.candidates]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for number, (row, one) in enumerate(zip(rows, body.candidates, strict=True)):
        cells = [pad(text, width) for text, width in zip(row, widths, strict=True)]
        text = f"{WON if one.chosen else LOST} {_GAP.join(cells)}{_GAP}{one.reason.sentence}"
        yield Fact(label="" if number else "bindings", text=text, tone=Tone.GOOD if one.chosen else Tone.DIM, seq=seq)
    if body.others:
        label = "" if rows else "bindings"
        text = f"{count(body.others, 'other binding')}: nothing in them has to do with this message"
        yield _fact(label, text, seq, Tone.DIM)


# ---------------------------------------------------------------- where a send goes


def target_facts(
    body: TargetResolved,
    name: Name,
    seq: int = 0,
    more: Iterable[Fact] = (),
    entry: SessionEntry | None = None,
) -> Iterator[Fact]:
    """What a target means: its place, then `more`, the session that remembers it with its entry, and the steps."""
    yield _fact("target", f"{_numbered(seq)}{quoted(body.target)} on {body.channel}", seq)
    yield _fact("place", name(body.address), seq)
    yield from more
    yield _fact("session", body.session_key, seq)
    if entry is not None:
        yield from entry_facts(entry, seq)
    for number, step in enumerate(body.steps, 1):
        yield _fact("" if number > 1 else "steps", f"{number} {step}", seq)


def entry_facts(entry: SessionEntry, seq: int = 0) -> Iterator[Fact]:
    """What a session says of its conversation."""
    account = f", account {entry.account}" if entry.account is not None else ""
    thread = f", thread {entry.thread}" if entry.thread is not None else ""
    yield _fact("entry", f"{entry.chat_type} on {entry.provider} ({entry.surface}){account}{thread}", seq)
    yield _fact("", f"from {entry.sender}, to {entry.to}", seq)
    yield _fact("", f"origin {entry.originating_channel}, {entry.originating_to}", seq)


def requested_facts(body: SendRequested, seq: int = 0) -> Iterator[Fact]:
    """What a client asked for."""
    where = f" on {body.channel}" if body.channel else ""
    yield _fact("asked", f"{_numbered(seq)}{quoted(body.text)} to {quoted(body.target)}{where}", seq)
    yield _fact("key", body.key, seq)
    if body.session_key:
        yield _fact("session", f"{body.session_key}, named by the client", seq)


def _joined(body: SendJoined, seq: int) -> Iterator[Fact]:
    ended = "has ended: its result is given again" if body.ended else "is still under way: this one waits for it"
    yield _fact("key", f"{body.key}; the first send {ended}", seq)
    yield because(body.reason, seq)


def _refused(body: SendRefused, seq: int) -> Iterator[Fact]:
    yield _fact("refused", f"{body.key}: nothing was sent or stored", seq, Tone.WARN)
    yield from _why(body.reason, body.detail, seq)


def _previewed(body: SendPreviewed, name: Name, seq: int) -> Iterator[Fact]:
    yield _fact("dry run", f"{body.key}: nothing was sent or stored", seq)
    yield _fact("to", name(body.address), seq)
    yield _fact("session", body.session_key or "no session would remember it", seq)
    for number, chunk in enumerate(body.chunks):
        yield _fact("" if number else "says", quoted(chunk), seq)
    if body.media:
        yield _fact("files", ", ".join(body.media), seq)


# ---------------------------------------------------------------- what becomes of sessions


def _created(body: SessionCreated, name: Name, seq: int) -> Iterator[Fact]:
    yield _fact("session", body.session_key, seq)
    made = f"{body.session_id}, generation {body.generation}, by {body.by}, for {name(body.address)}"
    yield _fact("created", made, seq)
    if body.entry is not None:
        yield from entry_facts(body.entry, seq)


def _reset(body: SessionReset, seq: int) -> Iterator[Fact]:
    yield _fact("session", body.session_key, seq)
    yield _fact("reset", f"generation {body.generation} is {body.session_id}", seq)
    yield _fact("before", f"{body.before}: what belongs to it is not applied to the new one", seq)


def _moved(body: SessionMoved, seq: int) -> Iterator[Fact]:
    yield _fact("moved", f"from {body.old_key}", seq)
    yield _fact("to", body.session_key, seq)
    yield _fact("session", f"{body.session_id}: it goes on, with its transcript", seq)
    yield from _why(body.reason, body.detail, seq)


def _left(body: SessionLeft, seq: int) -> Iterator[Fact]:
    yield _fact("left", f"{body.old_key} (session {body.old_session_id}): it keeps what was said in it", seq, Tone.WARN)
    yield _fact("now", body.session_key or "no session: no key leads to it", seq)
    yield from _why(body.reason, body.detail, seq)


def _shared(body: SessionShared, seq: int) -> Iterator[Fact]:
    who = body.peer.name or body.peer.id
    yield _fact("shared", f"{body.session_key}: {who} is one of {body.people} people in it", seq, Tone.WARN)
    yield because(body.reason, seq)


# ---------------------------------------------------------------- the configuration


def config_facts(body: ConfigReloaded, seq: int = 0) -> Iterator[Fact]:
    """What a reload changed, and what holds since."""
    changed = ", ".join(body.changed) or "nothing"
    yield _fact("config", f"{_numbered(seq)}revision {body.revision} holds from here on; it changes {changed}", seq)
    yield _fact("scope", f"direct conversations {body.dm_scope}, groups {body.group_scope}", seq)
    for number, (person, ids) in enumerate(body.identity_links.items()):
        yield _fact("" if number else "linked", f"{person}: {', '.join(ids)}", seq)


def own_facts(body: Body, name: Name, seq: int = 0) -> Iterator[Fact]:
    """What an event tells that stands for itself: a target, a send, a session, the configuration; else nothing."""
    match body:
        case TargetResolved():
            yield from target_facts(body, name, seq)
        case SendRequested():
            yield from requested_facts(body, seq)
        case SendJoined():
            yield from _joined(body, seq)
        case SendRefused():
            yield from _refused(body, seq)
        case SendPreviewed():
            yield from _previewed(body, name, seq)
        case SessionCreated():
            yield from _created(body, name, seq)
        case SessionReset():
            yield from _reset(body, seq)
        case SessionMoved():
            yield from _moved(body, seq)
        case SessionLeft():
            yield from _left(body, seq)
        case SessionShared():
            yield from _shared(body, seq)
        case ConfigReloaded():
            yield from config_facts(body, seq)
        case _:
            pass
