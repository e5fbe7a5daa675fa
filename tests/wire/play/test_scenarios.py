"""Scenarios that ship come to the same verdicts on the wire as in virtual time."""

import pytest

from tests.wire.play.table import fitting
from trunkline.sim import ScenarioFile, run_scenario
from trunkline.sim.wire.play.fit import unfit
from trunkline.sim.wire.play.run import differences, run_on_wire

#: so that all of them take minutes and not hours
SPEED = 500.0


@pytest.mark.slow(every=8)
@pytest.mark.parametrize("file", fitting(), ids=lambda file: file.id)
def test_the_verdicts_on_the_wire_are_those_of_virtual_time(file: ScenarioFile) -> None:
    run = run_on_wire(file, speed=SPEED)
    assert not differences(run, run_scenario(file))
    assert run.holds, run.violations or run.unmet
    assert run.trace.header.on_wire


#: defects that need two things at the same time, which do not overlap on sockets: scenario -> why
RACES = {
    "B074-first-messages-fork": "two first messages of a person are stored at once; on the wire the adapter of Discord"
    " first asks for the room of a direct message, so that one is stored later",
    "server-slow": "the second transaction of the first gateway is held back, with the answer; on the wire it stores"
    " its position in the stream before, so another one is held back, which the token refuses",
}
DEFECTS = [
    pytest.param(file, bug, id=f"{file.id}-{bug}")
    for file in fitting()
    for bug in file.scenario.bugs
    if file.id not in RACES and not unfit(file, (bug,))
]


@pytest.mark.slow(every=12)
@pytest.mark.parametrize(("file", "bug"), DEFECTS)
def test_a_defect_is_caught_on_the_wire_too(file: ScenarioFile, bug: str) -> None:
    """By which of the invariants may differ: what follows from a defect depends on the order of events.

    A pause that is too short looks long enough on a machine that is slower than it, so time goes slower then.
    """
    assert any(run_on_wire(file, bugs=(bug,), speed=SPEED / slower).violated for slower in (1, 10, 50))


def test_an_id_whose_case_changed_on_its_way_is_recorded_as_it_came() -> None:
    """Slack in the simulator takes it, so nothing else shows the defect."""
    (file,) = [one for one in fitting() if one.id == "B029-no-receipt"]
    assert "R4" in run_on_wire(file, bugs=file.scenario.bugs, speed=SPEED).violated
