"""Answers of `trunkline explain` for people and for machines: facts as lines, and JSON with stable names.

The facts are those of the Why pane. In the JSON every field is always present; a missing value is `null`.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from trunkline.app.report.layout import fields_json, place_json, some_fields
from trunkline.app.text.cells import clean, quoted, span
from trunkline.app.text.fact import Fact, Tone, listed, reason_text
from trunkline.app.view.labels.decision_facts import place_of, policy_facts, route_facts, target_facts
from trunkline.core.explain.decide import InboundAnswer, KeyAnswer, SendAnswer
from trunkline.core.explain.heartbeat import EntryAnswer, HeartbeatAnswer
from trunkline.core.explain.policy import PolicyAnswer
from trunkline.core.explain.prompts import PromptsAnswer
from trunkline.core.keys import SessionKey
from trunkline.core.values import Envelope

_NOTHING = "–"
#: fields of the question about a send
_ASKED = ("target", "channel", "account", "kind", "thread", "reply_to")


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
    decided, envelope = answer.decided, answer.envelope
    return {
        "asked": {
            "place": place_json(envelope.address),
            "sender": envelope.peer.id,
            "message": envelope.message_id,
            **some_fields(envelope, "guild", "team", "roles"),
        },
        "profile": answer.profile,
        **some_fields(decided, "agent", "session_key", "matched_by", "binding", "scope"),
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
    key = answer.key
    return {
        "text": answer.text,
        "form": answer.form,
        "key": str(key),
        "main": key.is_main,
        **some_fields(key, "agent", "channel", "account"),
        "space": _pair(key.space),
        **some_fields(key, "kind", "peer", "linked"),
        "thread": _pair(key.thread),
        "openclaw": answer.openclaw,
        "openclaw_2026_08": answer.openclaw_august,
        "openclaw_loses": answer.lost,
    }


def _pair(pair: tuple[str, str] | None) -> dict[str, str] | None:
    return None if pair is None else {"kind": pair[0], "id": pair[1]}


def heartbeat_facts(answer: HeartbeatAnswer) -> Iterator[Fact]:
    """When an agent's heartbeat runs, and where it delivers."""
    yield from listed("note", answer.notes, tone=Tone.WARN)
    yield Fact("agent", answer.agent)
    if answer.heartbeat is not None:
        yield Fact("every", span(answer.heartbeat.every))
        yield Fact("session", answer.session_key)
        yield Fact("prompt", answer.heartbeat.prompt or "the usual one")
        hours = answer.heartbeat.active_hours
        text = "all day" if hours is None else f"{hours.start} to {hours.end}, {hours.timezone}"
        yield Fact("hours", text)
    yield Fact("at", _time(answer.at, answer.zone))
    guards = [
        f"✓ {guard.guard}" if guard.reason is None else f"✗ {guard.guard}  {reason_text(guard.reason)}"
        for guard in answer.guards
    ]
    yield from listed("guards", guards)
    yield from listed("next", (_time(at, answer.zone) for at in answer.times))
    if answer.heartbeat is not None:
        yield from _target(answer)
    yield from listed("schedule", map(_entry, answer.entries))


def _target(answer: HeartbeatAnswer) -> Iterator[Fact]:
    target, seen = answer.target, answer.visibility
    where = "nowhere"
    if target.deliverable:
        where = f"{target.to} on {target.channel}, account {target.account or 'by default'}"
    yield Fact("target", where if target.reason is None else f"{where}  {reason_text(target.reason)}")
    shown = {"acknowledgements": seen.show_ok, "alerts": seen.show_alerts, "indicator": seen.use_indicator}
    yield Fact("shows", ", ".join(name for name, on in shown.items() if on) or "nothing")


def _entry(answer: EntryAnswer) -> str:
    entry = answer.entry
    when = entry.cron or entry.at or f"every {span(entry.every or 0)}"
    starts = {None: "starts a turn", "now": "starts a heartbeat"}.get(entry.wake, "a text for the next heartbeat")
    following = _time(answer.times[0], answer.zone) if answer.times else "never"
    return f"{entry.id}: {when}, {starts}, next {following}"


def _time(at: float, zone: str) -> str:
    return f"{datetime.fromtimestamp(at, ZoneInfo(zone)).isoformat(timespec='seconds')} {zone}"


def heartbeat_json(answer: HeartbeatAnswer) -> dict[str, Any]:
    heartbeat, target, seen = answer.heartbeat, answer.target, answer.visibility
    return {
        **some_fields(answer, "profile", "agent", "at"),
        "every": None if heartbeat is None else heartbeat.every,
        "session_key": answer.session_key,
        "runs": answer.decision.runs,
        "reason": answer.decision.reason,
        "guards": [{"guard": guard.guard, "reason": guard.reason} for guard in answer.guards],
        "next": answer.times,
        "target": some_fields(target, "channel", "to", "account", "reason", "sender"),
        "shows": {"ok": seen.show_ok, "alerts": seen.show_alerts, "indicator": seen.use_indicator},
        "schedule": [
            {"id": entry.entry.id, "wake": entry.entry.wake, "next": entry.times, "timezone": entry.zone}
            for entry in answer.entries
        ],
        "notes": answer.notes,
    }


def policy_answer_facts(answer: PolicyAnswer) -> Iterator[Fact]:
    """Whether an action is allowed, and why."""
    yield from _notes(answer.notes)
    work = answer.question.work.value
    setting = answer.setting
    text = "no setting changes this"
    if setting is not None:
        text = f"{setting.path}: {setting.value}{' (the default)' if setting.default else ''}"
    yield from policy_facts(answer.decided, place_of, nowhere=work, more=[Fact("setting", text)])


def policy_json(answer: PolicyAnswer) -> dict[str, Any]:
    question, decision, setting = answer.question, answer.decision, answer.setting
    mark = decision.mark
    return {
        "asked": {
            **some_fields(question, "action", "agent", "work"),
            "from": place_json(question.origin),
            "to": place_json(question.target),
            "name": question.label,
            "last": place_json(question.last),
            "embeds": question.embeds,
        },
        "profile": answer.profile,
        "allowed": decision.allowed,
        "reason": decision.reason,
        "sentence": decision.reason.sentence,
        "error": decision.error or None,
        "mark": None if mark is None else some_fields(mark, "label", "prefix", "suffix", "embed"),
        "setting": None if setting is None else some_fields(setting, "path", "value", "default"),
        "notes": answer.notes,
    }


def prompts_facts(answer: PromptsAnswer) -> Iterator[Fact]:
    """The prompts in the order in which the agent gets them."""
    question, to = answer.question, answer.question.reply_to
    yield from _notes(answer.notes)
    where = "which answers nowhere" if to is None else f"which answers on {to.channel} by account {to.account}"
    turn = "a callback turn" if question.callback else "a turn"
    yield Fact("turn", clean(f"{turn} of agent {question.agent}, {where}"))
    for number, prompt in enumerate(answer.given, 1):
        yield Fact(str(prompt.prompt.kind), f"{number} {quoted(prompt.prompt.text)}")
        yield Fact("", f"from {clean(prompt.path)}")
    if not answer.given:
        yield Fact("prompts", "none")


def prompts_json(answer: PromptsAnswer) -> dict[str, Any]:
    question, to = answer.question, answer.question.reply_to
    return {
        "asked": {
            "agent": question.agent,
            "channel": None if to is None else to.channel,
            "account": None if to is None else to.account,
            "callback": question.callback,
        },
        "profile": answer.profile,
        "prompts": [
            {"kind": prompt.prompt.kind, "text": prompt.prompt.text, "path": prompt.path} for prompt in answer.given
        ],
        "text": answer.text,
        "notes": answer.notes,
    }
