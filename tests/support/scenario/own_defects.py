"""Every shipped scenario with each of the defects that it declares, run once for tests that look at it in a row.

Nothing is read when this is imported: each worker imports it, and runs only some of the scenarios.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from tests.support.paths import SCENARIO_FILES
from tests.support.scenario.shipped import shipped_scenario
from trunkline.core.events import Event
from trunkline.sim import ScenarioFile, run_scenario
from trunkline.sim.run.result import RunResult

_BUGS = re.compile(r"^bugs:\s*\[([^\]]*)\]", re.MULTILINE)


class _Files(Mapping[Path, ScenarioFile]):
    """The shipped scenarios by their paths, each read when it is asked for."""

    def __getitem__(self, path: Path) -> ScenarioFile:
        return shipped_scenario(path)

    def __iter__(self) -> Iterator[Path]:
        return iter(SCENARIO_FILES)

    def __len__(self) -> int:
        return len(SCENARIO_FILES)


def bugs_of(path: Path) -> list[str]:
    """The bug switches that a file names, by its text alone: there is a test for each that comes from here."""
    found = _BUGS.search(path.read_text("utf-8"))
    return [] if found is None else [name.strip() for name in found[1].split(",")]


FILES = _Files()
OWN_BUGS = [(path, bug) for path in SCENARIO_FILES for bug in bugs_of(path)]


@lru_cache(maxsize=64)
def sound_run(path: Path) -> RunResult:
    return run_scenario(FILES[path])


@lru_cache(maxsize=64)
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
