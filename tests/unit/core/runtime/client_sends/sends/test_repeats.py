"""One key is one send; callers that go away; restarts."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.client_sends import failing
from tests.support.factories import room
from tests.support.sending import Platform, WithDirectory, made, message, serving, texts
from tests.support.small_gateway import Echo, Running
from tests.support.stores import on_read, on_write
from trunkline import Capabilities, Idempotency, Receipt, SendFailed, SendMessage, SendOutcome, SendRequest
from trunkline.core.errors import Ambiguous, PlaceGone, TargetError
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, SendJoined, SendRefused
from trunkline.core.events.gateway import SessionCreated, StoreFailed, TurnEnded
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import BeginSend
from trunkline.core.store.queries import FindSend
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- one key is one send


async def both(running: Running, *messages: SendMessage) -> list[SendOutcome | Exception]:
    """Several calls in the same tick."""
    calls = [running.gateway.send(one) for one in messages]
    return await asyncio.gather(*calls, return_exceptions=True)  # pyright: ignore[reportReturnType]


async def test_two_calls_in_one_tick_are_one_message(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        outcomes = await both(running, message(), message(text="other"), message())
        joined = running.recorded(SendJoined)
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
        [joined] = running.recorded(SendJoined)
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


async def test_a_caller_that_joins_a_failure_learns_of_it_and_tries_nothing(path: Path, platform: Platform) -> None:
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
        created = running.recorded(SessionCreated)[-1]
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
        [settled] = running.recorded(IntentSettled)
    assert (outcome.cached, settled.state) == (True, IntentState.DELIVERED)
    assert texts(platform) == ["hi"]


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

        async def begin(write: Any, command: Any, story: Any, then: Any) -> Any:
            begun.set()
            return await write(command, story, then)

        on_write(store, BeginSend, begin)
        async with anyio.create_task_group() as first:
            first.start_soon(running.gateway.send, message())
            await begun.wait()
            first.cancel_scope.cancel()
        reads: list[str] = []

        async def find(read: Any, query: Any) -> Any:
            reads.append(query.key)
            return None if len(reads) == 1 else await read(query)

        on_read(store, FindSend, find)
        outcome = await running.gateway.send(message("user:200", "other"))
        prepared = running.recorded(IntentPrepared)
    assert (texts(platform), len(prepared)) == (["hi"], 1)
    assert (outcome.conversation, outcome.session_key) == ("100", "main:discord:default:direct:100")
    assert outcome.cached


async def test_who_joined_one_that_is_refused_does_its_own(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        outcomes = await both(running, message("@nobody"), message(), message(text=""))
        assert [body.reason for body in running.recorded(SendRefused)] == [Reason.BAD_TARGET]
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
        sends, intents = running.gateway._sends, running.gateway._intents
        assert (sends._flights, sends._scopes, intents._waiters) == ({}, {}, {})


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

        async def refuse(write: Any, command: Any, story: Any, then: Any) -> Any:
            if command.entry is not None:
                raise ValueError("no session today")
            return await write(command, story, then)

        on_write(running.store, BeginSend, refuse)
        outcome = await running.gateway.send(message())
        [failed] = running.recorded(StoreFailed)
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "hi")]
    assert (outcome.cached, failed.error) == (False, "ValueError: no session today")
