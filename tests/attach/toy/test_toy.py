"""The judge of the wire side against a gateway whose mistakes are known."""

import pytest

from tests.attach.toy.many import play_many
from tests.support.attach.toy_defects import TOY_DEFECTS, ToyDefect
from tests.support.attach.toy_tries import SCENARIOS, play, play_toy, toy_profile, violated, wire_side
from trunkline.sim.attach.toy.gateway import DEFECTS
from trunkline.sim.invariants import CHECKERS, Status

WIRE_SIDE = {one.id for one in CHECKERS if one.id.startswith("X")}


@pytest.mark.parametrize("defect", TOY_DEFECTS, ids=lambda one: one.name)
def test_a_defect_is_found_by_its_invariant_and_by_no_other(defect: ToyDefect, tmp_path) -> None:
    assert violated(play_toy(defect.scenario, tmp_path, (defect.name,), streams=defect.streams)) == defect.breaks


def test_every_defect_of_the_toy_is_in_the_table_and_every_promise_has_one() -> None:
    assert sorted(DEFECTS) == sorted(one.name for one in TOY_DEFECTS)
    assert {name for one in TOY_DEFECTS for name in one.breaks} == WIRE_SIDE
    assert {one.scenario for one in TOY_DEFECTS} <= {path.stem for path in SCENARIOS.glob("*.yaml")}


def test_nothing_is_found_without_a_defect_and_every_promise_is_judged() -> None:
    """Under a minute: a try waits for most of its time. `python -m tests.attach.toy` plays more."""
    done = list(play_many(tries=200, jobs=12))
    assert [str(one) for one in done if one.found or one.problem] == []
    assert {name for one in done for name in one.exercised} == WIRE_SIDE


@pytest.mark.parametrize(
    ("scenario", "from_", "to", "promise"),
    [
        ("refused", 'text: "Here.*"', "text: never", "X10"),
        ("rate-limit", 'text: "Here.*"', "text: never", "X7"),
        ("topic-deleted", "delay: 100ms", "nth: 2, delay: 100ms", "X3"),
    ],
)
def test_a_promise_whose_fault_did_not_strike_is_not_exercised(scenario, from_, to, promise, tmp_path) -> None:
    text = (SCENARIOS / f"{scenario}.yaml").read_text()
    assert from_ in text
    path = tmp_path / "changed.yaml"
    path.write_text(text.replace(from_, to))
    verdict = wire_side(play(path, toy_profile(), tmp_path / "try"))[promise]
    assert (verdict.status, verdict.exercised) == (Status.NOT_EXERCISED, 0)
