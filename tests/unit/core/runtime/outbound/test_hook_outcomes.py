"""`message_sent` hooks in a real gateway: who is told how a message ended, once, and again after a crash if need be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import receipt, room
from tests.support.hooks import WAYS, Saying, Told, hooks, sending, settled
from tests.support.sending import Platform, made, message, serving, texts
from tests.support.stores import on_read
from trunkline import Cancel, Change, QueueVerdict, Sent, SentHook
from trunkline.core.delivery.hooks import Hooks
from trunkline.core.errors import Ambiguous, PlaceGone
from trunkline.core.events.delivery import HookFailed, HookSending, HookSent, IntentSettled
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import ResolveIntent
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListUnnotified
from trunkline.core.values import Capabilities, Idempotency, IntentState

pytestmark = pytest.mark.anyio

INTENTS = {"reply": ".reply", "tool": ".send1", "announce": ".hand1.post1", "send": "send:k"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- once, on every way


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ["delivered", "failed", "cancelled"])
async def test_hooks_are_notified_once_of_every_end_on_every_path(
    path: Path, platform: Platform, way: str, end: str
) -> None:
    says, told = Saying(way, "hello there"), Told()
    takes_back = Cancel() if end == "cancelled" else Change("hello here")
    platform.errors = [PlaceGone("archived")] if end == "failed" else []
    asked = hooks(sending("change", takes_back), told)
    async with serving(path, platform, agent=says.agent, runner=says.runner, hooks=asked, **says.config) as running:
        await says.begin(running, platform)
        [durable] = await running.until(HookSent)
    async with serving(path, platform, hooks=hooks(told)) as running:
        await running.gateway.send(message("user:200", key="another"))
        await settled(running)
    first, another = told.all
    reason = {"delivered": Reason.ACCEPTED, "failed": Reason.PLACE_GONE, "cancelled": Reason.CANCELLED_BY_HOOK}[end]
    assert (first.state.value, first.reason, first.success) == (end, reason, end == "delivered")
    assert first.intent.endswith(INTENTS[way])
    # Of what was taken back there is no text.
    assert first.text == ("" if end == "cancelled" else "hello here")
    assert first.receipts == ((receipt("1"),) if end == "delivered" else ())
    assert (durable.state, durable.reason) == (first.state, reason)
    assert durable.provider_id == ("1" if end == "delivered" else None)
    assert another.intent == "send:another"


async def test_what_is_parked_misplaced_or_broken_off_is_reported_as_such(path: Path, anyio_backend: str) -> None:
    class Odd(Platform):
        async def send(self, request: Any) -> Any:
            if request.address.conversation == "300" and request.chunk == 1:
                raise PlaceGone("deleted meanwhile")
            if request.address.conversation == "400":
                raise Ambiguous("the line went dead")
            sent = await super().send(request)
            return receipt(sent.provider_id, room("501")) if request.address.conversation == "500" else sent

    odd, told = Odd(), Told()
    odd.capabilities = Capabilities(idempotency=Idempotency.NONE)
    async with serving(path, odd, hooks=hooks(told), channels={"discord": {"text_limit": 5}}) as running:
        for to in ("user:300", "user:400", "channel:500"):
            await running.gateway.enqueue(message(to, "one two" if to == "user:300" else "one", key=to))
        await settled(running, 3)
    assert sorted(told.gist) == [
        ("send:channel:500", "misplaced"),
        ("send:user:300", "partial"),
        ("send:user:400", "unknown"),
    ]
    odd.close()


async def test_hooks_are_not_notified_again_of_an_operators_word(path: Path, platform: Platform) -> None:
    told = Told()
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [Ambiguous("the line went dead")]
    async with serving(path, platform, hooks=hooks(told)) as running:
        await running.gateway.enqueue(message())
        await settled(running)
        await running.gateway.queue.resolve("send:k", QueueVerdict.UNSENT)
        await running.until(IntentSettled, 2)
        await running.gateway.send(message("user:200", key="another"))
        await settled(running, 2)
    assert told.gist == [("send:k", "unknown"), ("send:another", "delivered")]
    assert texts(platform) == ["hi", "hi"]


async def test_an_operator_causes_no_second_notification(path: Path, platform: Platform) -> None:
    """What is being told is no matter of whoever ends another intent by hand."""
    told = Told()
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [Ambiguous("the line went dead")]
    async with serving(path, platform, hooks=hooks(told)) as running:
        await running.gateway.enqueue(message(key="doubt"))
        await settled(running)
        told.open = anyio.Event()
        told.called = anyio.Event()
        await running.gateway.send(message("user:200", key="slow"))
        await told.called.wait()
        await running.gateway.queue.resolve("send:doubt", QueueVerdict.ABANDON)
        await running.until(IntentSettled, 3)
        # Behind whatever is done for the one that was ended.
        await running.gateway.send(message("user:300", key="between"))
        await running.gateway.send(message("user:300", key="again"))
        told.open.set()
        await settled(running, 4)
        await running.gateway.send(message("user:200", key="last"))
        await settled(running, 5)
    names = [intent for intent, _ in told.gist]
    assert sorted(names) == ["send:again", "send:between", "send:doubt", "send:last", "send:slow"]


# ---------------------------------------------------------------- hooks that fail, and their order


async def test_a_hook_that_fails_keeps_no_other_from_being_notified(path: Path, platform: Platform) -> None:
    async def never(_: Sent) -> None:
        await anyio.sleep_forever()

    bad, good = Told("bad", ZeroDivisionError("oh")), Told("good")
    asked = Hooks(sent=(bad.hook, SentHook(name="slow", call=never), good.hook))
    async with serving(path, platform, hooks=asked, delivery={"hook_timeout": "10ms"}) as running:
        await running.gateway.send(message())
        await settled(running)
        failed = running.recorded(HookFailed)
    async with serving(path, platform, hooks=asked, delivery={"hook_timeout": "10ms"}) as running:
        await running.gateway.send(message("user:200", key="another"))
        await settled(running)
    assert [(body.hook, body.phase, body.reason) for body in failed] == [
        ("bad", "sent", Reason.HOOK_RAISED),
        ("slow", "sent", Reason.HOOK_RAISED),
    ]
    # It was told, and once: that it failed is its own matter.
    assert [intent for intent, _ in good.gist] == [intent for intent, _ in bad.gist] == ["send:k", "send:another"]


async def test_hooks_are_notified_in_order_within_a_conversation_and_side_by_side_between_them(
    path: Path, platform: Platform
) -> None:
    told = Told()
    told.open = anyio.Event()
    async with serving(path, platform, hooks=hooks(told)) as running:
        for n in range(10):
            await running.gateway.enqueue(message("user:100", f"a{n}", key=f"a{n}"))
        await running.until(IntentSettled, 10)
        # Its conversation is not held up by those that are told slowly.
        assert (await running.gateway.send(message("user:100", "quick", key="quick"))).message_id == "11"
        told.open.set()
        await settled(running, 11)
    assert [sent.text for sent in told.all] == [*(f"a{n}" for n in range(10)), "quick"]


async def test_with_hooks_of_one_kind_only_the_others_are_not_missed(path: Path, platform: Platform) -> None:
    told = Told()
    async with serving(path, platform, hooks=hooks(told)) as running:
        await running.gateway.send(message())
        await settled(running)
        assert [body.verdict for body in running.recorded(HookSending)] == ["kept"]
    async with serving(path, platform, hooks=hooks(sending("none"))) as running:
        await running.gateway.send(message(key="k2"))
        await settled(running)
    async with serving(path, platform) as running:
        await running.gateway.send(message(key="k3"))
        assert running.recorded(HookSending, HookSent) == []
    assert told.gist == [("send:k", "delivered")]


# ---------------------------------------------------------------- after a crash


async def crash_while_notified(path: Path, platform: Platform, asked: Hooks, told: Told) -> None:
    """End a process between an end and the hook that is told of it."""
    told.open = anyio.Event()
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.send(message())
        await told.called.wait()
        assert running.recorded(HookSent) == []
    told.open.set()


async def test_a_missed_notification_is_delivered_by_the_next_process(path: Path, platform: Platform) -> None:
    told = Told()
    asked = hooks(sending("change", Change("changed")), told)
    await crash_while_notified(path, platform, asked, told)
    for _ in range(2):
        async with serving(path, platform, hooks=asked) as running:
            await running.gateway.send(message("user:200", key="another"))
            await settled(running) if len(told.all) < 2 else None
    assert [(sent.intent, sent.state, sent.text) for sent in told.all if sent.intent == "send:k"] == [
        ("send:k", IntentState.DELIVERED, "changed")
    ]
    assert told.all[0].receipts == (receipt("1"),)


async def test_a_missed_notification_of_a_cancelled_send_is_delivered(path: Path, platform: Platform) -> None:
    told = Told()
    asked = hooks(sending("no", Cancel()), told)
    told.open = anyio.Event()
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.send(message(best_effort=True))
        await told.called.wait()
    told.open.set()
    async with serving(path, platform, hooks=asked) as running:
        await settled(running)
        assert running.recorded(HookSending) == []
    assert [(sent.intent, sent.state, sent.reason, sent.text) for sent in told.all] == [
        ("send:k", IntentState.CANCELLED, Reason.CANCELLED_BY_HOOK, "")
    ]


async def test_hooks_are_notified_once_of_what_ends_while_a_process_starts(path: Path, platform: Platform) -> None:
    told = Told()
    asked = hooks(told)
    platform.hold()
    async with serving(path, platform, hooks=asked) as running:
        for n in range(20):
            await running.gateway.enqueue(message(f"user:{200 + n}", key=f"k{n}"))
        await platform.arrived.wait()
    platform.held.set()
    told.open = anyio.Event()
    running = made(path, platform, hooks=asked)

    async def late(read: Any, query: Any) -> Any:
        # As if the disk were slow, just there. Nothing may have ended by then.
        with anyio.move_on_after(0.1):
            await running.until(IntentSettled)
        return await read(query)

    on_read(running.store, ListUnnotified, late)
    async with anyio.create_task_group() as group:
        group.start_soon(running.gateway.run)
        await running.until(IntentSettled, 20)
        told.open.set()
        await settled(running, 20)
        await running.gateway.send(message(key="last"))
        await settled(running, 21)
        group.cancel_scope.cancel()
    assert sorted(intent for intent, _ in told.gist) == sorted([*(f"send:k{n}" for n in range(20)), "send:last"])


async def test_what_an_operator_ended_while_no_gateway_ran_causes_no_second_notification(
    path: Path, platform: Platform
) -> None:
    told = Told()
    asked = hooks(told)
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [Ambiguous("the line went dead")]
    told.open = anyio.Event()
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.enqueue(message())
        await running.until(IntentSettled)
        await told.called.wait()
        await running.store.write(ResolveIntent(intent="send:k", verdict=QueueVerdict.ABANDON, now=9.0), answer)
    told.open.set()
    async with serving(path, platform, hooks=asked) as running:
        await settled(running)
        await running.gateway.send(message("user:200", key="another"))
        await settled(running, 2)
    assert told.gist == [("send:k", "unknown"), ("send:another", "delivered")]
