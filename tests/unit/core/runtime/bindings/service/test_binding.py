"""Binding and unbinding a conversation, and refusals."""

import functools
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.binding_service import ANA_KEY, HALL, OWN_KEY, bind, refused, say, serving, settings
from tests.support.bindings import KEY, Binder, bound_rows
from tests.support.factories import direct, room
from tests.support.sending import Platform, message
from tests.support.small_gateway import Echo
from trunkline import Turn
from trunkline.core.bindings.bind_request import BindRequest
from trunkline.core.errors import BindingError, IdentityGone, PlaceGone, Refused, Unauthorized
from trunkline.core.events.bindings import BindingBound, BindingDegraded, BindingEnded, BindingRefused, PlaceReopened
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, TargetResolved
from trunkline.core.events.gateway import RouteDecided, SessionCreated
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, PlaceState
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Identity

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- bound, and what follows


async def test_what_is_said_in_a_bound_conversation_belongs_to_its_session(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        record = await bind(running, label="ops desk", metadata={"ticket": "7"})
        assert (record.status, record.bound_by, record.metadata) == (BindingStatus.ACTIVE, "operator", {"ticket": "7"})
        await say(running, platform, "m1")
        [decided] = running.recorded(RouteDecided)
        assert (decided.agent, decided.session_key, decided.matched_by) == ("ops", KEY, "binding.session")
        assert decided.reply_to == HALL
        assert await running.transcript(KEY) == [("user", "hello"), ("assistant", "you said hello")]
        assert await running.transcript(OWN_KEY) == []
        assert [one.session_key for one in running.recorded(SessionCreated)] == [KEY]
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
        assert [one.agent for one in running.recorded(RouteDecided)] == ["main", "main"]
        assert await running.transcript(KEY) == []


async def test_a_send_of_a_client_is_remembered_in_the_bound_session(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        await bind(running)
        outcome = await running.gateway.send(message("channel:500", "news"))
        assert outcome.session_key == KEY
        [resolved] = running.recorded(TargetResolved)
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
        assert [one.session_key for one in running.recorded(RouteDecided)] == [KEY, OWN_KEY]


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
        assert running.recorded(SessionCreated) == []
    plain.close()
    assert [what for what, _, _ in platform.asked if what != "inspect"] == []


@pytest.mark.parametrize("owner", ["channel", "account"])
async def test_a_conversation_has_one_owner_among_the_accounts(path: Path, platform: Binder, owner: str) -> None:
    other = Binder()
    other.account = "work"  # pyright: ignore[reportIncompatibleVariableOverride]
    async with serving(path, platform, other, bind={"owner": owner}) as running:
        await bind(running)
        if owner == "account":
            assert (await bind(running, room("500", account="work"))).conversation.account == "work"
        else:
            error, _ = await refused(running, path, place=room("500", account="work"))
            assert error.reason is Reason.BOUND_TO_OTHER_ACCOUNT
            await running.gateway.bindings.unbind(conversation=HALL)
            assert (await bind(running, room("500", account="work"))).conversation.account == "work"
    other.close()


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
        (PlaceState.GONE, "discord:default/500 does not exist"),
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
        assert [one.address for one in running.recorded(PlaceReopened)] == [HALL]
        running.gateway.reload(settings(running, unarchive=False))
        error, _ = await refused(running, path, place=room("501"))
        assert (error.reason, len(platform.asked)) == (Reason.THREAD_ARCHIVED, 3)


async def test_a_webhook_that_cannot_be_had_leaves_it_to_the_bot_visibly(path: Path, platform: Binder) -> None:
    platform.speaker = Refused("missing permission")
    async with serving(path, platform, bind={"identity": "webhook"}) as running:
        record = await bind(running)
        assert (record.identity, record.degraded) == (None, Reason.IDENTITY_GONE)
        assert len(running.recorded(BindingDegraded)) == 1
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
        [body] = running.recorded(BindingRefused)
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
        [first, second, third] = running.recorded(BindingBound)
        assert [one.session_key for one in (first, second, third)] == [KEY, "ops:main", "main:main"]
        ended = running.recorded(BindingEnded)
        assert [(one.session_key, one.reason) for one in ended] == [(KEY, Reason.REBOUND), ("ops:main", Reason.REBOUND)]
        [record] = running.gateway.bindings.all()
        assert record.target_session_key == "main:main"
    assert [row[2] for row in bound_rows(path)] == ["ended", "ended", "active"]


async def test_the_same_twice_at_once_is_one_binding(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(bind, running)
        assert len(running.recorded(BindingBound)) == 1
    assert len(bound_rows(path)) == 1


async def test_a_request_that_is_repeated_at_once_binds_once(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        async with anyio.create_task_group() as group:
            for place in (HALL, room("501")):
                group.start_soon(functools.partial(bind, running, place, request="r1"))
        assert len(running.recorded(BindingBound)) == 1
        [record] = running.gateway.bindings.all()
        await running.gateway.bindings.unbind(binding_id=record.binding_id)
        # What a request made is not made again, also when it has ended.
        assert (await bind(running, request="r1")).status is BindingStatus.ENDED
        assert running.gateway.bindings.all() == ()


# ---------------------------------------------------------------- keys in other spellings

#: the same session, as people and the upstream gateway write its key
SPELLINGS = [
    ("MAIN:main", "main:main"),
    ("agent:main:main", "main:main"),
    (" main:main\n", "main:main"),
    ("Ops:Discord:Default:Channel:500", "ops:discord:default:channel:500"),
    ("agent:ops:discord:channel:500", "ops:discord:default:channel:500"),
    ("ops:discord:default:dm:100", "ops:discord:default:direct:100"),
]


@pytest.mark.parametrize(("spelling", "key"), SPELLINGS)
async def test_a_session_key_is_read_like_that_of_a_send(path: Path, platform: Binder, spelling: str, key: str) -> None:
    async with serving(path, platform) as running:
        sent = await running.gateway.send(message("channel:501", "news", session_key=spelling))
        record = await bind(running, key=spelling)
        assert (sent.session_key, record.target_session_key) == (key, key)
        bindings = running.gateway.bindings
        assert bindings.list_by_session(spelling) == bindings.list_by_session(key) == (record,)
        assert await bind(running, key=key) == record
        await say(running, platform, "m1")
        assert running.recorded(RouteDecided)[-1].session_key == key
        [ended] = await bindings.unbind(target_session_key=spelling)
        assert ended.binding_id == record.binding_id


async def test_what_is_no_key_selects_no_binding(path: Path, platform: Binder) -> None:
    async with serving(path, platform) as running:
        await bind(running)
        assert running.gateway.bindings.list_by_session("no key") == ()
        assert await running.gateway.bindings.unbind(target_session_key="no key") == ()
