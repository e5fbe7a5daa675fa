"""Answers of `trunkline explain` for people and for machines: facts as lines, and JSON with stable names.

The facts are those of the Why pane. In the JSON every field is always present; a missing value is `null`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from rich.cells import cell_len

from trunkline.app.text.cells import clean, pad, quoted
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.labels.route_facts import place_of, route_facts, target_facts
from trunkline.core.explain.decide import InboundAnswer, KeyAnswer, SendAnswer
from trunkline.core.keys import SessionKey
from trunkline.core.values import Address, Envelope

#: version of the JSON of each command
_VERSION = 1
_NOTHING = "–"
#: fields of the question about a send
_ASKED = ("target", "channel", "account", "kind", "thread", "reply_to")


def lines(facts: Iterable[Fact]) -> list[str]:
    """Facts as lines, with the labels in a column."""
    shown = list(facts)
    width = max(cell_len(fact.label) for fact in shown)
    return [f"{pad(fact.label, width)}  {clean(fact.text)}".rstrip() for fact in shown]


def aligned(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of a table as lines, with their cells in columns."""
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(pad(text, width) for text, width in zip(row, widths, strict=True)).rstrip()


def as_json(command: str, document: Mapping[str, Any]) -> str:
    """The document of a command with its version, as indented text."""
    whole = {f"trunkline_{command}": _VERSION, **document}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def _notes(notes: Iterable[str]) -> Iterator[Fact]:
    return (Fact("note", note, tone=Tone.WARN) for note in notes)


def inbound_facts(answer: InboundAnswer) -> Iterator[Fact]:
    """Where a message belongs."""
    yield from _notes(answer.notes)
    yield Fact("message", _message(answer.envelope))
    yield from route_facts(answer.decided, place_of, more=_around(answer))


def _message(envelope: Envelope) -> str:
    details = [("guild", envelope.guild), ("team", envelope.team), ("roles", ", ".join(envelope.roles))]
    rest = "".join(f", {name} {value}" for name, value in details if value)
    return f"from {envelope.peer.id or 'an unnamed sender'} in {place_of(envelope.address)}{rest}"


def _around(answer: InboundAnswer) -> Iterator[Fact]:
    yield Fact("main", answer.main_key)
    where = "the main session" if answer.route.last_route == "main" else "its own session"
    yield Fact("last route", f"{where} remembers where the message came from")
    if answer.person is not None:
        text = f"all people share the main session in direct messages; this sender is {answer.person}"
        yield Fact("shared", text, tone=Tone.WARN)


def inbound_json(answer: InboundAnswer) -> dict[str, Any]:
    """The answer as JSON."""
    decided, envelope = answer.decided, answer.envelope
    return {
        "asked": {
            "place": place_json(envelope.address),
            "sender": envelope.peer.id,
            "message": envelope.message_id,
            "guild": envelope.guild,
            "team": envelope.team,
            "roles": envelope.roles,
        },
        "profile": answer.profile,
        "agent": decided.agent,
        "session_key": decided.session_key,
        "matched_by": decided.matched_by,
        "binding": decided.binding,
        "scope": decided.scope,
        "answers": {
            "place": place_json(answer.decided.reply_to),
            "reason": decided.reply_reason,
            "sentence": decided.reply_reason.sentence,
            "opens_thread_on": answer.opens_on,
        },
        "main_key": answer.main_key,
        "last_route": answer.route.last_route,
        "shared_as": answer.person,
        "candidates": [{**fields_json(rule), "sentence": rule.reason.sentence} for rule in decided.candidates],
        "others": decided.others,
        "notes": answer.notes,
    }


def send_facts(answer: SendAnswer) -> Iterator[Fact]:
    """Where a send goes."""
    yield from _notes(answer.notes)
    yield from target_facts(answer.resolved, place_of, more=_conversation(answer), entry=answer.entry)


def _conversation(answer: SendAnswer) -> Iterator[Fact]:
    route = answer.route
    yield Fact("agent", route.agent)
    yield Fact("peer", f"{route.kind} {route.peer}")
    yield Fact("from", route.sender)
    yield Fact("to", route.to)
    yield Fact("chat type", route.chat_type)
    yield Fact("thread", _NOTHING if route.thread_id is None else str(route.thread_id))
    yield Fact("base key", answer.base_key)


def send_json(answer: SendAnswer) -> dict[str, Any]:
    """The answer as JSON."""
    question, route = answer.question, answer.route
    return {
        "asked": some_fields(question, *_ASKED),
        "profile": answer.profile,
        "agent": route.agent,
        "place": place_json(route.address),
        "peer": {"kind": route.kind, "id": route.peer},
        "from": route.sender,
        "to": route.to,
        "chat_type": route.chat_type,
        "thread": route.thread_id,
        "base_key": answer.base_key,
        "session_key": answer.resolved.session_key,
        "entry": fields_json(answer.entry, sender="from"),
        "steps": route.steps,
        "notes": answer.notes,
    }


def some_fields(value: object, *names: str) -> dict[str, Any]:
    """Fields of a value that have the same names in the JSON."""
    return {name: getattr(value, name) for name in names}


def fields_json(value: msgspec.Struct, **names: str) -> dict[str, Any]:
    """The fields of a struct; `names` renames some."""
    return {names.get(field, field): content for field, content in msgspec.structs.asdict(value).items()}


def place_json(address: Address | None) -> dict[str, Any] | None:
    """An address with all of its fields."""
    return None if address is None else fields_json(address)


def key_facts(answer: KeyAnswer) -> Iterator[Fact]:
    """The meaning of a session key."""
    key = answer.key
    yield Fact("read", f"{quoted(answer.text)} as {answer.form}")
    yield Fact("key", str(key))
    yield Fact("agent", key.agent)
    if key.is_main:
        yield Fact("is", "the main session of the agent")
    else:
        yield from _parts(key)
    yield Fact("openclaw", answer.openclaw)
    if answer.openclaw_august != answer.openclaw:
        yield Fact("", f"{answer.openclaw_august}  (since August 2026)")
    if answer.lost:
        yield Fact("", f"without: {', '.join(answer.lost)}", tone=Tone.WARN)


def _parts(key: SessionKey) -> Iterator[Fact]:
    yield Fact("channel", key.channel or "omitted")
    yield Fact("account", key.account or "omitted")
    if key.space is not None:
        yield Fact(key.space[0], key.space[1])
    yield Fact("kind", str(key.kind))
    yield Fact("peer", f"{key.peer}{' (a name for linked identities)' if key.linked else ''}")
    if key.thread is not None:
        yield Fact(key.thread[0], key.thread[1])


def key_json(answer: KeyAnswer) -> dict[str, Any]:
    """The answer as JSON."""
    key = answer.key
    return {
        "text": answer.text,
        "form": answer.form,
        "key": str(key),
        "main": key.is_main,
        "agent": key.agent,
        "channel": key.channel,
        "account": key.account,
        "space": _pair(key.space),
        "kind": key.kind,
        "peer": key.peer,
        "linked": key.linked,
        "thread": _pair(key.thread),
        "openclaw": answer.openclaw,
        "openclaw_2026_08": answer.openclaw_august,
        "openclaw_loses": answer.lost,
    }


def _pair(pair: tuple[str, str] | None) -> dict[str, str] | None:
    return None if pair is None else {"kind": pair[0], "id": pair[1]}
