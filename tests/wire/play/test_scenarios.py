"""Scenarios that ship come to the same verdicts on the wire as in virtual time."""

import pytest

from tests.wire.play.table import fitting
from trunkline.sim import ScenarioFile, run_scenario
from trunkline.sim.wire.play.compare import differences
from trunkline.sim.wire.play.fit import unfit
from trunkline.sim.wire.play.run import run_on_wire

#: so that all of them take minutes and not hours
SPEED = 500.0


@pytest.mark.slow(every=8)
@pytest.mark.parametrize("file", fitting(), ids=lambda file: file.id)
def test_the_verdicts_on_the_wire_are_those_of_virtual_time(file: ScenarioFile) -> None:
    run = run_on_wire(file, speed=SPEED)
    assert not differences(run, run_scenario(file))
    assert run.holds, run.violations or run.unmet
    assert run.trace.header.on_wire


#: defects that need two things in one step of the loop, which sockets do not bring about: scenario -> why
RACES = {"B074-first-messages-fork": "two first messages of a person within one step; on sockets one comes first"}
DEFECTS = [
    pytest.param(file, bug, id=f"{file.id}-{bug}")
    for file in fitting()
    for bug in file.scenario.bugs
    if file.id not in RACES and not unfit(file, (bug,))
]


@pytest.mark.slow(every=12)
@pytest.mark.parametrize(("file", "bug"), DEFECTS)
def test_a_defect_is_caught_on_the_wire_too(file: ScenarioFile, bug: str) -> None:
    """By which of the invariants may differ: what follows from a defect depends on the order of events."""
    assert run_on_wire(file, bugs=(bug,), speed=SPEED).violated
