"""Recorded runs of which only the wire is known: those of the toy gateway with a defect, judged."""

from pathlib import Path

from trunkline.app.runs.model import Run
from trunkline.core.events.trace import read_trace
from trunkline.sim.invariants import judge

FOLDER = Path(__file__).parents[2] / "fixtures" / "wire_side"
#: an answer sent twice; one that is posted into the parent of its topic; one that grows and is posted again; one that a
#: kill lost, with a notice
RESENT, NEXT_DOOR, GROWING, KILLED = "resent", "next-door", "growing", "killed"
ALL = (RESENT, NEXT_DOOR, GROWING, KILLED)


def wire_run(name: str) -> Run:
    """A recorded run with its verdicts."""
    trace = read_trace(FOLDER / f"{name}.jsonl")
    return Run(trace=trace, verdicts=judge(trace.events))
