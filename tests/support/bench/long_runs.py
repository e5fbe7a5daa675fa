"""A run of 100,000 events for the app's bars: real runs, told one after another through `trunkline.core.events`.

Each round tells the events of the same scenarios under ids, names of messages and times of its own, so that intents,
turns, hands, bindings and transcripts grow as they would in a gateway that works for days in the same conversations.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from trunkline.app.runs.model import Run
from trunkline.app.runs.scenario_source import load
from trunkline.core.events import Event, EventLog, Trace, TraceHeader, write_trace
from trunkline.core.events.bindings import BindingBound, BindingEnded, RouterDecided
from trunkline.core.reasons import Reason
from trunkline.sim import find_scenarios, judge, run_scenario, scenario_home
from trunkline.sim.invariants import Status, Verdict

SCENARIOS = ("told-twice", "sent-by-clients", "focus-and-unfocus", "two-bound-sessions")
#: one round in so many is the tour with its defect
DEFECT_EVERY = 200
#: told in the first round only: the world is made once, and ends once
ONCE = ("world.", "bug.", "process.", "run.", "lease.", "session.created", "thread.opened")
#: invariants that the defect of the tour breaks
OF_THE_DEFECT = ("D2", "R1")
#: fields of bodies that name one message or one send
NAMES = ("message_id", "original_id", "provider_id", "first", "key", "binding", "instead_of")
#: virtual seconds between two rounds
PAUSE = 5.0


def _events(name: str, *, defect: bool = False) -> tuple[Event, ...]:
    path = next(path for path in find_scenarios((scenario_home(),)) if path.stem == name)
    file = load(path)
    return run_scenario(file, bugs=file.scenario.bugs if defect else ()).trace.events


def _body(event: Event, mark: str) -> Any:
    changes: dict[str, Any] = {
        name: f"{value}{mark}" for name in NAMES if isinstance(value := getattr(event.body, name, None), str) and value
    }
    if isinstance(event.body, RouterDecided):
        tried = [msgspec.structs.replace(one, binding=f"{one.binding}{mark}") for one in event.body.candidates]
        changes["candidates"] = tuple(tried)
    return msgspec.structs.replace(event.body, **changes) if changes else event.body


class _Teller:
    """Tells runs one after another into one log."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log = EventLog(lambda: self.now)

    def tell(self, events: Iterable[Event], mark: str, *, whole: bool) -> None:
        """One run, from now on; not `whole`: without what happens once."""
        start, seqs, bound = self.now, dict[int, int](), dict[str, BindingBound]()
        for event in events:
            if event.kind == "run.ended" or (not whole and event.kind.startswith(ONCE)):
                continue
            self.now = start + event.at
            recorder = self.log.recorder(event.node, min(event.generation, 1))
            ids = {
                name: f"{value}{mark}"
                for name in ("inbound", "turn", "intent", "delegation", "binding")
                if (value := getattr(event, name)) is not None
            }
            seqs[event.seq] = recorder.record(_body(event, mark), seqs.get(event.cause or 0), **ids)
            if isinstance(event.body, BindingBound):
                bound[ids["binding"]] = event.body
            elif isinstance(event.body, BindingEnded):
                bound.pop(ids["binding"], None)
        for binding, body in bound.items():
            ended = BindingEnded(
                conversation=body.conversation, session_key=body.session_key, reason=Reason.UNBOUND, by="operator"
            )
            self.log.recorder("gateway", 1).record(ended, binding=binding)
        self.now += PAUSE


def long_trace(count: int) -> Trace:
    """A trace of exactly so many events."""
    stories = [_events(name) for name in SCENARIOS]
    defective = _events(SCENARIOS[0], defect=True)
    teller, number = _Teller(), 0
    while len(teller.log.events) < count:
        story = defective if number % DEFECT_EVERY == DEFECT_EVERY - 1 else stories[number % len(stories)]
        teller.tell(story, f"-{number}", whole=number < len(stories))
        number += 1
    header = TraceHeader(scenario="long", title=f"{count} events", seed=1)
    ended = next(event for event in reversed(stories[0]) if event.kind == "run.ended")
    events = teller.log.events[: count - 1]
    last = msgspec.structs.replace(ended, seq=count, at=events[-1].at, cause=None)
    return Trace(header=header, events=(*events, last))


def judged(trace: Trace) -> Run:
    """The same, judged; of the breaches only those that the tour's defect made.

    The seams between rounds break invariants too: nobody ends what a round left open. Those are none of a real run.
    """
    verdicts = judge(trace.events)
    kept = tuple(verdict if verdict.id in OF_THE_DEFECT else _sound(verdict) for verdict in verdicts)
    return Run(trace=trace, verdicts=kept)


def _sound(verdict: Verdict) -> Verdict:
    status = Status.OK if verdict.status is Status.VIOLATED else verdict.status
    return msgspec.structs.replace(verdict, status=status, violations=())


def long_file(folder: Path, count: int) -> Path:
    """The trace in a file."""
    path = folder / "long.jsonl"
    write_trace(path, long_trace(count))
    return path
