"""Our own gateway through the door of foreign ones, on each platform. `python -m tests.attach.own` plays far more."""

from pathlib import Path

import pytest

from tests.support.attach.toy_tries import play, wire_side
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.invariants import Status

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "attach"
PLAIN = SCENARIOS / "plain.yaml"
#: where a person gets no answer, and has to hear of that
NOTICES = ("model-fails-for-good", "refused-for-good", "request-is-lost")
OTHERS = sorted(path.stem for path in SCENARIOS.glob("*.yaml") if path.stem not in NOTICES)


@pytest.mark.parametrize("platform", ["telegram", "discord", "slack", "matrix"])
def test_our_own_gateway_answers_each_question_once_and_in_its_place(platform: str, tmp_path) -> None:
    scenario = tmp_path / f"plain-{platform}.yaml"
    scenario.write_text(PLAIN.read_text().replace("telegram", platform))
    profile = load_profile(profile_path("trunkline")).model_copy(update={"settle": 1.0})
    verdicts = wire_side(play(scenario, profile, tmp_path / "try"))
    assert {name: one.violations for name, one in verdicts.items() if one.violations} == {}
    assert {name for name, one in verdicts.items() if one.status is Status.OK} >= {"X1", "X2", "X4", "X5", "X6"}


def test_the_profile_is_the_configuration_of_the_readme() -> None:
    """What is judged is what a user gets: the profile settles nothing of the gateway."""
    written = load_profile(profile_path("trunkline")).files["gateway.yaml"].content
    assert isinstance(written, dict)
    assert "gateway" not in written


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("name", [*NOTICES, *(pytest.param(name, marks=pytest.mark.nightly) for name in OTHERS)])
def test_with_the_defaults_nobody_is_left_in_silence(name: str, tmp_path: Path) -> None:
    verdicts = wire_side(play(SCENARIOS / f"{name}.yaml", load_profile(profile_path("trunkline")), tmp_path / "try"))
    assert {name: one.violations for name, one in verdicts.items() if one.violations} == {}
