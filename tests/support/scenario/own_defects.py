"""Every shipped scenario with each of the defects that it declares, run once for all tests that look at it."""

from collections import Counter
from functools import cache
from pathlib import Path

import msgspec

from tests.support.paths import SCENARIO_FILES
from tests.support.scenario.shipped import shipped_scenario
from trunkline.core.events import Event
from trunkline.sim import run_scenario
from trunkline.sim.run.result import RunResult

FILES = {path: shipped_scenario(path) for path in SCENARIO_FILES}
OWN_BUGS = [(path, bug) for path, file in FILES.items() for bug in file.scenario.bugs]


@cache
def sound_run(path: Path) -> RunResult:
    return run_scenario(FILES[path])


@cache
def defect_run(path: Path, bug: str) -> RunResult:
    return run_scenario(FILES[path], bugs=[bug])


def unchanged(defect: RunResult, sound: RunResult) -> set[int]:
    """Seqs of the events of a defect run that the sound run has too.

    The same event has the same kind, ids, body and time. Positions in the log do not count: a defect shifts all that
    comes after it. Where an event occurs twice, the first is compared with the first, and so on.
    """
    there = Counter(map(_facts, sound.trace.events))
    found: set[int] = set()
    for event in defect.trace.events:
        facts = _facts(event)
        if there[facts]:
            there[facts] -= 1
            found.add(event.seq)
    return found


def _facts(event: Event) -> bytes:
    return event.kind.encode() + msgspec.json.encode(msgspec.structs.replace(event, seq=0, cause=None), order="sorted")
