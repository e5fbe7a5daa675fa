"""The answer of `trunkline explain heartbeat` as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from trunkline.app.text.cells import span
from trunkline.app.text.fact import Fact, Tone, listed, reason_text
from trunkline.core.explain.heartbeat import EntryAnswer, HeartbeatAnswer


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
        f"✓ {one.guard}" if one.reason is None else f"✗ {one.guard}  {reason_text(one.reason)}" for one in answer.guards
    ]
    yield from listed("guards", guards)
    yield from listed("next", (_time(at, answer.zone) for at in answer.times))
    if answer.heartbeat is not None:
        yield from _target(answer)
    for number, entry in enumerate(answer.entries):
        yield Fact("" if number else "schedule", _entry(entry))


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
    """The answer as JSON."""
    heartbeat, target, seen = answer.heartbeat, answer.target, answer.visibility
    return {
        "profile": answer.profile,
        "agent": answer.agent,
        "at": answer.at,
        "every": None if heartbeat is None else heartbeat.every,
        "session_key": answer.session_key,
        "runs": answer.decision.runs,
        "reason": answer.decision.reason,
        "guards": [{"guard": one.guard, "reason": one.reason} for one in answer.guards],
        "next": answer.times,
        "target": {
            "channel": target.channel,
            "to": target.to,
            "account": target.account,
            "reason": target.reason,
            "sender": target.sender,
        },
        "shows": {"ok": seen.show_ok, "alerts": seen.show_alerts, "indicator": seen.use_indicator},
        "schedule": [
            {"id": one.entry.id, "wake": one.entry.wake, "next": one.times, "timezone": one.zone}
            for one in answer.entries
        ],
        "notes": answer.notes,
    }
