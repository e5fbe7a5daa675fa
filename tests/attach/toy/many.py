"""Many tries of the toy gateway without a defect: whatever is found is a false alarm."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count, cycle, islice, product
from pathlib import Path

import msgspec

from tests.support.attach.toy_tries import SCENARIOS, play_toy, wire_side
from trunkline.core.errors import UsageError


class ToyTry(msgspec.Struct, frozen=True, kw_only=True):
    """One try, and what was found in it."""

    number: int
    scenario: str
    streams: bool
    found: tuple[str, ...] = ()
    #: why it could not be played to its end
    problem: str = ""
    exercised: tuple[str, ...] = ()

    def __str__(self) -> str:
        how = " (grows)" if self.streams else ""
        return f"{self.number} {self.scenario}{how}: {self.problem or ', '.join(self.found) or 'nothing found'}"


def planned(tries: int) -> Iterator[tuple[int, str, bool]]:
    """The tries: every scenario, with answers that come at once and with those that grow, again and again."""
    names = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
    every = zip(count(1), cycle(product(names, (False, True))))
    return ((number, name, streams) for number, (name, streams) in islice(every, tries))


def play_many(tries: int, jobs: int) -> Iterator[ToyTry]:
    """Play them, `jobs` at the same time."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_play, planned(tries))


def _play(planned_try: tuple[int, str, bool]) -> ToyTry:
    number, name, streams = planned_try
    this = ToyTry(number=number, scenario=name, streams=streams)
    with tempfile.TemporaryDirectory() as folder:
        try:
            verdicts = wire_side(play_toy(name, Path(folder), streams=streams))
        except UsageError as error:
            return msgspec.structs.replace(this, problem=str(error))
    found = tuple(f"{name}: {bad.summary}" for name, one in verdicts.items() for bad in one.violations)
    exercised = tuple(name for name, one in verdicts.items() if one.exercised)
    return msgspec.structs.replace(this, found=found, exercised=exercised)


def summary(done: list[ToyTry]) -> list[str]:
    """How often each promise was judged, and one line for all."""
    judged = Counter(name for one in done for name in one.exercised)
    alarms, broken = sum(bool(one.found) for one in done), sum(bool(one.problem) for one in done)
    return [
        "judged: " + ", ".join(f"{name} {judged[name]}" for name in sorted(judged, key=lambda name: int(name[1:]))),
        f"{len(done)} tries without a defect: {alarms} false alarms, {broken} not played to the end",
    ]
