"""Heartbeats: the standing of each agent for the Overview, and each guard of a run for the Why pane.

Apart from the other facts, since commands that start fast use those, and this needs the index of a run.
"""

from collections.abc import Iterator

from trunkline.app.text.cells import quoted, seconds
from trunkline.app.text.fact import Fact, Tone, facts
from trunkline.app.view.index.run_index import HeartbeatStanding, RunView
from trunkline.app.view.labels.decision_facts import Name
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatSkipped, HeartbeatStarted

_Run = HeartbeatSkipped | HeartbeatStarted | HeartbeatEnded
_TONES = {"sent": Tone.GOOD, "failed": Tone.BAD, "skipped": Tone.WARN}


def standing_facts(view: RunView, seq: int) -> Iterator[Fact]:
    """A line for the heartbeat of each agent: its last outcome, and when the next one is due."""
    for standing in view.heartbeats.at(seq):
        outcome, tone = _outcome(standing)
        due = "off" if standing.next_at is None else f"next at {seconds(standing.next_at)}"
        at = 0 if standing.last is None else standing.last.seq
        yield Fact("heartbeat", f"{standing.agent}: {outcome}, {due}", at, tone)


def _outcome(standing: HeartbeatStanding) -> tuple[str, Tone]:
    """The outcome of the last run, in a few words."""
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
    to = name(body.to) if not isinstance(body, HeartbeatSkipped) and body.to is not None else ""
    reason = ("because", body.reason)
    if isinstance(body, HeartbeatEnded):
        yield Fact("heartbeat", f"of {body.agent} ended: {body.status}", seq, _TONES.get(body.status, Tone.PLAIN))
        yield from facts(seq, ("says", body.preview and quoted(body.preview)), ("to", to), reason)
        yield from facts(seq, ("detail", body.detail))
        return
    runs = isinstance(body, HeartbeatStarted)
    tone = Tone.GOOD if runs else Tone.WARN
    yield Fact("heartbeat", f"of {body.agent} {'runs' if runs else 'is skipped'}, by {body.wake}", seq, tone)
    # The guards that let it pass, in order, and the one that did not.
    yield from facts(seq, ("passed", ", ".join(guard.guard for guard in body.guards if guard.reason is None)))
    for guard in body.guards:
        yield from facts(seq, ("stopped", guard.reason and f"{guard.guard} says {guard.reason.value}", Tone.WARN))
    due = "" if body.next_at is None else f"at {seconds(body.next_at)}"
    yield from facts(seq, ("to", to), reason, ("detail", body.detail), ("next", due))
