"""Requests to wake an agent: which of several counts, when they run, and how many may."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.heartbeat.schedule import first_active, next_due, plan_at_start
from trunkline.core.heartbeat.wake import (
    CoolDown,
    WakeKind,
    WakeQueue,
    WakeRequest,
    cool_down,
    finished,
    request,
    take_due,
)
from trunkline.core.reasons import Reason


def wake(kind: WakeKind, at: float = 0.0, detail: str = "", agent: str = "main") -> WakeRequest:
    return WakeRequest(agent=agent, kind=kind, at=at, detail=detail)


def queued(*requests: WakeRequest) -> WakeQueue:
    queue = WakeQueue()
    for one in requests:
        queue = request(queue, one)
    return queue


def taken(queue: WakeQueue, now: float) -> list[str]:
    return [f"{one.agent} {one.reason}" for one in take_due(queue, now)[1]]


def test_ten_requests_within_250_ms_are_one_run() -> None:
    queue = queued(*(wake(WakeKind.WAKE, at / 100, str(at)) for at in range(10)))
    assert taken(queue, 0.249) == []
    assert taken(queue, 0.25) == ["main wake:9"]


def test_agents_and_sessions_have_runs_of_their_own() -> None:
    queue = queued(wake(WakeKind.WAKE), wake(WakeKind.WAKE, agent="other"))
    queue = request(queue, WakeRequest(agent="main", session="agent:main:x", kind=WakeKind.WAKE, at=0.1))
    assert len(take_due(queue, 1.0)[1]) == 3


@for_each(
    ("first", "second", "counts"),
    [
        (WakeKind.INTERVAL, WakeKind.RETRY, "interval"),
        (WakeKind.RETRY, WakeKind.INTERVAL, "interval"),
        (WakeKind.CRON, WakeKind.INTERVAL, "cron"),
        (WakeKind.INTERVAL, WakeKind.CRON, "cron"),
        (WakeKind.MANUAL, WakeKind.WAKE, "manual"),
        (WakeKind.WAKE, WakeKind.HOOK, "hook"),
        # Equally important: the newer.
        (WakeKind.MANUAL, WakeKind.EXEC_EVENT, "exec-event"),
        (WakeKind.EXEC_EVENT, WakeKind.MANUAL, "manual"),
        (WakeKind.CRON, WakeKind.WAKE, "wake"),
    ],
)
def test_the_more_important_request_counts(first: WakeKind, second: WakeKind, counts: str) -> None:
    assert taken(queued(wake(first, 0.0), wake(second, 0.1)), 1.0) == [f"main {counts}"]


def test_a_request_during_a_pass_is_a_pass_of_its_own() -> None:
    queue, first = take_due(queued(wake(WakeKind.WAKE)), 0.25)
    assert [one.kind for one in first] == [WakeKind.WAKE]
    queue = request(queue, wake(WakeKind.MANUAL, 0.3))
    assert taken(queue, 10.0) == []
    queue = finished(queue, 10.0)
    assert queue.due_at == 10.0
    assert taken(queue, 10.0) == ["main manual"]
    assert finished(WakeQueue(running=True), 1.0) == WakeQueue()


def test_a_busy_agent_is_tried_after_a_second_and_nothing_pulls_that_forward() -> None:
    queue, busy = take_due(queued(wake(WakeKind.CRON, detail="daily")), 1.0)
    queue = finished(queue, 1.0, busy)
    queue = request(queue, wake(WakeKind.MANUAL, 1.1, agent="other"))
    assert taken(queue, 1.99) == []
    assert taken(queue, 2.0) == ["main cron:daily", "other manual"]


def test_a_newer_request_replaces_the_one_that_found_its_agent_busy_only_if_it_is_as_important() -> None:
    for kind, expected in ((WakeKind.INTERVAL, "main wake"), (WakeKind.MANUAL, "main manual")):
        queue, busy = take_due(queued(wake(WakeKind.WAKE)), 0.25)
        queue = finished(request(queue, wake(kind, 0.5)), 1.0, busy)
        assert taken(queue, 2.0) == [expected]


@for_each(
    ("kind", "starts", "expected"),
    [
        (WakeKind.WAKE, (), None),
        (WakeKind.WAKE, (70.0,), None),
        (WakeKind.WAKE, (70.1,), CoolDown(reason=Reason.MIN_SPACING, until=100.1)),
        (WakeKind.CRON, (71.0, 90.0), CoolDown(reason=Reason.MIN_SPACING, until=120.0)),
        # The flood ends when the fifth last start is a minute ago.
        (WakeKind.WAKE, (41.0, 42.0, 43.0, 44.0, 45.0), CoolDown(reason=Reason.FLOOD, until=101.0)),
        (WakeKind.WAKE, (40.0, 42.0, 43.0, 44.0, 45.0), None),
        (WakeKind.WAKE, (41.0, 42.0, 43.0, 44.0, 99.0), CoolDown(reason=Reason.MIN_SPACING, until=129.0)),
        (WakeKind.WAKE, (41.0, 42.0, 98.0, 99.0, 99.5, 99.6), CoolDown(reason=Reason.MIN_SPACING, until=129.6)),
        (WakeKind.MANUAL, (99.0,) * 9, None),
        (WakeKind.INTERVAL, (99.0,) * 9, None),
    ],
)
def test_events_keep_their_distance(kind: WakeKind, starts: tuple[float, ...], expected: CoolDown | None) -> None:
    assert cool_down(kind, 100.0, starts=starts) == expected


def test_the_schedule_waits_for_its_time() -> None:
    early = cool_down(WakeKind.INTERVAL, 99.9, next_due=100.0)
    assert early == CoolDown(reason=Reason.NOT_DUE, until=100.0)
    assert cool_down(WakeKind.INTERVAL, 100.0, next_due=100.0) is None
    assert cool_down(WakeKind.WAKE, 99.9, next_due=100.0) is None


# -------------------------------------------------------------------- schedule


@pytest.mark.parametrize(
    ("phase", "now", "due"),
    [
        (100.0, 100.0, 160.0),
        (100.0, 159.9, 160.0),
        (100.0, 160.0, 220.0),
        (100.0, 1000.0, 1060.0),
        (100.0, 50.0, 100.0),
    ],
)
def test_a_heartbeat_keeps_its_phase(phase: float, now: float, due: float) -> None:
    assert next_due(phase, 60.0, now) == due


@for_each(
    ("stored", "stored_every", "plan"),
    [
        # The first of all: a multiple of the interval.
        (None, None, 1020.0),
        (1030.0, 60.0, 1030.0),
        (1000.0, 60.0, 1000.0),
        # Missed often, and run once.
        (10.0, 60.0, 10.0),
        # Another interval counts from when it was due last.
        (1030.0, 90.0, 1000.0),
        (1030.0, 45.0, 1045.0),
        # The clock was set back by a year.
        (4000.0, 60.0, 1060.0),
        (1030.0, 0.0, 1020.0),
    ],
)
def test_a_restart_neither_repeats_nor_forgets(stored: float | None, stored_every: float | None, plan: float) -> None:
    assert plan_at_start(60.0, 1000.0, stored=stored, stored_every=stored_every) == plan


def test_an_interval_of_0_is_never_due() -> None:
    assert plan_at_start(0.0, 1000.0, stored=10.0, stored_every=60.0) is None


@for_each(
    ("every", "at", "first"),
    [
        # Active from 1000 minutes to 1001 minutes of each day.
        (1.0, 0.0, 60_000.0),
        (7.0, 0.0, 60_004.0),
        (45.0, 0.0, 60_030.0),
        (60.0, 30.0, 60_030.0),
        (1.0, 60_005.0, 60_005.0),
        (1.0, 60_060.0, 60_000.0 + 86_400.0),
        # It comes by at another time of each day.
        (3600.0, 2400.0, 60_000.0),
        # And this one never does.
        (3600.0, 0.0, 0.0),
    ],
)
def test_times_in_quiet_hours_are_left_out_in_few_steps(every: float, at: float, first: float) -> None:
    asked: list[float] = []

    def active(when: float) -> bool:
        asked.append(when)
        return 60_000.0 <= when % 86_400.0 < 60_060.0

    assert first_active(at, every, active) == first
    assert len(asked) <= (20_000 if first == 0.0 else 1600)
