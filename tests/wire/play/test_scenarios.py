"""Scenarios that ship come to the same verdicts on the wire as in virtual time."""

import pytest

from tests.wire.play.table import fitting
from trunkline.sim import ScenarioFile, run_scenario
from trunkline.sim.wire.play.compare import differences
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


@pytest.mark.slow(every=8)
@pytest.mark.parametrize(
    ("file", "bug"),
    [pytest.param(file, bug, id=f"{file.id}-{bug}") for file in fitting() for bug in file.scenario.bugs],
)
def test_a_defect_is_caught_on_the_wire_as_in_virtual_time(file: ScenarioFile, bug: str) -> None:
    run = run_on_wire(file, bugs=(bug,), speed=SPEED)
    assert run.violated
    assert not differences(run, run_scenario(file, bugs=(bug,)))
