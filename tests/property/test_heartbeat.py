"""Heartbeats: what holds for every reply, time and order of requests."""

from datetime import datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.calendar.cron import Timing, next_fire
from trunkline.core.calendar.hours import ActiveHours, is_active
from trunkline.core.calendar.zones import Zones, zone
from trunkline.core.heartbeat.guards import GuardFacts, decide_run
from trunkline.core.heartbeat.reply import ReplyFacts, decide_reply
from trunkline.core.heartbeat.schedule import first_active, next_due, plan_at_start
from trunkline.core.heartbeat.token import TOKEN, TokenMode, strip_heartbeat_token
from trunkline.core.heartbeat.wake import WakeKind, WakeQueue, WakeRequest, finished, request, take_due
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.text.chunking.utf16 import BLANKS

ZONES = st.sampled_from(["UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
#: 2020 to 2035
TIMES = st.floats(min_value=1_577_836_800, max_value=2_051_222_400)
PIECES = st.lists(st.sampled_from([TOKEN, "x", " ", "\n", ".", "*", "_", "<b>", "🦞", "HEARTBEAT", "OK"]), max_size=12)
REPLIES = PIECES.map("".join)


@given(reply=st.one_of(REPLIES, st.text(max_size=40)), profile=st.sampled_from(Profile))
def test_a_reply_without_a_token_is_unchanged_and_never_skipped(reply: str, profile: Profile) -> None:
    found = strip_heartbeat_token(reply, by=profile_rules(profile))
    if TOKEN not in reply:
        assert not found.did_strip
        assert found.text == reply.strip(BLANKS)
        assert found.should_skip is (found.text == "")


@given(reply=REPLIES)
def test_stripping_again_changes_nothing_once_blanks_are_collapsed(reply: str) -> None:
    once = strip_heartbeat_token(" ".join(reply.split()), mode=TokenMode.MESSAGE)
    if once.did_strip and "<" not in reply and not set("*_") & set(reply):
        assert strip_heartbeat_token(once.text, mode=TokenMode.MESSAGE).text == once.text


@given(reply=REPLIES, limit=st.integers(0, 20))
def test_what_a_heartbeat_delivers_is_what_a_message_would_be_or_nothing(reply: str, limit: int) -> None:
    heartbeat = strip_heartbeat_token(reply, ack_max_chars=limit)
    message = strip_heartbeat_token(reply, mode=TokenMode.MESSAGE)
    assert heartbeat.text in ("", message.text)
    assert heartbeat.should_skip is (heartbeat.text == "")


@given(reply=st.one_of(st.none(), REPLIES), kind=st.sampled_from(WakeKind))
def test_a_bare_acknowledgement_is_never_delivered_unless_asked_for(reply: str | None, kind: WakeKind) -> None:
    found = decide_reply(reply, ReplyFacts(kind=kind))
    assert found.text.strip("*_ .\n") != TOKEN
    assert bool(found.says) is found.delivers


# -------------------------------------------------------------------- times


@given(phase=TIMES, every=st.floats(1, 1e7), now=TIMES)
def test_the_next_time_is_ahead_by_at_most_one_interval(phase: float, every: float, now: float) -> None:
    due = next_due(phase, every, now)
    assert due > now
    assert due - every <= max(now, phase) + 1e-3


@given(every=st.floats(1, 1e6), stored_every=st.floats(1, 1e6), stored=TIMES, now=TIMES)
def test_a_restart_never_puts_a_run_off_by_more_than_an_interval(
    every: float, stored_every: float, stored: float, now: float
) -> None:
    next_at = plan_at_start(every, now, stored=stored, stored_every=stored_every)
    assert next_at is not None
    assert next_at <= now + every


FIELD = st.sampled_from(["*", "0", "5", "1-5", "*/2", "1,3"])
EXPRESSIONS = st.tuples(
    FIELD, FIELD, st.sampled_from(["*", "1", "28", "*/10"]), FIELD.filter(lambda x: x != "0"), FIELD
)


@given(expression=EXPRESSIONS.map(" ".join), name=ZONES, after=TIMES)
def test_an_expression_fires_later_and_in_order(expression: str, name: str, after: float) -> None:
    timing, zones = Timing(cron=expression, timezone=name), Zones()
    times = [after]
    for _ in range(3):
        due = next_fire(timing, times[-1], zones, since=0)
        assert due is not None
        times.append(due)
    assert all(later > earlier for earlier, later in pairwise(times))
    # No time in between is left out.
    assert next_fire(timing, (times[1] + times[2]) / 2, zones, since=0) == times[2]
    assert all(datetime.fromtimestamp(due, zone(name)).second == 0 for due in times[1:])


@given(start=st.integers(0, 1439), length=st.integers(1, 1439), name=ZONES, now=TIMES)
def test_hours_and_the_rest_of_the_day_are_all_of_it(start: int, length: int, name: str, now: float) -> None:
    def text(minute: int) -> str:
        return f"{minute % 1440 // 60:02}:{minute % 60:02}"

    first, last = text(start), text(start + length)
    by_day = is_active(ActiveHours(start=first, end=last, timezone=name), now, Zones())
    by_night = is_active(ActiveHours(start=last, end=first, timezone=name), now, Zones())
    assert by_day is not by_night


@given(every=st.integers(1, 200), at=st.integers(0, 5000), start=st.integers(0, 60), length=st.integers(1, 20))
def test_the_first_time_in_the_active_hours_is_the_first(every: int, at: int, start: int, length: int) -> None:
    def active(when: float) -> bool:
        return start <= when // 60 % 60 < start + length

    # The hours repeat after 3,600 s here, so this many times are all cases.
    naive = next((due for due in range(at, at + 3600 * every, every) if active(due)), at)
    assert first_active(at, every, active) == naive


# -------------------------------------------------------------------- requests

REQUESTS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(WakeKind), st.floats(0, 0.5), st.booleans()), max_size=12
)


@given(asked=REQUESTS)
def test_no_agent_that_was_asked_for_is_forgotten(asked: list[tuple[str, WakeKind, float, bool]]) -> None:
    queue, now, running = WakeQueue(), 0.0, ()
    waiting: dict[str, int] = {}
    for agent, kind, wait, ends in asked:
        now += wait
        if ends and queue.running:
            # A pass that took longer found its agents busy.
            busy = running if wait > 0.25 else ()
            queue = finished(queue, now, busy)
            for one in busy:
                waiting[one.agent] = max(one.kind.priority, waiting.get(one.agent, 0))
        queue = request(queue, WakeRequest(agent=agent, kind=kind, at=now))
        waiting[agent] = max(kind.priority, waiting.get(agent, 0))
        queue, started = take_due(queue, now)
        if started:
            running = started
            assert {one.agent: one.kind.priority for one in started} == waiting
            waiting = {}
    assert {agent: one.kind.priority for (agent, _), one in queue.pending.items()} == waiting
    if waiting and not queue.running:
        assert queue.due_at is not None
        assert {one.agent for one in take_due(queue, queue.due_at)[1]} == waiting.keys()


@given(
    kind=st.sampled_from(WakeKind),
    starts=st.lists(st.floats(900, 1000), max_size=8),
    next_due_at=st.one_of(st.none(), st.floats(900, 1100)),
    busy=st.booleans(),
)
def test_a_run_that_waits_is_tried_later_and_then_waits_no_longer(
    kind: WakeKind, starts: list[float], next_due_at: float | None, busy: bool
) -> None:
    facts = GuardFacts(kind=kind, now=1000.0, every=60.0, starts=starts, next_due=next_due_at, session_busy=busy)
    found = decide_run(facts)
    assert found.runs is (found.reason is None)
    if found.retry_at is not None:
        assert found.retry_at > 1000.0
        later = GuardFacts(kind=kind, now=found.retry_at, every=60.0, starts=starts, next_due=next_due_at)
        assert decide_run(later).runs
