"""The session-binding service in a real gateway: bound, routed, answered, touched, ended, restarted (seed 002)."""

import functools
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support import sending as _sending
from tests.support.bindings import KEY, Binder, Clock, bound_rows, ids, reached
from tests.support.factories import direct, room
from tests.support.sending import Platform, message, texts
from tests.unit.core.runtime.inbound.test_gateway import Echo, Running
from trunkline import Turn
from trunkline.core.bindings.bind_request import BindRequest
from trunkline.core.bindings.records import BindingStatus, ConversationRef, Placement, PlaceState
from trunkline.core.errors import BindingError, IdentityGone, PlaceArchived, PlaceGone, Refused, Unauthorized
from trunkline.core.events.bindings import (
    BindingBound,
    BindingDegraded,
    BindingEnded,
    BindingEnding,
    BindingRefused,
    BindingTouched,
    PlaceReopened,
)
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, TargetResolved
from trunkline.core.events.gateway import (
    InboundAdmitted,
    InboundDropped,
    RouteDecided,
    SessionCreated,
    SessionMoved,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.runtime.bindings.live_bindings import Bound
from trunkline.core.values import Address, Identity, IntentKind

pytestmark = pytest.mark.anyio

HALL = room("500")
OWN_KEY = "main:discord:default:channel:500"
ANA_KEY = "main:discord:default:direct:100"
TWO = [{"id": "main"}, {"id": "ops"}]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_sending, "system_env", clock.env)
    return clock


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Binder]:
    binder = Binder()
    yield binder
    binder.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@asynccontextmanager
async def serving(
    path: Path, *platforms: Platform, agent: Any = None, bind: dict[str, Any] | None = None, **config: Any
) -> AsyncGenerator[Running, None]:
    config = {"agents": TWO, "channels": {"discord": {"thread_bindings": bind or {}}}, **config}
    async with _sending.serving(path, *platforms, agent=agent, **config) as running:
        yield running


def settings(running: Running, **bind: Any) -> Any:
    """The configuration of a gateway with other settings of bindings."""
    config = running.gateway._ctx.config
    return type(config).model_validate({"agents": TWO, "channels": {"discord": {"thread_bindings": bind}}})


async def bind(running: Running, place: Address | ConversationRef = HALL, key: str = KEY, **fields: Any) -> Any:
    fields = {"new_session": True, **fields}
    return await running.gateway.bindings.bind(target_session_key=key, conversation=place, **fields)


async def refused(running: Running, path: Path, **fields: Any) -> tuple[BindingError, BindingRefused]:
    """A bind that is refused, and changes nothing."""
    await running.gateway.bindings.up.wait()
    before = bound_rows(path)
    known = len(running.told(BindingRefused))
    with pytest.raises(BindingError) as caught:
        await bind(running, **fields)
    assert bound_rows(path) == before
    [body] = running.told(BindingRefused)[known:]
    assert (body.reason, body.detail) == (caught.value.reason, caught.value.facts)
    return caught.value, body


async def say(running: Running, platform: Platform, name: str, place: Address = HALL, text: str = "hello") -> None:
    """Somebody says something, and is answered."""
    count = len(running.told(IntentSettled))
    platform.say(name, place, text)
    await running.until(IntentSettled, count + 1)


# ---------------------------------------------------------------- bound, and what follows


async def test_what_is_said_in_a_bound_conversation_belongs_to_its_session(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, label="ops desk", metadata={"ticket": "7"})
        assert (record.status, record.bound_by, record.metadata) == (BindingStatus.ACTIVE, "operator", {"ticket": "7"})
        await say(running, platform, "m1")
        [decided] = running.told(RouteDecided)
        assert (decided.agent, decided.session_key, decided.matched_by) == ("ops", KEY, "binding.session")
        assert decided.reply_to == HALL
        assert await running.transcript(KEY) == [("user", "hello"), ("assistant", "you said hello")]
        assert await running.transcript(OWN_KEY) == []
        assert [one.session_key for one in running.told(SessionCreated)] == [KEY]
    assert [(sent.address, sent.text) for sent in platform.sent] == [(HALL, "you said hello")]
    assert [tuple(row) for row in bound_rows(path)] == [(record.binding_id, KEY, "active", 1000.0)]


async def test_the_events_of_a_bound_message_name_the_binding(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running)
        await say(running, platform, "m1")
        found = {type(event.body) for event in running.log.events if event.binding == record.binding_id}
        assert found == {BindingBound, IntentPrepared, RouteDecided}


async def test_another_conversation_goes_its_default_route(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        await bind(running)
        await say(running, platform, "m1", direct("100"))
        await say(running, platform, "m2", room("501"))
        assert [one.agent for one in running.told(RouteDecided)] == ["main", "main"]
        assert await running.transcript(KEY) == []


async def test_a_send_of_a_client_is_remembered_in_the_bound_session(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        await bind(running)
        outcome = await running.gateway.send(message("channel:500", "news"))
        assert outcome.session_key == KEY
        [resolved] = running.told(TargetResolved)
        assert resolved.session_key == KEY
        assert any(f"bound to the session {KEY}" in step for step in resolved.steps)
        assert await running.transcript(KEY) == [("assistant", "news")]
        assert await running.transcript(OWN_KEY) == []


async def test_what_another_session_says_there_is_remembered_in_the_bound_session(path: Path, platform: Binder) -> None:
    async def act(turn: Turn) -> None:
        await turn.send("over there", HALL)

    async with serving(path, platform, agent=Echo(act)) as running:
        await bind(running)
        platform.say("m1", direct("100"))
        await running.until(IntentSettled)
        assert await running.transcript(KEY) == [("assistant", "over there")]
        assert await running.transcript(ANA_KEY) == [("user", "hello")]


async def test_a_binding_is_found_by_either_name_of_its_conversation(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, ConversationRef(channel="Discord", account_id="", conversation_id="channel:500"))
        assert record.conversation == HALL
        found = running.gateway.bindings.resolve_by_conversation
        for text in ("500", "channel:500", "discord:channel:500"):
            ref = ConversationRef(channel="discord", account_id="default", conversation_id=text)
            assert found(ref) == found(HALL) == record
        assert found(ConversationRef(channel="discord", account_id="work", conversation_id="500")) is None
        assert found(ConversationRef(channel="", account_id="", conversation_id="")) is None
        assert running.gateway.bindings.list_by_session(f" {KEY} ") == running.gateway.bindings.all() == (record,)


async def test_a_request_and_its_fields_are_the_same(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        one = await running.gateway.bindings.bind(
            BindRequest(target_session_key=KEY, conversation=HALL, ttl=60.0, new_session=True), None
        )
        fields: dict[str, Any] = {"target_session_key": KEY, "target_kind": "session", "ttl": 60.0}
        two = await running.gateway.bindings.bind(conversation=room("501"), **fields)
        assert msgspec.structs.replace(two, binding_id=one.binding_id, conversation=HALL) == one


async def test_a_child_thread_is_opened_and_bound(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, placement="child", request="r1", label="count")
        assert record.conversation == room("500-r1", parent="500")
        assert platform.asked == [("open_child", HALL, "r1")]
        again = await bind(running, placement="child", request="r1")
        assert again == record
        assert len(platform.asked) == 1
        await say(running, platform, "m1", record.conversation)
        await say(running, platform, "m2")
        assert [one.session_key for one in running.told(RouteDecided)] == [KEY, OWN_KEY]


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"ttl": -1.0}, Reason.BAD_TTL),
        ({"ttl": 0.0}, Reason.BAD_TTL),
        ({"ttl": float("nan")}, Reason.BAD_TTL),
        ({"idle_timeout": float("inf")}, Reason.BAD_TTL),
        ({"new_session": False}, Reason.UNKNOWN_SESSION),
        ({"key": "no key"}, Reason.BAD_SESSION_KEY),
        ({"key": "nobody:main"}, Reason.UNKNOWN_SESSION),
        ({"key": ""}, Reason.UNKNOWN_SESSION),
        ({"place": None}, Reason.BAD_TARGET),
        ({"place": room(" ")}, Reason.BAD_TARGET),
        ({"target_kind": "acp"}, Reason.UNSUPPORTED),
        ({"placement": "below"}, Reason.BINDING_CAPABILITY_UNSUPPORTED),
        ({"place": room("500", channel="slack")}, Reason.BINDING_ADAPTER_UNAVAILABLE),
        ({"place": room("500", account="work")}, Reason.BINDING_ADAPTER_UNAVAILABLE),
        ({"place": room("500", channel="telegram")}, Reason.BINDING_ADAPTER_UNAVAILABLE),
        ({"place": direct("100"), "placement": "child"}, Reason.BINDING_CAPABILITY_UNSUPPORTED),
    ],
)
async def test_a_bad_request_changes_nothing(path: Path, platform: Binder, fields: Any, reason: Reason) -> None:
    # The adapter of Telegram is one that knows nothing of bindings.
    plain = Platform("telegram")
    async with serving(path, platform, plain) as running:
        error, body = await refused(running, path, **fields)
        assert (error.reason, body.verb, body.by) == (reason, "bind", "operator")
        assert running.gateway.bindings.all() == ()
        assert running.told(SessionCreated) == []
    plain.close()
    assert [what for what, _, _ in platform.asked if what != "inspect"] == []


async def test_a_conversation_of_somebody_else_stays_theirs(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, by="discord:7")
        error, body = await refused(running, path, key="main:main", by="discord:8")
        assert (error.reason, body.by) == (Reason.BOUND_BY_ANOTHER, "discord:8")
        assert "discord:default/500 is bound to" in error.facts
        assert running.gateway.bindings.resolve_by_conversation(HALL) == record


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Refused("missing access"), "discord:default/500: missing access"),
        (Unauthorized("401"), "discord:default/500: 401"),
        (PlaceGone("unknown channel"), "discord:default/500: unknown channel"),
        (ZeroDivisionError("oops"), "discord:default/500: ZeroDivisionError: oops"),
        (PlaceState.GONE, "discord:default/500 is not there"),
    ],
)
async def test_an_adapter_that_fails_leaves_nothing_behind(
    path: Path, platform: Binder, answer: Any, words: str
) -> None:
    platform.state = answer
    async with serving(path, platform) as running:
        error, _ = await refused(running, path)
        assert error.reason is Reason.BINDING_CREATE_FAILED
        assert error.facts.startswith(words)
        assert error.placement == "current"
        # The next try finds everything as it was.
        platform.state = PlaceState.OPEN
        assert (await bind(running)).status is BindingStatus.ACTIVE


async def test_an_adapter_that_does_not_answer_in_time_leaves_nothing_behind(path: Path, platform: Binder) -> None:
    platform.answering = anyio.Event()
    async with serving(path, platform, delivery={"request_timeout": 0.01}) as running:
        error, _ = await refused(running, path, placement="child")
        assert error.facts == "discord:default/500: no answer within 0.01 s: try again"


@pytest.mark.parametrize("child", [Refused("no"), HALL, room("7", channel="slack"), room("7", account="work")])
async def test_a_thread_that_is_none_is_not_bound(path: Path, platform: Binder, child: Any) -> None:
    platform.child = child
    async with serving(path, platform) as running:
        error, _ = await refused(running, path, placement="child")
        assert (error.reason, error.placement) == (Reason.BINDING_CREATE_FAILED, "child")
        assert "discord:default/500" in error.facts


async def test_an_archived_conversation_is_unarchived_where_that_is_allowed(path: Path, platform: Binder) -> None:
    platform.state = PlaceState.ARCHIVED
    async with serving(path, platform) as running:
        await bind(running)
        assert [one for one, _, _ in platform.asked] == ["inspect", "reopen"]
        assert [one.address for one in running.told(PlaceReopened)] == [HALL]
        running.gateway.reload(settings(running, unarchive=False))
        error, _ = await refused(running, path, place=room("501"))
        assert (error.reason, len(platform.asked)) == (Reason.THREAD_ARCHIVED, 3)


async def test_a_webhook_that_cannot_be_had_leaves_it_to_the_bot_visibly(path: Path, platform: Binder) -> None:
    platform.speaker = Refused("missing permission")
    async with serving(path, platform, bind={"identity": "webhook"}) as running:
        record = await bind(running)
        assert (record.identity, record.degraded) == (None, Reason.IDENTITY_GONE)
        assert len(running.told(BindingDegraded)) == 1
        await say(running, platform, "m1")
        assert platform.sent[0].identity is None
        # Bound again: there is one now.
        platform.speaker = Identity(id="w1", name="clerk")
        again = await bind(running)
        assert (again.identity, again.degraded) == (platform.speaker, None)
        await say(running, platform, "m2")
        assert platform.sent[1].identity == platform.speaker


async def test_a_webhook_that_cannot_be_had_is_a_refusal_where_the_bot_may_not_speak(
    path: Path, platform: Binder
) -> None:
    platform.speaker = IdentityGone("missing permission")
    async with serving(path, platform, bind={"identity": "webhook", "identity_fallback": "none"}) as running:
        error, _ = await refused(running, path)
        assert error.reason is Reason.IDENTITY_GONE
        assert "missing permission" in error.facts


@pytest.mark.parametrize("selector", [{}, {"binding_id": ""}, {"binding_id": " ", "target_session_key": "  "}])
async def test_unbinding_without_a_selector_changes_nothing(path: Path, platform: Binder, selector: Any) -> None:
    async with serving(path, platform) as running:
        await bind(running)
        with pytest.raises(BindingError) as caught:
            await running.gateway.bindings.unbind(**selector)
        assert caught.value.reason is Reason.BINDING_SELECTOR_MISSING
        [body] = running.told(BindingRefused)
        assert (body.verb, body.reason) == ("unbind", Reason.BINDING_SELECTOR_MISSING)
        assert len(running.gateway.bindings.all()) == 1


# ---------------------------------------------------------------- bound once more


async def test_two_who_bind_a_place_at_once_are_one_after_the_other(path: Path, platform: Binder) -> None:
    platform.answering = anyio.Event()
    async with serving(path, platform) as running:
        async with anyio.create_task_group() as group:
            for key in (KEY, "ops:main", "main:main"):
                group.start_soon(functools.partial(bind, running, key=key))
            await platform.called.wait()
            await anyio.wait_all_tasks_blocked()
            # One asks the platform, the others wait for it.
            assert len(platform.asked) == 1
            platform.answering.set()
        [first, second, third] = running.told(BindingBound)
        assert [one.session_key for one in (first, second, third)] == [KEY, "ops:main", "main:main"]
        ended = running.told(BindingEnded)
        assert [(one.session_key, one.reason) for one in ended] == [(KEY, Reason.REBOUND), ("ops:main", Reason.REBOUND)]
        [record] = running.gateway.bindings.all()
        assert record.target_session_key == "main:main"
    assert [row[2] for row in bound_rows(path)] == ["ended", "ended", "active"]


async def test_the_same_twice_at_once_is_one_binding(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(bind, running)
        assert len(running.told(BindingBound)) == 1
    assert len(bound_rows(path)) == 1


async def test_a_request_that_is_repeated_at_once_binds_once(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        async with anyio.create_task_group() as group:
            for place in (HALL, room("501")):
                group.start_soon(functools.partial(bind, running, place, request="r1"))
        assert len(running.told(BindingBound)) == 1
        [record] = running.gateway.bindings.all()
        await running.gateway.bindings.unbind(binding_id=record.binding_id)
        # What a request made is not made again, also when it has ended.
        assert (await bind(running, request="r1")).status is BindingStatus.ENDED
        assert running.gateway.bindings.all() == ()


# ---------------------------------------------------------------- unbound


async def test_after_the_end_the_conversation_goes_its_default_route(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running)
        [after] = await running.gateway.bindings.unbind(conversation=HALL, by="discord:7")
        assert (after.status, after.reason, after.ended_at) == (BindingStatus.ENDED, Reason.UNBOUND, 1000.0)
        [body] = running.told(BindingEnded)
        assert (body.by, body.reason, body.session_key) == ("discord:7", Reason.UNBOUND, KEY)
        await say(running, platform, "m1")
        assert running.told(RouteDecided)[0].session_key == OWN_KEY
        assert await running.gateway.bindings.unbind(binding_id=record.binding_id) == ()


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
        assert [one.under_way for one in running.told(BindingEnding)] == [1]
        assert running.gateway.bindings.resolve_by_conversation(HALL) is None
        assert running.gateway.bindings.list_by_session(KEY) == (ending,)
        # What comes meanwhile goes the default route.
        await say(running, platform, "m2", text="else")
        assert running.told(RouteDecided)[1].session_key == OWN_KEY
        assert running.told(BindingEnded) == []
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
    async with serving(path, platform) as running:
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
        assert running.told(RouteDecided)[1].session_key == OWN_KEY
        assert running.told(BindingEnded) == []


async def test_what_is_over_does_not_come_back_by_a_touch(path: Path, platform: Binder, clock: Clock) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "m0", direct("100"))
        record = await bind(running, idle_timeout=60.0)
        await anyio.wait_all_tasks_blocked()
        clock += 60.0
        running.gateway.bindings.touch(record.binding_id)
        # The next write is after that of the touch.
        await bind(running, room("501"))
        assert running.told(BindingTouched) == []
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
        await reached(lambda: len(platform.asked) > 2 or bool(running.told(BindingEnded)))
        assert [one.reason for one in running.told(BindingEnded)] == ([Reason.THREAD_GONE] if ends else [])


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
        assert [one.by for one in running.told(BindingTouched)] == ["inbound"]
        clock += 10.0
        await running.gateway.send(message("channel:500"))
        assert ends() == 1080.0
        touched = running.told(BindingTouched)
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
        assert len(running.told(BindingTouched)) == 3
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
        assert [one.session_key for one in running.told(RouteDecided)] == [KEY, "main:discord:default:channel:501"]


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
        assert running.told(BindingEnded) == []


async def test_a_binding_that_was_ending_with_nothing_under_way_has_ended(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running)
        bound: Bound = running.gateway._ctx.bound
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
        assert running.told(RouteDecided)[0].session_key == OWN_KEY
        [body] = running.told(BindingRefused)
        assert (body.verb, body.reason) == ("load", Reason.BAD_SESSION_KEY)
        assert running.gateway.bindings.all() == (kept,)


async def test_a_bound_session_that_gets_another_key_stays_bound(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "m1", direct("100"))
        await bind(running, key=ANA_KEY, new_session=False)
        ctx = running.gateway._ctx
        running.gateway.reload(ctx.config.model_copy(update={"session": _scoped()}))
        await say(running, platform, "m2", direct("100"))
        [moved] = running.told(SessionMoved)
        await say(running, platform, "m3")
        new = running.told(RouteDecided)[1].session_key
        assert new != ANA_KEY
        assert moved.session_key == new
        assert [one.session_key for one in running.told(InboundAdmitted)] == [ANA_KEY, new, new]
        assert len(running.told(SessionCreated)) == 1
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
        assert running.told(RouteDecided)[0].session_key == KEY


# ---------------------------------------------------------------- farewell


async def test_farewell_is_said_by_the_bot_where_a_binding_has_expired(
    path: Path, platform: Binder, clock: Clock
) -> None:
    platform.speaker = Identity(id="w1", name="clerk")
    async with serving(path, platform, bind={"farewell": "Bye.", "identity": "webhook"}) as running:
        record = await bind(running, ttl=0.02)
        clock += 0.02
        await running.until(IntentSettled)
        [prepared] = running.told(IntentPrepared)
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
        bound: Bound = running.gateway._ctx.bound
        record = await bind(running, idle_timeout=0.02)
        bound.hold(record.binding_id)
        clock += 0.02
        await running.until(BindingEnding)
        await bind(running, key="ops:main")
        bound.release(record.binding_id)
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
