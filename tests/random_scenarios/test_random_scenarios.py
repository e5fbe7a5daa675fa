"""The clean core keeps every promise in random scenarios, and plays each of them the same way every time."""

import pytest

from tests.random_scenarios.__main__ import try_seed
from tests.random_scenarios.generator import as_yaml, make_scenario
from tests.random_scenarios.smaller import smaller
from tests.random_scenarios.trial import try_file, try_tree
from trunkline.sim.scenario import load_text


@pytest.mark.slow(every=30)
@pytest.mark.parametrize("seed", range(1, 301))
def test_nothing_is_violated_and_nothing_raises(seed):
    trial = try_seed(seed)
    assert trial.faults == (), as_yaml(make_scenario(seed))


def test_a_seed_gives_the_same_file_every_time_and_the_file_plays_the_same_run():
    text = as_yaml(make_scenario(5))
    assert text == as_yaml(make_scenario(5)) != as_yaml(make_scenario(6))
    assert try_file(5, load_text(text, "random-5.yaml")).digest == try_tree(5, make_scenario(5)).digest != ""


def test_scenarios_use_everything_that_the_script_has():
    steps = [step for seed in range(1, 301) for step in make_scenario(seed)["script"]]
    used = {name for step in steps for name in step}
    assert used >= {
        *("say", "send", "queue", "wake", "crash", "restart", "second", "freeze", "reload", "reset", "replay"),
        *("archive", "unarchive", "delete", "rotate", "webhook", "bind", "unbind", "fault"),
        *("secret", "reply_chain", "bot", "via", "proxy", "locked"),
        *("hands", "call", "hang_up", "hold", "resume"),
    }


@pytest.mark.slow
def test_a_failing_scenario_gets_smaller_and_still_fails():
    tree = make_scenario(5)
    said = next(step["say"] for step in tree["script"] if "say" in step)
    less = smaller(tree, lambda one: bool(try_tree(5, one)) and any(step.get("say") == said for step in one["script"]))
    assert [step.get("say") for step in less["script"]] == [said]
