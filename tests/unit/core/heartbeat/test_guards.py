"""The guards of a run: their order, their reasons, and what is tried again."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.heartbeat.guards import GUARDS, GuardFacts, RunDecision, decide_run
from trunkline.core.heartbeat.visibility import Visibility
from trunkline.core.heartbeat.wake import WakeKind
from trunkline.core.reasons import Reason

NOBODY_SEES = Visibility(show_ok=False, show_alerts=False, use_indicator=False)
#: one fact for each guard that makes it say no, in the order of the guards
REFUSALS: tuple[tuple[dict[str, Any], Reason], ...] = (
    ({"enabled": False}, Reason.DISABLED),
    ({"next_due": 1001.0}, Reason.NOT_DUE),
    ({"active": False}, Reason.QUIET_HOURS),
    ({"session_busy": True}, Reason.REQUESTS_IN_FLIGHT),
    ({"schedule_busy": True}, Reason.CRON_IN_PROGRESS),
    ({"agent_busy": True, "skip_when_busy": True}, Reason.LANES_BUSY),
    ({"tasks_due": 0}, Reason.NO_TASKS_DUE),
    ({"instructions": "# Nothing"}, Reason.EMPTY_HEARTBEAT_FILE),
    ({"visibility": NOBODY_SEES}, Reason.ALERTS_DISABLED),
    ({"undeliverable": Reason.NO_ROUTE}, Reason.NO_ROUTE),
)


def decide(**facts: Any) -> RunDecision:
    return decide_run(GuardFacts(**{"kind": WakeKind.INTERVAL, "now": 1000.0, "every": 60.0, **facts}))


def test_a_run_passes_every_guard() -> None:
    found = decide()
    assert found.runs
    assert found.advances
    assert [one.guard for one in found.guards] == [name for name, _ in GUARDS]
    assert {one.reason for one in found.guards} == {None}


@for_each("at", range(len(REFUSALS)), ids=[reason.value for _, reason in REFUSALS])
def test_the_first_guard_that_says_no_decides(at: int) -> None:
    later = {name: value for facts, _ in REFUSALS[at:] for name, value in facts.items()}
    found = decide(**later)
    assert found.reason is REFUSALS[at][1]
    assert len(found.guards) == at + 1
    assert [one.reason for one in found.guards] == [*[None] * at, found.reason]
    assert not found.runs


def test_an_interval_of_0_is_off() -> None:
    assert decide(every=0.0).reason is Reason.DISABLED
    assert decide(every=0.0, kind=WakeKind.MANUAL).reason is Reason.DISABLED


@pytest.mark.parametrize("fact", ["session_busy", "schedule_busy", "agent_busy"])
def test_a_busy_agent_is_tried_again_after_a_second_and_the_schedule_waits(fact: str) -> None:
    found = decide(skip_when_busy=True, **{fact: True})
    assert (found.retry_at, found.advances) == (1001.0, False)


def test_other_sessions_may_be_busy_unless_the_configuration_says_otherwise() -> None:
    assert decide(agent_busy=True).runs


@for_each("reason", [reason for _, reason in REFUSALS if reason not in (Reason.NOT_DUE,)])
def test_what_is_skipped_waits_for_the_schedule(reason: Reason) -> None:
    facts = next(facts for facts, found in REFUSALS if found is reason)
    found = decide(**facts)
    passing = reason in (Reason.REQUESTS_IN_FLIGHT, Reason.CRON_IN_PROGRESS, Reason.LANES_BUSY)
    assert found.advances is not passing


@pytest.mark.parametrize("kind", [kind for kind in WakeKind if kind.by_event])
def test_what_happened_is_dealt_with_whatever_the_instructions_hold(kind: WakeKind) -> None:
    assert decide(kind=kind, instructions="# Nothing", tasks_due=0).runs
    assert decide(instructions="# Nothing", tasks_due=0, events=1).runs
    assert decide(kind=WakeKind.MANUAL, instructions="# Nothing").reason is Reason.EMPTY_HEARTBEAT_FILE


def test_instructions_with_tasks_are_not_empty_if_none_is_due() -> None:
    assert decide(instructions="", tasks_due=0).reason is Reason.NO_TASKS_DUE


def test_what_happened_does_not_open_quiet_hours() -> None:
    assert decide(kind=WakeKind.CRON, active=False).reason is Reason.QUIET_HOURS


def test_a_missing_recipient_is_reported_after_the_run() -> None:
    assert decide(undeliverable=Reason.NO_TARGET).runs
    assert decide(undeliverable=Reason.TARGET_NONE).runs


def test_a_request_that_comes_too_early_names_its_time() -> None:
    found = decide(kind=WakeKind.WAKE, starts=(990.0,))
    assert (found.reason, found.retry_at, found.advances) == (Reason.MIN_SPACING, 1020.0, False)
    flood = decide(kind=WakeKind.WAKE, starts=(945.0, 950.0, 955.0, 960.0, 965.0))
    assert (flood.reason, flood.retry_at) == (Reason.FLOOD, 1005.0)
    assert decide(kind=WakeKind.MANUAL, starts=(999.0,) * 9, next_due=2000.0).runs
