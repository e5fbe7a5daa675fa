"""Unbinding, and the message posted at the end."""

import functools
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.binding_service import HALL, OWN_KEY, bind, say, serving
from tests.support.bindings import KEY, Binder, Clock, bound_rows, ids
from tests.support.factories import room
from tests.support.sending import texts
from tests.support.small_gateway import Echo
from trunkline import Turn
from trunkline.core.errors import BindingError, Refused
from trunkline.core.events.bindings import BindingEnded, BindingEnding, BindingRefused
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import RouteDecided
from trunkline.core.events.trace import decode_event, encode_event
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.states.binding import BindingStatus
from trunkline.core.store.queries import ListBindings
from trunkline.core.values import Identity, IntentKind

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- unbound


async def test_after_the_end_the_conversation_goes_its_default_route(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running)
        [after] = await running.gateway.bindings.unbind(conversation=HALL, by="discord:7")
        assert (after.status, after.reason, after.ended_at) == (BindingStatus.ENDED, Reason.UNBOUND, 1000.0)
        [body] = running.recorded(BindingEnded)
        assert (body.by, body.reason, body.session_key) == ("discord:7", Reason.UNBOUND, KEY)
        await say(running, platform, "m1")
        assert running.recorded(RouteDecided)[0].session_key == OWN_KEY
        assert await running.gateway.bindings.unbind(binding_id=record.binding_id) == ()


@pytest.mark.parametrize(
    ("reason", "note", "kept"),
    [
        ("moved to the new desk", "", "moved to the new desk"),
        ("moved", "see ticket 7", "moved: see ticket 7"),
        ("unbound", "see ticket 7", "see ticket 7"),
        ("half a pair \ud83d", "", "half a pair ?"),
        ("x" * 5000, "", "x" * 499 + "…"),
    ],
)
@pytest.mark.parametrize("under_way", [False, True])
async def test_a_free_text_is_kept_beside_the_reason(
    path: Path, platform: Binder, reason: str, note: str, kept: str, under_way: bool
) -> None:
    async with serving(path, platform) as running:
        record = await bind(running)
        bound = running.gateway._ctx.bindings
        if under_way:
            bound.hold(record.binding_id)
        await running.gateway.bindings.unbind(conversation=HALL, reason=reason, note=note)
        if under_way:
            bound.release(record.binding_id, None)
        await anyio.wait_all_tasks_blocked()
    async with serving(path, platform) as again:
        await again.gateway.bindings.up.wait()
        [stored] = (await again.gateway._ctx.store.read(ListBindings(ended=True))).rows
        assert (stored.status, stored.reason) == (BindingStatus.ENDED, Reason.UNBOUND)
        assert stored.metadata["end_note"] == kept
    [ended] = [event.body for event in running.log.events if isinstance(event.body, BindingEnded)]
    assert (ended.reason, ended.detail) == (Reason.UNBOUND, kept)
    # The trace can be read.
    assert [decode_event(encode_event(one)) for one in running.log.events] == list(running.log.events)


async def test_a_reason_that_is_no_text_is_refused(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running)
        with pytest.raises(BindingError) as caught:
            await running.gateway.bindings.unbind(conversation=HALL, reason=7)  # pyright: ignore[reportArgumentType]
        assert caught.value.reason is Reason.BAD_END_REASON
        assert [body.reason for body in running.recorded(BindingRefused)] == [Reason.BAD_END_REASON]
        assert running.gateway.bindings.all() == (record,)


async def test_every_selector_counts(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        one, two = await bind(running), await bind(running, room("501"))
        three = await bind(running, room("502"), "ops:main")
        unbind = running.gateway.bindings.unbind
        assert await unbind(target_session_key=KEY, conversation=room("502")) == ()
        assert await unbind(binding_id=one.binding_id, target_session_key="ops:main") == ()
        assert ids(await unbind(target_session_key=f" {KEY} ")) == [one.binding_id, two.binding_id]
        ref = ConversationRef(channel="discord", account_id="default", conversation_id="502")
        assert ids(await unbind(conversation=ref)) == [three.binding_id]


async def test_what_is_under_way_is_finished_before_it_has_ended(path: Path, platform: Binder) -> None:
    begun, go = anyio.Event(), anyio.Event()

    async def act(turn: Turn) -> str:
        if turn.text == "work":
            begun.set()
            await go.wait()
        return f"done: {turn.text}"

    async with serving(path, platform, agent=Echo(act)) as running:
        record = await bind(running)
        platform.say("m1", HALL, "work")
        await begun.wait()
        [ending] = await running.gateway.bindings.unbind(binding_id=record.binding_id)
        assert (ending.status, ending.reason) == (BindingStatus.ENDING, Reason.UNBOUND)
        assert [one.under_way for one in running.recorded(BindingEnding)] == [1]
        assert running.gateway.bindings.resolve_by_conversation(HALL) is None
        assert running.gateway.bindings.list_by_session(KEY) == (ending,)
        # What comes meanwhile goes the default route.
        await say(running, platform, "m2", text="else")
        assert running.recorded(RouteDecided)[1].session_key == OWN_KEY
        assert running.recorded(BindingEnded) == []
        go.set()
        [ended] = await running.until(BindingEnded)
        assert ended.reason is Reason.UNBOUND
        assert await running.transcript(KEY) == [("user", "work"), ("assistant", "done: work")]
        # It ended after its answer was out.
        kinds = [type(event.body) for event in running.log.events]
        assert len(kinds) - kinds[::-1].index(IntentSettled) < len(kinds) - kinds[::-1].index(BindingEnded)
    assert bound_rows(path)[0][2] == "ended"


async def test_a_message_that_is_being_stored_is_under_way(path: Path, platform: Binder) -> None:
    """Its route is decided, and nobody has seen it stored yet: a binding that ends now is ending until its answer."""
    async with serving(path, platform) as running:
        record = await bind(running)
        tasks: list[Any] = []
        async with anyio.create_task_group() as group:

            def unbind(_: Any) -> None:
                tasks.append(1)
                group.start_soon(functools.partial(running.gateway.bindings.unbind, binding_id=record.binding_id))

            running.log.subscribe(unbind, RouteDecided)
            platform.say("m1", HALL)
            await running.until(IntentSettled)
        await running.until(BindingEnded)
        order = [
            type(event.body) for event in running.log.events if isinstance(event.body, (IntentSettled, BindingEnded))
        ]
        assert order == [IntentSettled, BindingEnded]


async def test_an_operator_who_has_an_answer_tried_again_holds_the_binding(path: Path, platform: Binder) -> None:
    async with serving(path, platform, delivery={"failed_notice": ""}) as running:
        record = await bind(running)
        platform.errors = [Refused("no")]
        await say(running, platform, "m1")
        [event] = [event for event in running.log.events if isinstance(event.body, IntentSettled)]
        platform.hold()
        platform.arrived = anyio.Event()
        await running.gateway.queue.retry(event.intent or "")
        await platform.arrived.wait()
        [ending] = await running.gateway.bindings.unbind(binding_id=record.binding_id)
        assert ending.status is BindingStatus.ENDING
        platform.held.set()
        await running.until(BindingEnded)
        assert texts(platform) == ["you said hello"]


# ---------------------------------------------------------------- farewell


async def test_farewell_is_said_by_the_bot_where_a_binding_has_expired(
    path: Path, platform: Binder, clock: Clock
) -> None:
    platform.speaker = Identity(id="w1", name="clerk")
    async with serving(path, platform, bind={"farewell": "Bye.", "identity": "webhook"}) as running:
        record = await bind(running, ttl=0.02)
        clock += 0.02
        await running.until(IntentSettled)
        [prepared] = running.recorded(IntentPrepared)
        assert (prepared.intent_kind, prepared.reason) == (IntentKind.NOTICE, Reason.MAX_AGE_EXPIRED)
        [sent] = platform.sent
        assert (sent.address, sent.text, sent.identity) == (HALL, "Bye.", None)
        assert sent.intent == f"{record.binding_id}.farewell"
        # It has its cause: the end of the binding.
        by_seq = {event.seq: event for event in running.log.events}
        [event] = [event for event in running.log.events if isinstance(event.body, IntentPrepared)]
        assert event.cause is not None
        assert isinstance(by_seq[event.cause].body, BindingEnded)


async def test_no_farewell_for_what_somebody_ended_or_bound_again(path: Path, platform: Binder, clock: Clock) -> None:
    async with serving(path, platform, bind={"farewell": "Bye."}) as running:
        await bind(running)
        await bind(running, key="ops:main")
        await running.gateway.bindings.unbind(conversation=HALL)
        bound: LiveBindings = running.gateway._ctx.bindings
        record = await bind(running, idle_timeout=0.02)
        bound.hold(record.binding_id)
        clock += 0.02
        await running.until(BindingEnding)
        await bind(running, key="ops:main")
        bound.release(record.binding_id, None)
        await running.until(BindingEnded, 3)
        await say(running, platform, "m1")
        assert texts(platform) == ["you said hello"]


async def test_without_a_text_nothing_is_said(path: Path, platform: Binder, clock: Clock) -> None:
    async with serving(path, platform) as running:
        await bind(running, ttl=0.02)
        clock += 0.02
        await running.until(BindingEnded)
        await say(running, platform, "m1")
        assert texts(platform) == ["you said hello"]


async def test_a_child_placement_is_an_enum_too(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, placement=Placement.CHILD, request="r")
        assert record.conversation.parent == "500"
