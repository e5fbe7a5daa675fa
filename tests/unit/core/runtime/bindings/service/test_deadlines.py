"""Deadlines, restarts and changes of the configuration."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.binding_service import ANA_KEY, HALL, OWN_KEY, bind, refused, say, serving, settings
from tests.support.bindings import KEY, Binder, Clock, bound_rows, ids, reached
from tests.support.factories import direct, room
from tests.support.sending import message, texts
from tests.support.small_gateway import Echo
from trunkline import Turn
from trunkline.core.errors import BindingError, PlaceArchived, PlaceGone, Refused
from trunkline.core.events.bindings import BindingEnded, BindingRefused, BindingTouched
from trunkline.core.events.gateway import (
    InboundAdmitted,
    InboundDropped,
    RouteDecided,
    SessionCreated,
    SessionMoved,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import PlaceState
from trunkline.core.runtime.live_bindings import LiveBindings

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- deadlines


async def test_an_idle_binding_routes_nothing_at_its_deadline_though_it_was_not_swept(
    path: Path, platform: Binder, clock: Clock
) -> None:
    async with serving(path, platform) as running:
        # From now on it is swept, and the sweep waits for the deadline as it is now.
        await say(running, platform, "m0", direct("100"))
        await bind(running, idle_timeout=60.0)
        await anyio.wait_all_tasks_blocked()
        clock += 59.9
        found = running.gateway.bindings.resolve_by_conversation
        assert found(HALL) is not None
        clock += 0.1
        assert found(HALL) is None
        await say(running, platform, "m1")
        assert running.recorded(RouteDecided)[1].session_key == OWN_KEY
        assert running.recorded(BindingEnded) == []


async def test_what_is_over_does_not_come_back_by_a_touch(path: Path, platform: Binder, clock: Clock) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "m0", direct("100"))
        record = await bind(running, idle_timeout=60.0)
        await anyio.wait_all_tasks_blocked()
        clock += 60.0
        running.gateway.bindings.touch(record.binding_id)
        # The next write is after that of the touch.
        await bind(running, room("501"))
        assert running.recorded(BindingTouched) == []
        assert running.gateway.bindings.resolve_by_conversation(HALL) is None


@pytest.mark.parametrize(
    ("fields", "reason"), [({"idle_timeout": 0.02}, Reason.IDLE_EXPIRED), ({"ttl": 0.02}, Reason.MAX_AGE_EXPIRED)]
)
async def test_a_deadline_is_swept(path: Path, platform: Binder, clock: Clock, fields: Any, reason: Reason) -> None:
    async with serving(path, platform) as running:
        await bind(running, **fields)
        clock += 0.02
        [ended] = await running.until(BindingEnded)
        assert (ended.reason, ended.by) == (reason, None)
        await reached(lambda: running.gateway.bindings.all() == ())
    assert bound_rows(path)[0][2] == "ended"


async def test_a_platform_that_does_not_answer_holds_up_no_deadline(path: Path, platform: Binder, clock: Clock) -> None:
    async with serving(path, platform, bind={"sweep": 0.001}) as running:
        await bind(running, room("501"))
        platform.asked.clear()
        platform.answering = anyio.Event()
        await reached(lambda: bool(platform.asked))
        await bind(running, direct("100"), idle_timeout=0.02)
        clock += 0.02
        [ended] = await running.until(BindingEnded)
        assert ended.reason is Reason.IDLE_EXPIRED


@pytest.mark.parametrize(
    ("state", "ends"),
    [(PlaceState.GONE, True), (PlaceGone("deleted"), True), (PlaceArchived("resting"), False), (Refused("?"), False)],
)
async def test_a_conversation_that_is_deleted_ends_its_binding(
    path: Path, platform: Binder, state: Any, ends: bool
) -> None:
    async with serving(path, platform, bind={"sweep": 0.001}) as running:
        await bind(running)
        platform.state = state
        platform.asked.clear()
        await reached(lambda: len(platform.asked) > 2 or bool(running.recorded(BindingEnded)))
        assert [one.reason for one in running.recorded(BindingEnded)] == ([Reason.THREAD_GONE] if ends else [])


async def test_what_is_said_in_either_direction_moves_the_idle_deadline(
    path: Path, platform: Binder, clock: Clock
) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, idle_timeout=60.0)

        def ends() -> float | None:
            found = running.gateway.bindings.resolve_by_conversation(HALL)
            return None if found is None else found.expires_at

        clock += 10.0
        await say(running, platform, "m1")
        assert ends() == 1070.0
        assert [one.by for one in running.recorded(BindingTouched)] == ["inbound"]
        clock += 10.0
        await running.gateway.send(message("channel:500"))
        assert ends() == 1080.0
        touched = running.recorded(BindingTouched)
        assert [(one.by, one.expires_at) for one in touched] == [("inbound", 1070.0), ("outbound", 1080.0)]
        clock += 10.0
        # Neither of these is something that was said there.
        await say(running, platform, "m2", room("501"))
        platform.say("m1", HALL)
        await running.until(InboundDropped)
        assert ends() == 1080.0
        for at in (None, 1005.0, 1e300):
            running.gateway.bindings.touch(record.binding_id, at)
        running.gateway.bindings.touch("nobody")
        await reached(lambda: ends() == 1090.0)
        assert len(running.recorded(BindingTouched)) == 3
    assert bound_rows(path)[0][3] == 1030.0


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -float("inf")])
async def test_a_touch_at_no_time_changes_nothing(path: Path, platform: Binder, at: float) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, idle_timeout=60.0)
        with pytest.raises(BindingError) as caught:
            running.gateway.bindings.touch(record.binding_id, at)
        assert caught.value.reason is Reason.BAD_TTL
    async with serving(path, platform) as running:
        assert ids(running.gateway.bindings.all()) in ([], [record.binding_id])
        await bind(running, room("501"))
        assert running.gateway.bindings.all()[0] == record


# ---------------------------------------------------------------- the next process


async def test_what_is_active_is_back_and_what_has_ended_is_not(path: Path, platform: Binder, clock: Clock) -> None:
    async with serving(path, platform) as running:
        kept = await bind(running, idle_timeout=0.0)
        over = await bind(running, room("501"))
        await running.gateway.bindings.unbind(binding_id=over.binding_id)
        # Some time while nothing runs.
        await bind(running, room("502"), idle_timeout=60.0)
    clock += 61.0
    async with serving(path, platform) as running:
        [ended] = await running.until(BindingEnded)
        assert (ended.conversation, ended.reason) == (room("502"), Reason.IDLE_EXPIRED)
        await reached(lambda: running.gateway.bindings.all() == (kept,))
        await say(running, platform, "m1")
        await say(running, platform, "m2", room("501"))
        assert [one.session_key for one in running.recorded(RouteDecided)] == [KEY, "main:discord:default:channel:501"]


async def test_a_binding_that_was_ending_ends_when_what_is_left_of_it_is_done(path: Path, platform: Binder) -> None:
    async def never(_: Turn) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    async with serving(path, platform, agent=Echo(never)) as running:
        record = await bind(running)
        platform.say("m1", HALL)
        await running.until(TurnStarted)
        await running.gateway.bindings.unbind(binding_id=record.binding_id)
    assert bound_rows(path)[0][2] == "ending"
    async with serving(path, platform) as running:
        await running.until(BindingEnded)
        # The turn was run again first, in its session.
        assert await running.transcript(KEY) == [("user", "hello"), ("assistant", "you said hello")]
        assert texts(platform) == ["you said hello"]
    async with serving(path, platform) as running:
        await bind(running, room("501"))
        assert running.recorded(BindingEnded) == []


async def test_a_binding_that_was_ending_with_nothing_under_way_has_ended(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running)
        bound: LiveBindings = running.gateway._ctx.bindings
        bound.hold(record.binding_id)
        await running.gateway.bindings.unbind(binding_id=record.binding_id)
    async with serving(path, platform) as running:
        [ended] = await running.until(BindingEnded)
        assert ended.reason is Reason.UNBOUND


async def test_a_key_that_nobody_can_read_stops_no_start(path: Path, platform: Binder) -> None:
    import sqlite3
    from contextlib import closing

    async with serving(path, platform) as running:
        await bind(running)
        kept = await bind(running, room("501"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE bindings SET body = json_set(body, '$.target_session_key', 'what') WHERE n = 1")
        db.commit()
    async with serving(path, platform) as running:
        await say(running, platform, "m1")
        assert running.recorded(RouteDecided)[0].session_key == OWN_KEY
        [body] = running.recorded(BindingRefused)
        assert (body.verb, body.reason) == ("load", Reason.BAD_SESSION_KEY)
        assert running.gateway.bindings.all() == (kept,)


async def test_a_bound_session_that_gets_another_key_stays_bound(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "m1", direct("100"))
        await bind(running, key=ANA_KEY, new_session=False)
        ctx = running.gateway._ctx
        running.gateway.reload(ctx.config.model_copy(update={"session": _scoped()}))
        await say(running, platform, "m2", direct("100"))
        [moved] = running.recorded(SessionMoved)
        await say(running, platform, "m3")
        new = running.recorded(RouteDecided)[1].session_key
        assert new != ANA_KEY
        assert moved.session_key == new
        assert [one.session_key for one in running.recorded(InboundAdmitted)] == [ANA_KEY, new, new]
        assert len(running.recorded(SessionCreated)) == 1
        assert ids(running.gateway.bindings.list_by_session(new)) != []
    assert bound_rows(path)[0][1] == new


def _scoped() -> Any:
    from trunkline.core.config import GatewayConfig

    return GatewayConfig.model_validate({"session": {"dmScope": "per-peer"}}).session


# ---------------------------------------------------------------- another configuration


async def test_a_reload_is_for_what_is_bound_from_now_on(path: Path, platform: Binder) -> None:
    async with serving(path, platform, bind={"idle_timeout": 10.0}) as running:
        one = await bind(running)
        running.gateway.reload(settings(running, idle_timeout=20.0))
        two = await bind(running, room("501"))
        assert (one.idle_timeout, two.idle_timeout) == (10.0, 20.0)
        running.gateway.reload(settings(running, enabled=False))
        error, _ = await refused(running, path, place=room("502"))
        assert error.reason is Reason.BINDING_CAPABILITY_UNSUPPORTED
        await say(running, platform, "m1")
        assert running.recorded(RouteDecided)[0].session_key == KEY
