"""Many bound sessions under one requester's channel: each completion once, in its own thread, and never in the channel.

Seed 002 names the defect: with several runs at the same time, completions came in the thread and in the main channel.
"""

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.support.scale import scaled
from tests.support.scenario.bound import APART, FIRST, announcements, asked, many, notices, seen
from trunkline.core.events import Event
from trunkline.core.events.bindings import BindingEnded, FallbackDenied, RouterDecided
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.hands import DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim import RunResult, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import CredentialRotated

COUNTS = scaled((2, 10, 100), (2, 10))
#: in the middle: after every work was asked for and bound, before the first one is done
BETWEEN = "50s"


def bodies(result: RunResult, kind: type) -> list:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def sound(result: RunResult) -> bool:
    return not result.violations and bool(result.trace.events)


def all_of(count: int) -> Counter[tuple[str, str]]:
    return asked(count) + announcements(range(1, count + 1))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("count", COUNTS)
def test_each_completion_is_in_its_own_thread_once(count: int, seed: int) -> None:
    result = run_scenario(many(count, order=seed), seed=seed)
    assert sound(result)
    assert seen(result.trace.events) == all_of(count)
    assert {body.mode for body in bodies(result, RouterDecided)} == {"bound"}


@pytest.mark.parametrize("count", COUNTS)
def test_also_when_results_are_posted_as_they_are(count: int) -> None:
    result = run_scenario(many(count, hands="announce: direct"))
    assert sound(result)
    assert seen(result.trace.events) == all_of(count)


def test_they_are_done_in_another_order_than_they_were_asked_for() -> None:
    def order(events: Iterable[Event]) -> list[str | None]:
        return [event.delegation for event in events if isinstance(event.body, DelegationFinished)]

    first, second = (order(run_scenario(many(10, order=seed)).trace.events) for seed in (1, 2))
    assert first != second
    assert sorted(map(str, first)) == sorted(map(str, second)) == sorted(f"m{n}.hand1" for n in range(1, 11))


@pytest.mark.parametrize("bug", ["completion-to-requester-too", "first-output-to-requester"])
def test_what_is_looked_for_is_found(bug: str) -> None:
    result = run_scenario(many(10), bugs=[bug])
    assert result.violations
    assert seen(result.trace.events) != all_of(10)


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize("identity", ["bot", "webhook"])
@pytest.mark.parametrize("count", COUNTS)
def test_a_token_that_changes_between_binding_and_sending_changes_nothing_else(count: int, identity: str) -> None:
    step = f"{{at: {BETWEEN}, rotate: {{platform: discord}}}}"
    result = run_scenario(many(count, script=[step], bindings=f"identity: {identity}"))
    assert sound(result)
    assert seen(result.trace.events) == all_of(count)
    assert len(bodies(result, CredentialRotated)) == 1
    used = [body.credential for body in bodies(result, WireAccepted)]
    assert used == [1] * count + [2] * count


@pytest.mark.parametrize("identity", ["bot", "webhook"])
def test_what_is_refused_for_an_old_token_is_sent_with_the_new_one(identity: str) -> None:
    """The gateway is given the new token a while after the old one ceased to count."""
    step = f"{{at: {BETWEEN}, rotate: {{platform: discord, tell: 15s}}}}"
    result = run_scenario(many(10, script=[step], bindings=f"identity: {identity}"))
    assert sound(result)
    assert seen(result.trace.events) == all_of(10)


# ---------------------------------------------------------------- threads that take no messages


#: before the work is done, and between its end and the answer
WHEN = ("50s", f"{FIRST + 4 * APART + 2:g}s")


def closed(count: int, when: str, how: str, bindings: str = "") -> RunResult:
    """The thread of the first work is closed."""
    step = f"{{at: {when}, in: ops/m1.hand1, {how}}}"
    return run_scenario(many(count, think="5s", script=[step], bindings=bindings))


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("identity", ["bot", "webhook"])
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("how", ["archive: true, locked: true", "delete: true"])
@pytest.mark.parametrize("count", COUNTS)
def test_what_cannot_be_said_in_its_thread_is_said_nowhere_else(count: int, how: str, when: str, identity: str) -> None:
    result = closed(count, when, how, f"identity: {identity}")
    assert sound(result)
    found = seen(result.trace.events)
    word = notices(found)
    assert found == asked(count) + announcements(range(2, count + 1)) + word
    assert word.total() == 1 and not any("done 1" in text for _, text in word)
    (denied,) = bodies(result, FallbackDenied)
    reason = Reason.PLACE_GONE if "delete" in how else Reason.PLACE_CLOSED
    assert denied.notice and denied.reason is reason
    failed = [body for body in bodies(result, IntentSettled) if body.state is not IntentState.DELIVERED]
    assert [(body.state, body.reason) for body in failed] == [(IntentState.FAILED, reason)]
    assert len(bodies(result, BindingEnded)) == 1


@pytest.mark.parametrize("how", ["archive: true, locked: true", "delete: true"])
def test_without_notices_nothing_is_said_at_all(how: str) -> None:
    result = closed(2, WHEN[1], how, "notice: false")
    assert sound(result)
    assert seen(result.trace.events) == asked(2) + announcements([2])


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("count", COUNTS)
def test_an_archived_thread_is_opened_again(count: int, when: str) -> None:
    result = closed(count, when, "archive: true")
    assert sound(result)
    assert seen(result.trace.events) == all_of(count)


def test_where_it_may_not_be_opened_again_it_is_as_if_it_were_locked() -> None:
    result = closed(2, WHEN[1], "archive: true", "unarchive: false")
    assert sound(result)
    found = seen(result.trace.events)
    assert found == asked(2) + announcements([2]) + notices(found)
    assert notices(found).total() == 1


def test_an_announced_fallback_brings_it_to_the_requester() -> None:
    """The binding has ended before the work is done, and the configuration wants the result all the same."""
    step = f"{{at: {BETWEEN}, unbind: {{in: ops/m1.hand1}}}}"
    denied, allowed = (
        run_scenario(many(10, script=[step], bindings=f"fallback: {fallback}")) for fallback in ("none", "requester")
    )
    assert sound(denied) and sound(allowed)
    assert seen(allowed.trace.events) == asked(10) + announcements(range(2, 11)) + Counter({("ops", "done 1"): 1})
    word = notices(seen(denied.trace.events))
    assert seen(denied.trace.events) == asked(10) + announcements(range(2, 11)) + word
    assert word.total() == 1


def test_a_notice_is_marked_as_one() -> None:
    result = closed(2, WHEN[1], "delete: true")
    kinds = [body.intent_kind for body in bodies(result, IntentPrepared)]
    assert kinds.count(IntentKind.NOTICE) == 1
