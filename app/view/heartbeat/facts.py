"""Heartbeats as facts: the standing of each agent for the Overview, and each guard of a run for the Why pane."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import clean, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, because, clean_fact
from trunkline.app.view.index.heartbeats import HeartbeatStanding
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.route_facts import Name
from trunkline.core.events import Event
from trunkline.core.events.heartbeat import GuardResult, HeartbeatEnded, HeartbeatSkipped, HeartbeatStarted

_Run = HeartbeatSkipped | HeartbeatStarted | HeartbeatEnded
_TONES = {"sent": Tone.GOOD, "failed": Tone.BAD, "skipped": Tone.WARN}


def standing_facts(view: RunView, seq: int) -> Iterator[Fact]:
    """A line for the heartbeat of each agent: its last outcome, and when the next one is due."""
    for standing in view.heartbeats.at(seq):
        outcome, tone = _outcome(standing)
        due = "off" if standing.next_at is None else f"next at {seconds(standing.next_at)}"
        at = 0 if standing.last is None else standing.last.seq
        yield Fact(label="heartbeat", text=f"{clean(standing.agent)}: {outcome}, {due}", tone=tone, seq=at)


def _outcome(standing: HeartbeatStanding) -> tuple[str, Tone]:
    """What the last run came to, in a few words."""
    event = standing.last
    if event is None:
        return "no run yet", Tone.DIM
    at = f"#{event.seq} {seconds(event.at)}"
    match event.body:
        case HeartbeatSkipped(reason=reason):
            return f"{at} skipped ({reason.value})", Tone.WARN
        case HeartbeatEnded(status=status, reason=reason):
            why = f" ({reason.value})" if reason is not None and reason.value != status else ""
            return f"{at} {status}{why}", _TONES.get(status, Tone.PLAIN)
        case _:
            return f"{at} running", Tone.PLAIN


def heartbeat_facts(body: _Run, name: Name, seq: int) -> Iterator[Fact]:
    """Why a heartbeat ran, or did not: every guard in order, its destination, and what became of it."""
    if isinstance(body, HeartbeatEnded):
        yield from _ended(body, name, seq)
        return
    runs = isinstance(body, HeartbeatStarted)
    tone = Tone.GOOD if runs else Tone.WARN
    yield clean_fact("heartbeat", f"of {body.agent} {'runs' if runs else 'is skipped'}, by {body.wake}", seq, tone)
    yield from _guards(body.guards, seq)
    if isinstance(body, HeartbeatSkipped):
        yield because(body.reason, seq)
    elif body.to is not None:
        yield clean_fact("to", name(body.to), seq)
    if isinstance(body, HeartbeatStarted) and body.reason is not None:
        yield because(body.reason, seq)
    if body.detail:
        yield clean_fact("detail", body.detail, seq)
    if body.next_at is not None:
        yield clean_fact("next", f"at {seconds(body.next_at)}", seq)


def _guards(guards: tuple[GuardResult, ...], seq: int) -> Iterator[Fact]:
    """The guards that let it pass, in order, and the one that did not."""
    passed = ", ".join(one.guard for one in guards if one.reason is None)
    if passed:
        yield clean_fact("passed", passed, seq)
    for one in guards:
        if one.reason is not None:
            yield clean_fact("stopped", f"{one.guard} says {one.reason.value}", seq, Tone.WARN)


def _ended(body: HeartbeatEnded, name: Name, seq: int) -> Iterator[Fact]:
    yield clean_fact("heartbeat", f"of {body.agent} ended: {body.status}", seq, _TONES.get(body.status, Tone.PLAIN))
    if body.preview:
        yield clean_fact("says", quoted(body.preview), seq)
    if body.to is not None:
        yield clean_fact("to", name(body.to), seq)
    if body.reason is not None:
        yield because(body.reason, seq)
    if body.detail:
        yield clean_fact("detail", body.detail, seq)


def recorded_heartbeat(view: RunView, event: Event) -> Iterator[Fact]:
    """The facts of a recorded run of a heartbeat."""
    body = event.body
    assert isinstance(body, HeartbeatSkipped | HeartbeatStarted | HeartbeatEnded)
    yield from heartbeat_facts(body, view.places.label, event.seq)
