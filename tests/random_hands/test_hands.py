"""Whatever happens meanwhile: the result of a hand is seen once, by the people who asked for it, or has a reason."""

import pytest

from tests.random_hands.generator import crashes_of, make_hand_scenario
from tests.random_hands.trial import try_hand_tree, try_hands
from tests.support.scale import scaled
from trunkline.sim.scenario.edit import text_of


@pytest.mark.nightly(every=2)
@pytest.mark.slow(every=12)
@pytest.mark.parametrize("seed", range(1, 501))
def test_s22_s23_every_result_is_seen_once_by_those_who_asked(seed):
    assert try_hands(seed).faults == (), text_of(make_hand_scenario(seed))


def test_a_seed_gives_the_same_run_every_time():
    assert try_hands(7).digest == try_hands(7).digest != ""


def test_scenarios_differ_and_most_of_them_kill_the_process():
    scenarios = [make_hand_scenario(seed) for seed in range(1, 101)]
    steps = {name for tree in scenarios for step in tree["script"] for name in step}
    assert steps >= {"say", "fault", "crash", "restart", "rotate", "second", "freeze", "reset"}
    assert sum(bool(crashes_of(seed)) for seed in range(1, 101)) > 60


@pytest.mark.parametrize("bug", ["announce-busy-twice", "hand-announces-too"])
def test_the_oracle_alone_finds_what_is_reported_twice_or_elsewhere(bug):
    seeds = range(1, scaled(31, 5))
    faults = [fault for seed in seeds for fault in try_hand_tree(seed, make_hand_scenario(seed), bugs=[bug]).faults]
    assert "ORACLE" in {kind for kind, _ in faults}
