"""Long runs made by hand: one story, many times."""

import msgspec

from tests.support.app.traces import bound_completion
from trunkline.app.runs.model import Run
from trunkline.core.events import Event, Trace


def repeated(*, bug: bool, count: int, shift: float) -> Run:
    """The same story again and again: `count` events, with ids of its own each time, `shift` seconds late."""
    run = bound_completion(bug=bug, seed=7)
    events: list[Event] = []
    ids = ("inbound", "turn", "intent", "delegation")
    turn = 0
    while len(events) < count:
        turn += 1
        for event in run.trace.events:
            own = {name: value and f"{value}.{turn}" for name in ids for value in (getattr(event, name),)}
            at = event.at + turn * 100 + shift
            events.append(msgspec.structs.replace(event, seq=len(events) + 1, at=at, cause=None, **own))
    return Run(trace=Trace(header=run.trace.header, events=tuple(events[:count])), verdicts=())
