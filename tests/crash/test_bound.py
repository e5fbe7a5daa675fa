"""The gateway ends while bound sessions are made, work, and are told: each completion is in its own thread, once."""

from collections import Counter

import pytest

from tests.support.scenario.bound import announcements, asked, many, notices, seen
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.values import IntentState
from trunkline.sim import CrashAt, RunResult, ScenarioFile, run_scenario
from trunkline.sim.explore import Explorer

#: how many there are, and which of the commits are tried
COUNTS = ((2, 1), (10, 4))
#: a hand that died with its process works again, so that what people see is the same
RERUN = "defaults: {on_restart: rerun}"
ROTATED = ("{at: 50s, rotate: {platform: discord}}",)


def crashes(file: ScenarioFile, every: int) -> list[CrashAt]:
    """A kill at each commit, or at some of them; at each of the others a stop, and then the other way round."""
    commits = Explorer(file).points.commits
    points = [CrashAt(what="commit", n=n, kind="kill") for n in commits[::every]]
    return points + [CrashAt(what="commit", n=n, kind="stop") for n in commits[:: 2 * every]]


def parked(result: RunResult) -> int:
    """Messages of which nobody can tell whether they were accepted."""
    bodies = (event.body for event in result.trace.events)
    return sum(isinstance(body, IntentSettled) and body.state is IntentState.UNKNOWN for body in bodies)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize(("count", "every"), COUNTS)
@pytest.mark.parametrize("script", [(), ROTATED], ids=["plain", "rotated"])
@pytest.mark.parametrize("announce", ["turn", "direct"])
def test_people_see_the_same_wherever_the_gateway_ends(count: int, every: int, script, announce: str) -> None:
    file = many(count, hands=f"{RERUN}, announce: {announce}", script=script)
    tried = crashes(file, every)
    assert len(tried) > 20
    for crash in tried:
        result = run_scenario(file, crash=crash)
        assert result.violations == (), crash
        assert seen(result.trace.events) == asked(count) + announcements(range(1, count + 1)), crash


@pytest.mark.slow(every=2)
@pytest.mark.parametrize(("count", "every"), COUNTS)
def test_a_hand_that_was_lost_is_reported_in_its_thread_too(count: int, every: int) -> None:
    """Without a second run the words are others; the places are not."""
    file = many(count)
    lost = 0
    for crash in crashes(file, every):
        result = run_scenario(file, crash=crash)
        assert result.violations == (), crash
        found = seen(result.trace.events)
        assert Counter(place for place, times in found.items() for _ in range(times) if place[0] == "ops") == asked(
            count
        )
        threads = Counter(place for (place, _), times in found.items() for _ in range(times) if place != "ops")
        assert threads == Counter(f"ops/m{number}.hand1" for number in range(1, count + 1)), crash
        lost += any("died" in text for _, text in found)
    assert lost


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("how", ["archive: true, locked: true", "delete: true"])
@pytest.mark.parametrize(("count", "every"), COUNTS)
def test_a_thread_that_is_gone_brings_nothing_into_the_channel(count: int, every: int, how: str) -> None:
    step = f"{{at: 50s, in: ops/m1.hand1, {how}}}"
    file = many(count, hands=RERUN, script=[step])
    for crash in crashes(file, every):
        result = run_scenario(file, crash=crash)
        assert result.violations == (), crash
        found = seen(result.trace.events)
        word = notices(found)
        assert found == asked(count) + announcements(range(2, count + 1)) + word, crash
        # People are told that it is not there, or that nobody can tell.
        assert word.total() == 1, crash


@pytest.mark.slow(every=2)
@pytest.mark.parametrize(("count", "every"), COUNTS)
def test_an_archived_thread_is_opened_again(count: int, every: int) -> None:
    file = many(count, hands=RERUN, script=["{at: 50s, in: ops/m1.hand1, archive: true}"])
    for crash in crashes(file, every):
        result = run_scenario(file, crash=crash)
        assert result.violations == (), crash
        assert seen(result.trace.events) == asked(count) + announcements(range(1, count + 1)), crash


@pytest.mark.slow(every=2)
@pytest.mark.parametrize(("count", "every"), COUNTS)
def test_what_a_webhook_may_have_said_is_not_said_again(count: int, every: int) -> None:
    """No platform recognises it: nobody can tell, which its thread is told, and nothing is said twice or elsewhere."""
    file = many(count, hands=RERUN, bindings="identity: webhook")
    whole, missing = asked(count) + announcements(range(1, count + 1)), 0
    doubts = Counter({(f"ops/m{number}.hand1", DeliveryConfig().doubt_notice): 1 for number in range(1, count + 1)})
    for crash in crashes(file, every):
        result = run_scenario(file, crash=crash)
        assert result.violations == (), crash
        found = seen(result.trace.events)
        assert found <= whole + doubts and (whole - found).total() <= (found & doubts).total() <= 1, crash
        assert (found & doubts).total() == parked(result), crash
        missing += (whole - found).total()
    assert missing


def test_a_defect_is_found_wherever_the_gateway_ends() -> None:
    file = many(2, hands=RERUN)
    results = [run_scenario(file, crash=crash, bugs=["completion-to-requester-too"]) for crash in crashes(file, 4)]
    assert all(result.violations for result in results)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_hundred_at_some_points(order: int) -> None:
    file = many(100, order=order, hands=RERUN)
    for crash in crashes(file, 150):
        result = run_scenario(file, crash=crash)
        assert result.violations == (), crash
        assert seen(result.trace.events) == asked(100) + announcements(range(1, 101)), crash
