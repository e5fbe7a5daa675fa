"""Sends of clients through a real gateway: one key is one send, remembered in its place."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.factories import direct, group, room
from tests.support.sending import Platform, WithDirectory, made, message, places, serving, stored, texts
from tests.unit.core.runtime.inbound.test_gateway import Echo, Running
from trunkline import (
    Address,
    Capabilities,
    Decisions,
    Idempotency,
    Receipt,
    Resolved,
    SendFailed,
    SendMessage,
    SendOutcome,
    SendRequest,
)
from trunkline.core.errors import (
    Ambiguous,
    AmbiguousTarget,
    InvalidSend,
    PlaceGone,
    RateLimited,
    TargetError,
    UnknownName,
    UsageError,
)
from trunkline.core.events.delivery import (
    IntentPrepared,
    IntentSettled,
    SendJoined,
    SendRefused,
    SendRequested,
    TargetResolved,
)
from trunkline.core.events.gateway import InboundAdmitted, SessionCreated, StoreFailed, TurnEnded
from trunkline.core.reasons import Reason
from trunkline.core.sends.api import SendPlan, plan_send
from trunkline.core.sessions.session_map import entry_for
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

ANA = direct("100")
HALL = room("500")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


@pytest.fixture
def telegram(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform("telegram")
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- the session of the conversation


async def test_a_send_is_delivered_and_kept_in_the_session_of_the_place(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message())
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "hi")]
        [created] = running.told(SessionCreated)
    assert outcome == SendOutcome(
        key="k",
        message_id="1",
        channel="discord",
        conversation="100",
        session_key="main:discord:default:direct:100",
        cached=False,
    )
    assert created.entry == entry_for(ANA)
    assert [(request.address, request.text) for request in platform.sent] == [(ANA, "hi")]


async def test_what_was_decided_is_told_in_order(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        events = list(running.log.events)
    [asked] = [event for event in events if isinstance(event.body, SendRequested)]
    [resolved] = [event for event in events if isinstance(event.body, TargetResolved)]
    [prepared] = [event for event in events if isinstance(event.body, IntentPrepared)]
    [created] = [event for event in events if isinstance(event.body, SessionCreated)]
    assert (resolved.cause, prepared.cause, created.cause) == (asked.seq, resolved.seq, resolved.seq)
    assert [body.reason for body in running.told(IntentPrepared)] == [Reason.CLIENT_SEND]


PLACES = [
    pytest.param("discord", "user:100", None, direct("100"), id="discord direct"),
    pytest.param("discord", "channel:500", None, room("500"), id="discord channel"),
    pytest.param("discord", "channel:500", "777", room("777", parent="500"), id="discord thread"),
    pytest.param("discord", "channel:777", None, room("777", parent="500"), id="discord thread by itself"),
    pytest.param("telegram", "-1007", "7", group("-1007", thread="7"), id="telegram topic"),
    pytest.param("telegram", "42", None, direct("42", channel="telegram"), id="telegram direct"),
    pytest.param("slack", "channel:C1", "171.2", room("C1", channel="slack", thread="171.2"), id="slack thread"),
    pytest.param("slack", "user:U1", None, direct("U1", channel="slack"), id="slack direct"),
]


@pytest.mark.parametrize(("channel", "target", "thread", "place"), PLACES)
async def test_a_message_from_there_finds_the_session_that_a_send_made(
    path: Path, anyio_backend: str, channel: str, target: str, thread: str | None, place: Address
) -> None:
    platform = Platform(channel)
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message(target, thread=thread))
        platform.say("m1", place, "hello")
        [admitted] = await running.until(InboundAdmitted)
        [created] = running.told(SessionCreated)
        assert (admitted.session_id, admitted.session_key) == (created.session_id, created.session_key)
        assert outcome.session_key == admitted.session_key
        assert created.entry == entry_for(place)
        await running.until(IntentSettled, 2)
    platform.close()


@pytest.mark.parametrize(("channel", "target", "thread", "place"), PLACES)
async def test_a_send_finds_the_session_that_a_message_from_there_made(
    path: Path, anyio_backend: str, channel: str, target: str, thread: str | None, place: Address
) -> None:
    platform = Platform(channel)
    async with serving(path, platform) as running:
        platform.say("m1", place, "hello")
        await running.until(IntentSettled)
        outcome = await running.gateway.send(message(target, thread=thread))
        [created] = running.told(SessionCreated)
        assert outcome.session_key == created.session_key
        assert [text for _, text in await running.transcript(created.session_key)][-1] == "hi"
    assert platform.sent[-1].address.lane == place.lane
    platform.close()


async def test_an_exact_place_needs_no_words_and_no_directory(path: Path, anyio_backend: str) -> None:
    platform = WithDirectory(Resolved(target="channel:999"))
    place = room("777", parent="500")
    async with serving(path, platform) as running:
        await running.gateway.send(message(place))
    assert (places(platform), platform.asked) == ([place], [])
    platform.close()


async def test_the_default_agent_sends_unless_another_is_named(path: Path, platform: Platform) -> None:
    agents = [{"id": "main"}, {"id": "ops"}]
    async with serving(path, platform, agents=agents) as running:
        assert (await running.gateway.send(message())).session_key == "main:discord:default:direct:100"
        ops = await running.gateway.send(message(key="k2", agent="ops"))
        assert ops.session_key == "ops:discord:default:direct:100"
        assert [created.agent for created in running.told(SessionCreated)] == ["main", "ops"]


# ---------------------------------------------------------------- a named session


@pytest.mark.parametrize("key", ["main:discord:work:channel:500", " Agent:Main:Discord:Channel:500 "])
async def test_a_named_session_remembers_it_and_no_other(path: Path, anyio_backend: str, key: str) -> None:
    platform = Platform(account="work")
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message(session_key=key))
        assert outcome.session_key == "main:discord:work:channel:500"
        assert await running.transcript("main:discord:work:channel:500") == [("assistant", "hi")]
        assert await running.transcript("main:discord:work:direct:100") == []
        [created] = running.told(SessionCreated)
        # It is another conversation's session: nothing of the target belongs in it.
        assert (created.address, created.entry) == (None, None)
    assert places(platform) == [direct("100", account="work")]
    platform.close()


async def test_a_named_session_is_its_own_agents(path: Path, platform: Platform) -> None:
    async with serving(path, platform, agents=[{"id": "main"}, {"id": "ops"}]) as running:
        await running.gateway.send(message(session_key="ops:main"))
        [created] = running.told(SessionCreated)
        assert (created.agent, created.session_key) == ("ops", "ops:main")


async def test_the_plan_is_a_decision_that_can_be_replaced(path: Path, platform: Platform) -> None:
    def loud(asked: SendMessage, **decided: Any) -> SendPlan:
        return plan_send(msgspec.structs.replace(asked, text=asked.text.upper()), **decided)

    async with serving(path, platform, decisions=Decisions(plan_send=loud)) as running:
        await running.gateway.send(message())
    assert texts(platform) == ["HI"]


# ---------------------------------------------------------------- one key is one send


async def both(running: Running, *messages: SendMessage) -> list[SendOutcome | Exception]:
    """Several calls in the same tick."""
    calls = [running.gateway.send(one) for one in messages]
    return await asyncio.gather(*calls, return_exceptions=True)  # pyright: ignore[reportReturnType]


async def test_two_calls_in_one_tick_are_one_message(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        outcomes = await both(running, message(), message(text="other"), message())
        joined = running.told(SendJoined)
    assert [outcome.cached for outcome in outcomes if isinstance(outcome, SendOutcome)] == [False, True, True]
    assert texts(platform) == ["hi"]
    assert [(body.key, body.ended) for body in joined] == [("k", False), ("k", False)]


async def test_different_keys_are_different_messages(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await both(running, message(key="k"), message(key="k+2"), message(key="K"))
    assert texts(platform) == ["hi", "hi", "hi"]


async def test_after_its_delivery_a_key_gives_the_same_result_and_sends_nothing(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        first = await running.gateway.send(message())
        again = await running.gateway.send(message("user:200", "other"))
        [joined] = running.told(SendJoined)
    assert (again.cached, again.message_id, again.conversation) == (True, first.message_id, "100")
    assert (texts(platform), joined.ended) == (["hi"], True)


async def test_after_a_restart_a_key_gives_the_same_result(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        first = await running.gateway.send(message())
    async with serving(path, platform) as running:
        again = await running.gateway.send(message())
    assert (again.message_id, again.session_key, again.cached) == (first.message_id, first.session_key, True)
    assert texts(platform) == ["hi"]


async def test_after_a_refusal_of_the_platform_the_key_may_be_used_again(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform) as running:
        with pytest.raises(SendFailed, match="it ended as failed") as caught:
            await running.gateway.send(message())
        assert (caught.value.cached, caught.value.final) == (False, False)
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message("user:200", "again"))
        assert (outcome.conversation, outcome.cached) == ("200", False)
        assert outcome.session_key == "main:discord:default:direct:200"
        known = await running.gateway.send(message())
        assert (known.conversation, known.session_key) == ("200", outcome.session_key)
    assert [(request.intent, request.text) for request in platform.sent] == [("send:k+2", "again")]


async def test_who_joins_a_failure_is_told_and_tries_nothing(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform) as running:
        outcomes = await both(running, message(), message())
    assert [error.cached for error in outcomes if isinstance(error, SendFailed)] == [False, True]
    assert platform.sent == []


async def test_what_may_have_been_seen_is_not_sent_again_under_its_key(path: Path, platform: Platform) -> None:
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [Ambiguous("the line went dead")]
    async with serving(path, platform) as running:
        with pytest.raises(SendFailed, match="nothing more is sent under this key") as first:
            await running.gateway.send(message())
        with pytest.raises(SendFailed) as again:
            await running.gateway.send(message())
    assert [(error.value.cached, error.value.final) for error in (first, again)] == [(False, True), (True, True)]
    assert platform.sent == []


async def test_a_part_that_was_delivered_is_not_sent_again(path: Path, platform: Platform) -> None:
    class Full(Platform):
        async def send(self, request: SendRequest) -> Receipt:
            if request.chunk == 1:
                raise PlaceGone("deleted meanwhile")
            return await super().send(request)

    full = Full()
    async with serving(path, full, channels={"discord": {"text_limit": 5}}) as running:
        with pytest.raises(SendFailed, match="it ended as partial"):
            await running.gateway.send(message(text="one two"))
        with pytest.raises(SendFailed):
            await running.gateway.send(message(text="one two"))
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "one")]
    assert texts(full) == ["one"]
    full.close()


async def test_a_receipt_of_another_place_is_no_delivery(path: Path, anyio_backend: str) -> None:
    class Elsewhere(Platform):
        async def send(self, request: SendRequest) -> Receipt:
            await super().send(request)
            return Receipt(provider_id="1", address=room("501"))

    platform = Elsewhere()
    async with serving(path, platform) as running:
        with pytest.raises(SendFailed, match="it ended as misplaced") as caught:
            await running.gateway.send(message("channel:500"))
        assert caught.value.final
        assert await running.transcript("main:discord:default:channel:500") == []
        assert await running.transcript("main:discord:default:channel:501") == [("assistant", "hi")]
        created = running.told(SessionCreated)[-1]
        assert created.address == room("501")
    platform.close()


async def test_a_send_that_a_dead_process_left_open_is_joined(path: Path, platform: Platform) -> None:
    platform.hold()
    async with anyio.create_task_group() as tasks, serving(path, platform) as running:
        tasks.start_soon(failing, running, message())
        await platform.arrived.wait()
    platform.held.set()
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message(text="other"))
        [settled] = running.told(IntentSettled)
    assert (outcome.cached, settled.state) == (True, IntentState.DELIVERED)
    assert texts(platform) == ["hi"]


async def failing(running: Running, asked: SendMessage) -> None:
    with pytest.raises(SendFailed, match="ask again with the same key"):
        await running.gateway.send(asked)


# ---------------------------------------------------------------- callers that go away


async def test_who_joined_a_caller_that_goes_away_gets_the_result(path: Path, platform: Platform) -> None:
    platform.hold()
    outcomes: list[SendOutcome] = []

    async def call(running: Running) -> None:
        outcomes.append(await running.gateway.send(message()))

    async with serving(path, platform) as running, anyio.create_task_group() as others:
        async with anyio.create_task_group() as first:
            first.start_soon(call, running)
            await platform.arrived.wait()
            others.start_soon(call, running)
            others.start_soon(call, running)
            await running.until(SendJoined, 2)
            first.cancel_scope.cancel()
        platform.held.set()
    assert [outcome.cached for outcome in outcomes] == [True, True]
    assert texts(platform) == ["hi"]


async def test_who_joined_a_caller_that_goes_away_early_sends_it(path: Path, anyio_backend: str) -> None:
    platform = WithDirectory(None)
    platform.open = anyio.Event()
    outcomes: list[SendOutcome] = []

    async def call(running: Running) -> None:
        outcomes.append(await running.gateway.send(message()))

    async with serving(path, platform) as running, anyio.create_task_group() as others:
        async with anyio.create_task_group() as first:
            first.start_soon(call, running)
            await platform.looking.wait()
            others.start_soon(call, running)
            await running.until(SendJoined)
            first.cancel_scope.cancel()
        platform.open.set()
    assert [outcome.cached for outcome in outcomes] == [False]
    assert texts(platform) == ["hi"]
    platform.close()


async def test_a_call_that_is_cancelled_while_it_is_stored_leaves_one_message(path: Path, platform: Platform) -> None:
    """The write goes on without its caller: the next call must find it, though it reads before it is there."""
    async with serving(path, platform) as running:
        store, begun = running.store, anyio.Event()
        begin_send = store.begin_send

        async def begin(*args: Any, **kwargs: Any) -> Any:
            begun.set()
            return await begin_send(*args, **kwargs)

        store.begin_send = begin
        async with anyio.create_task_group() as first:
            first.start_soon(running.gateway.send, message())
            await begun.wait()
            first.cancel_scope.cancel()
        find_send, reads = store.find_send, list[str]()

        async def find(key: str) -> Any:
            reads.append(key)
            return None if len(reads) == 1 else await find_send(key)

        store.find_send = find
        outcome = await running.gateway.send(message("user:200", "other"))
        prepared = running.told(IntentPrepared)
    assert (texts(platform), len(prepared)) == (["hi"], 1)
    assert (outcome.conversation, outcome.session_key) == ("100", "main:discord:default:direct:100")
    assert outcome.cached


async def test_who_joined_one_that_is_refused_does_its_own(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        outcomes = await both(running, message("@nobody"), message(), message(text=""))
        assert [body.reason for body in running.told(SendRefused)] == [Reason.BAD_TARGET]
    assert isinstance(outcomes[0], TargetError)
    assert [outcome.cached for outcome in outcomes if isinstance(outcome, SendOutcome)] == [False, True]
    assert texts(platform) == ["hi"]


async def test_nothing_is_left_of_calls_that_have_ended(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await both(running, message(), message(), message("@nobody", key="other"))
        async with anyio.create_task_group() as tasks:
            platform.hold()
            platform.arrived = anyio.Event()
            tasks.start_soon(running.gateway.send, message(key="gone"))
            await platform.arrived.wait()
            tasks.cancel_scope.cancel()
        sends, delivery = running.gateway._sends, running.gateway._delivery
        assert (sends._flights, sends._scopes, delivery._settling._waiters) == ({}, {}, {})


# ---------------------------------------------------------------- before and after


async def test_a_send_before_the_gateway_runs_waits_for_it(path: Path, platform: Platform) -> None:
    running, outcomes = made(path, platform), list[SendOutcome]()
    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            outcomes.append(await running.gateway.send(message()))
            tasks.cancel_scope.cancel()

        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(running.gateway.run)
    assert [outcome.message_id for outcome in outcomes] == ["1"]
    assert texts(platform) == ["hi"]


async def test_a_wake_up_before_the_gateway_runs_starts_one_turn(path: Path, platform: Platform) -> None:
    agent = Echo()
    running = made(path, platform, agent=agent)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(running.gateway.wake, "main", "good morning")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(running.gateway.run)
        await running.until(TurnEnded)
        # Behind whatever the first may have started.
        await running.gateway.wake("main", "good night")
        await running.until(TurnEnded, 2)
        tasks.cancel_scope.cancel()
    assert [text for text, _ in agent.turns] == ["good morning", "good night"]


async def test_a_send_after_the_end_is_refused(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        pass
    with pytest.raises(SendFailed, match="the gateway has ended"):
        await running.gateway.send(message())


async def test_a_session_that_cannot_be_made_stops_nothing(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        begin = running.store.begin_send

        async def refuse(send: Any, intent: Any, entry: Any, *rest: Any, **more: Any) -> Any:
            if entry is not None:
                raise ValueError("no session today")
            return await begin(send, intent, entry, *rest, **more)

        running.store.begin_send = refuse
        outcome = await running.gateway.send(message())
        [failed] = running.told(StoreFailed)
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "hi")]
    assert (outcome.cached, failed.error) == (False, "ValueError: no session today")


# ---------------------------------------------------------------- what is sent


async def test_media_go_with_the_first_part_and_the_transcript_keeps_their_names(
    path: Path, platform: Platform
) -> None:
    media = ("https://e.com/a%20b.png?x=1", "/out/c.pdf")
    async with serving(path, platform, channels={"discord": {"text_limit": 5}}) as running:
        await running.gateway.send(message(text=f"one two\nMEDIA:{media[1]}", media=media[:1]))
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "a b.png, c.pdf")]
        [prepared] = running.told(IntentPrepared)
        assert prepared.media == ("a b.png", "c.pdf")
    assert [(request.text, request.media) for request in platform.sent] == [("one", media), ("two", ())]


async def test_media_need_no_text(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message(text="", media=("/a.png",)))
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "a.png")]
    assert [(request.text, request.media) for request in platform.sent] == [("", ("/a.png",))]


async def test_media_are_kept_over_a_restart(path: Path, platform: Platform) -> None:
    platform.hold()
    async with anyio.create_task_group() as tasks, serving(path, platform) as running:
        tasks.start_soon(failing, running, message(media=("/a.png",)))
        await platform.arrived.wait()
    platform.held.set()
    async with serving(path, platform) as running:
        assert (await running.gateway.send(message())).cached
    assert [(request.text, request.media) for request in platform.sent] == [("hi", ("/a.png",))]


async def test_a_reply_quotes_the_message_that_it_answers(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message("channel:500", reply_to="9"))
    assert [(request.address, request.reply_to) for request in platform.sent] == [(HALL, "9")]


async def test_a_reply_on_slack_is_a_thread(path: Path, anyio_backend: str) -> None:
    platform = Platform("slack")
    async with serving(path, platform) as running:
        await running.gateway.send(message("channel:C1", reply_to="171.2"))
    place = room("C1", channel="slack", thread="171.2")
    assert [(request.address, request.reply_to) for request in platform.sent] == [(place, None)]
    platform.close()


# ---------------------------------------------------------------- what is refused

REFUSED = [
    pytest.param({"channel": "slack"}, InvalidSend, Reason.UNKNOWN_CHANNEL, id="channel"),
    pytest.param({}, InvalidSend, Reason.UNKNOWN_CHANNEL, id="no channel"),
    pytest.param({"channel": "discord", "account": "work"}, UnknownName, Reason.UNKNOWN_ACCOUNT, id="account"),
    pytest.param({"channel": "discord", "to": "123"}, AmbiguousTarget, Reason.AMBIGUOUS_TARGET, id="digits"),
    pytest.param({"channel": "discord", "to": "@ana"}, TargetError, Reason.BAD_TARGET, id="name"),
    pytest.param({"channel": "discord", "to": " "}, InvalidSend, Reason.BAD_TARGET, id="no target"),
    pytest.param({"channel": "discord", "to": "channel:"}, TargetError, Reason.BAD_TARGET, id="no id"),
    pytest.param({"channel": "discord", "to": "user:1\x00"}, TargetError, Reason.BAD_TARGET, id="control character"),
    pytest.param({"channel": "discord", "to": "user:1\ud800"}, TargetError, Reason.BAD_TARGET, id="half a character"),
    pytest.param({"channel": "discord", "thread": "7\x00"}, TargetError, Reason.BAD_TARGET, id="thread"),
    pytest.param({"channel": "discord", "reply_to": "7\ud800"}, TargetError, Reason.BAD_TARGET, id="reply"),
    pytest.param({"channel": "discord", "text": " "}, InvalidSend, Reason.NOTHING_TO_SEND, id="no text"),
    pytest.param({"channel": "discord", "text": "cut \ud83d"}, InvalidSend, Reason.BAD_TEXT, id="half a text"),
    pytest.param({"channel": "discord", "media": ("/a\ud83d.png",)}, InvalidSend, Reason.BAD_TEXT, id="half a name"),
    pytest.param({"channel": "discord", "key": " "}, InvalidSend, Reason.BAD_IDEMPOTENCY_KEY, id="no key"),
    pytest.param({"channel": "discord", "key": "\udc00"}, InvalidSend, Reason.BAD_IDEMPOTENCY_KEY, id="half a key"),
    pytest.param({"channel": "discord", "agent": "nobody"}, InvalidSend, Reason.UNKNOWN_AGENT, id="agent"),
    pytest.param({"channel": "discord", "session_key": "x:y"}, InvalidSend, Reason.BAD_SESSION_KEY, id="session"),
    pytest.param({"to": room("C1", channel="slack")}, InvalidSend, Reason.UNKNOWN_CHANNEL, id="place"),
    pytest.param({"to": room("500", account="work")}, UnknownName, Reason.UNKNOWN_ACCOUNT, id="account of a place"),
    pytest.param({"to": room("lobby")}, TargetError, Reason.BAD_TARGET, id="place that cannot be"),
]


@pytest.mark.parametrize(("fields", "error", "reason"), REFUSED)
async def test_a_send_that_cannot_be_done_is_refused_and_leaves_nothing(
    path: Path,
    platform: Platform,
    telegram: Platform,
    fields: dict[str, Any],
    error: type[UsageError],
    reason: Reason,
) -> None:
    asked = message(**{"to": "user:100", **fields})
    async with serving(path, platform, telegram) as running:
        with pytest.raises(error) as caught:
            await running.gateway.send(asked)
        [refused] = running.told(SendRefused)
        assert type(caught.value) is error
        assert refused.reason is reason
        assert not any(stored(path).values())
        assert running.told(SessionCreated, IntentPrepared, TargetResolved) == []
        # The key is free.
        if asked.key == "k":
            assert not (await running.gateway.send(message(channel="discord"))).cached
            assert texts(platform) == ["hi"]
    assert telegram.sent == []


async def test_what_is_refused_can_be_written_down(path: Path, platform: Platform) -> None:
    asked = message(
        "user:\ud800",
        key="\ud800",
        channel="\ud800",
        account="\ud800",
        session_key="\ud800",
        agent="\ud800",
        text="\ud800",
    )
    async with serving(path, platform) as running:
        with pytest.raises(UsageError):
            await running.gateway.send(asked)
        with pytest.raises(UsageError):
            await running.gateway.send(message("user:1", account="\ud800"))
        with pytest.raises(UsageError):
            await running.gateway.send(message("user:1", agent="\ud800"))
        for body in running.told(SendRequested, SendRefused):
            assert str(body).encode()


# ---------------------------------------------------------------- directories


async def test_a_directory_says_what_a_target_is(path: Path, anyio_backend: str) -> None:
    platform = WithDirectory(Resolved(target="user:100"))
    async with serving(path, platform) as running:
        await running.gateway.send(message(" ana "))
        [resolved] = running.told(TargetResolved)
    assert (platform.asked, places(platform), resolved.target) == (["ana"], [ANA], "user:100")
    platform.close()


@pytest.mark.parametrize("error", [RateLimited("slow down"), ZeroDivisionError("oh")])
async def test_a_directory_that_fails_says_nothing_and_that_is_told(
    path: Path, anyio_backend: str, error: Exception
) -> None:
    platform = WithDirectory(error)
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        [resolved] = running.told(TargetResolved)
        assert resolved.steps[0].startswith("the directory of discord could not be asked")
        with pytest.raises(AmbiguousTarget, match="could not be asked"):
            await running.gateway.send(message("123", key="k2"))
    assert places(platform) == [ANA]
    platform.close()


async def test_what_a_directory_refuses_is_refused(path: Path, anyio_backend: str) -> None:
    platform = WithDirectory(TargetError("there are two of that name"))
    async with serving(path, platform) as running:
        with pytest.raises(TargetError, match="two of that name"):
            await running.gateway.send(message())
        assert [body.reason for body in running.told(SendRefused)] == [Reason.BAD_TARGET]
    platform.close()


# ---------------------------------------------------------------- upstream's rules


async def test_upstream_keys_send_once_even_after_a_failure(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform, profile="openclaw") as running:
        for cached in (False, True):
            with pytest.raises(SendFailed) as caught:
                await running.gateway.send(message("channel:500"))
            assert caught.value.cached is cached
    assert platform.sent == []


async def test_upstream_targets_without_a_route_have_no_place_to_send_to(path: Path, anyio_backend: str) -> None:
    platform = Platform("whatsapp")
    async with serving(path, platform, profile="openclaw") as running:
        with pytest.raises(InvalidSend):
            await running.gateway.send(message("someone@example.org"))
        assert [body.reason for body in running.told(SendRefused)] == [Reason.BAD_TARGET]
        assert not any(stored(path).values())
    platform.close()


async def test_upstream_entries_are_stored_as_upstream_writes_them(path: Path, anyio_backend: str) -> None:
    platform = Platform("slack")
    async with serving(path, platform, profile="openclaw") as running:
        await running.gateway.send(message("channel:C1"))
        assert await running.transcript("agent:main:slack:channel:c1") == [("assistant", "hi")]
    with closing(sqlite3.connect(path)) as db:
        [(entry,)] = db.execute("SELECT entry FROM session_map").fetchall()
    assert '"sender":"slack:channel:C1"' in entry
    platform.close()
