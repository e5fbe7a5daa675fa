"""The clean core keeps every promise in random scenarios, and plays each of them the same way every time."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.support.scale import scaled
from trunkline.core.errors import UsageError
from trunkline.sim import load_scenario
from trunkline.sim.fuzz.draws import grammar
from trunkline.sim.fuzz.generator import make_scenario, words_of
from trunkline.sim.fuzz.trial import try_file, try_seed, try_tree
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.edit import text_of
from trunkline.sim.scenario.step_rules import FAULTS

KEPT = sorted((Path(__file__).parent / "kept").glob("*.yaml"))


@pytest.mark.slow(every=30)
@pytest.mark.parametrize("seed", range(1, 301))
def test_nothing_is_violated_and_nothing_raises(seed):
    assert try_seed(seed).findings == (), text_of(make_scenario(seed))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_a_random_scenario_once_found_is_mended(path: Path) -> None:
    """The numbers of scenarios die when the generator changes; the files stay."""
    assert try_file(load_scenario(path)).findings == ()


def test_a_seed_gives_the_same_file_every_time_and_the_file_plays_the_same_run():
    text = text_of(make_scenario(5))
    assert text == text_of(make_scenario(5)) != text_of(make_scenario(6))
    file = load_text(text, "random.yaml")
    assert try_file(file, digest=True).digest == try_tree(make_scenario(5), digest=True).digest != ""


def test_every_scenario_is_valid():
    for seed in range(1, scaled(401, 41)):
        load_text(json.dumps(make_scenario(seed), ensure_ascii=False), f"random-{seed}.yaml")


def test_scenarios_use_everything_that_the_script_has():
    steps = [step for seed in range(1, 601) for step in make_scenario(seed)["script"]]
    used = {name for step in steps for name in step}
    assert used >= {
        *("say", "send", "queue", "wake", "crash", "restart", "second", "freeze", "reload", "reset", "replay"),
        *("archive", "unarchive", "delete", "rotate", "webhook", "bind", "unbind", "fault", "clock"),
        *("wake_heartbeat", "system_event", "react", "vote", "press", "edit", "unsend"),
        *("secret", "bot", "via", "proxy", "locked", "hands", "call", "hang_up", "hold", "resume"),
    }
    faults = {step["fault"]["on"] for step in steps if "fault" in step}
    assert faults == FAULTS.keys() - {"model"}


def test_sends_reach_platforms_and_faults_strike():
    """A generator whose scenarios do nothing finds nothing, and nobody notices."""
    reached, size = Counter[str](), scaled(120, 30)
    for seed in range(1, size + 1):
        reached.update(try_seed(seed).counts.keys())
    assert reached["sends that reached a platform"] > 0.8 * size
    assert reached["faults that struck"] > 0.3 * size
    assert reached["crashes"] > 0.12 * size


@cache
def drawn(focus: str) -> str:
    return "\n".join(text_of(make_scenario(seed, focus)) for seed in range(1, scaled(61, 31)))


@pytest.mark.parametrize("theme", grammar()["themes"])
def test_a_theme_draws_its_words_more_often(theme):
    words = words_of(theme)

    def times(focus: str) -> int:
        return sum(len(re.findall(rf"\b{word}\b", drawn(focus))) for word in words)

    assert times(theme) > times(next(other for other in ("clients", "answers") if other != theme))


def test_every_word_of_a_theme_is_a_word_of_the_grammar():
    for words in grammar()["themes"].values():
        for word in words:
            assert words_of(word)


def test_an_unknown_focus_is_refused_with_all_themes():
    with pytest.raises(UsageError, match="heartbeat, schedule, voice"):
        words_of("bananas")
