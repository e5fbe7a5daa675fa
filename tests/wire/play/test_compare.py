"""The verdicts on the wire beside those of virtual time."""

import msgspec
import pytest

from tests.support.paths import SCENARIOS
from trunkline.core.events import Trace
from trunkline.core.events.base import RunEnded
from trunkline.sim import load_scenario, run_scenario
from trunkline.sim.run.result import RunResult
from trunkline.sim.wire.play.run import differences

FILE = load_scenario(SCENARIOS / "museum" / "B001-announced-twice.yaml")
(BUG,) = FILE.scenario.bugs


@pytest.fixture(scope="module")
def sound() -> RunResult:
    return run_scenario(FILE)


@pytest.fixture(scope="module")
def defect() -> RunResult:
    return run_scenario(FILE, bugs=(BUG,))


def test_equal_verdicts_do_not_differ(sound: RunResult, defect: RunResult) -> None:
    assert differences(sound, sound) == ()
    assert differences(defect, defect) == ()


def test_each_invariant_and_expectation_on_one_side_is_named_with_both_sides(
    sound: RunResult, defect: RunResult
) -> None:
    found = differences(defect, sound)
    assert {one.what for one in found if "expectation" not in one.what} == set(defect.violated)
    assert len(found) == len(defect.violated) + len(defect.unmet)
    assert str(found[0]) == f"{defect.violated[0]}: violated on the wire, holds in virtual time"
    assert str(differences(sound, defect)[0]).endswith("holds on the wire, violated in virtual time")


def test_a_run_that_was_given_up_is_asked_only_for_what_it_does_not_find(sound: RunResult, defect: RunResult) -> None:
    def ended(run: RunResult, *, at: float) -> RunResult:
        last = msgspec.structs.replace(run.trace.events[-1], at=at, body=RunEnded(at_rest=False))
        events = (*run.trace.events[:-1], last)
        return msgspec.structs.replace(run, trace=Trace(header=run.trace.header, events=events))

    early = ended(defect, at=1.0)
    assert differences(early, sound) == ()
    assert {one.what for one in differences(ended(sound, at=1.0), defect)} >= set(defect.violated)
    assert differences(ended(defect, at=1e6), sound)
