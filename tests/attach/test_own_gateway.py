"""Our own gateway through the door of foreign ones, on each platform. `python -m tests.attach.own` plays far more."""

from pathlib import Path

import pytest

from tests.support.attach.toy_tries import play, wire_side
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.invariants import Status

PLAIN = Path(__file__).parents[2] / "scenarios" / "attach" / "plain.yaml"


@pytest.mark.parametrize("platform", ["telegram", "discord", "slack", "matrix"])
def test_our_own_gateway_answers_each_question_once_and_in_its_place(platform: str, tmp_path) -> None:
    scenario = tmp_path / f"plain-{platform}.yaml"
    scenario.write_text(PLAIN.read_text().replace("telegram", platform))
    profile = load_profile(profile_path("trunkline")).model_copy(update={"settle": 1.0})
    verdicts = wire_side(play(scenario, profile, tmp_path / "try"))
    assert {name: one.violations for name, one in verdicts.items() if one.violations} == {}
    assert {name for name, one in verdicts.items() if one.status is Status.OK} >= {"X1", "X2", "X4", "X5", "X6"}
