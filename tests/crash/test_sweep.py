"""The gateway dies once at each commit, and at steps in between: nothing is said twice, nothing is lost.

Expectations of scenarios that crash by themselves, or whose hands die with their process, speak of one crash; the
invariants must hold at any.
"""

from collections import Counter

import pytest

from core.events.bodies import ProcessCrashed, WireAccepted
from sim import CrashAt, RunResult, ScenarioFile, Status, load_scenario, run_scenario
from tests.scenario.files import SCENARIOS

#: every so many steps of the loop are tried here; each is tried by the explorer
STRIDE = 11
#: scenarios on a platform that keeps one of two sends with the same key, and without hands
KEYED = ("B043-thread-reply-in-main", "B044-drifts-to-parent", "duplicate-push")


def broken(result: RunResult) -> list[str]:
    return [f"{v.id}: {v.violations[0].summary}" for v in result.verdicts if v.status is Status.VIOLATED]


def seen(result: RunResult) -> Counter[tuple[str, str]]:
    bodies = [event.body for event in result.trace.events]
    return Counter((str(body.address), body.text) for body in bodies if isinstance(body, WireAccepted))


def crashes(result: RunResult) -> int:
    return sum(isinstance(event.body, ProcessCrashed) for event in result.trace.events)


def swept(file: ScenarioFile, stride: int = STRIDE) -> list[CrashAt]:
    sound = run_scenario(file)
    commits = [CrashAt(what="commit", n=n) for n in range(1, sound.commits + 1)]
    steps = [CrashAt(what="step", n=n) for n in range(1, sound.steps, stride)]
    return commits + steps


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_invariant_holds_wherever_the_gateway_dies(path):
    file = load_scenario(path)
    found = {crash: broken(run_scenario(file, crash=crash)) for crash in swept(file)}
    assert {crash: violated for crash, violated in found.items() if violated} == {}


@pytest.mark.parametrize("path", [p for p in SCENARIOS if p.stem in KEYED], ids=lambda path: path.stem)
def test_people_see_the_same_messages_wherever_the_gateway_dies(path):
    file = load_scenario(path)
    sound = seen(run_scenario(file))
    for crash in swept(file):
        assert seen(run_scenario(file, crash=crash)) == sound, crash


def test_the_crash_really_happens():
    file = load_scenario(SCENARIOS[0])
    assert crashes(run_scenario(file, crash=CrashAt(what="commit", n=2))) == crashes(run_scenario(file)) + 1


def test_the_sweep_finds_a_gateway_that_acks_too_early():
    file = load_scenario(next(path for path in SCENARIOS if path.stem == KEYED[0]))
    results = [run_scenario(file, crash=crash, bugs=["ack-before-commit"]) for crash in swept(file, 2)]
    assert any("L1" in line for result in results for line in broken(result))
