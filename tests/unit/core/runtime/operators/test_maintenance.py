"""What operators say of a queue that is being worked: from inside of the process, and from outside."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.sending import Platform, Tried, ended, failing_at, made, message, serving, texts
from tests.support.small_gateway import Running
from tests.support.stores import on_write
from trunkline import Capabilities, Idempotency, QueueFilter, QueueVerdict, SendStatus
from trunkline.app.operators.store_file import FileGateway
from trunkline.core.errors import Ambiguous, IllegalTransition, NotSent, PlaceGone, UnknownName
from trunkline.core.events import Event
from trunkline.core.events.delivery import ChunkAcked, IntentReopened, IntentSettled, MirrorAppended, OperatorActed
from trunkline.core.events.leases import LeaseAwaited
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import PurgeIntents, ResolveIntent, RetryIntent
from trunkline.core.store.operators.queue import ChangeQueue
from trunkline.core.store.queue_admin import PurgedBatch
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

KEY = "main:discord:default:direct:100"
NONE = Capabilities(idempotency=Idempotency.NONE)
#: looks at once, and gives up at once
QUICK: dict[str, Any] = {"watch": "1ms", "backoff": ["1ms"], "max_attempts": 1}
S = IntentState


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


@pytest.fixture
def cutting(anyio_backend: str) -> Iterator[Tried]:
    """A platform without keys; tests have it fail at the second chunk."""
    tiny = Tried(idempotency=Idempotency.NONE)
    yield tiny
    tiny.close()


def about(running: Running, name: str) -> list[Event]:
    """What is told of an intent, or of an operator's word on it."""
    return [event for event in running.log.events if event.intent == name]


def outside(path: Path, verb: Any, *arguments: Any, **named: Any) -> Any:
    """Do something to the queue as another process would."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10.0)) as db:
        db.execute("BEGIN IMMEDIATE")
        answer = verb(db, *arguments, **named)
        db.execute("COMMIT")
        return answer


# ---------------------------------------------------------------- an operator inside of the process


@pytest.mark.parametrize(("error", "state"), [(PlaceGone("archived"), "failed"), (NotSent("no route"), "dead")])
async def test_what_did_not_arrive_is_tried_again_when_an_operator_says_so(
    path: Path, platform: Platform, error: Exception, state: str
) -> None:
    platform.errors = [error]
    async with serving(path, platform, delivery={**QUICK, "watch": "1h"}) as running:
        await ended(running, state)
        await running.gateway.queue.retry("send:k")
        await running.until(IntentSettled, 2)
        # Whoever comes with the key gets what came of it.
        again = await running.gateway.send(message())
        assert await running.transcript(KEY) == [("assistant", "hi")]
        acted, reopened = running.recorded(OperatorActed), running.recorded(IntentReopened)
        story = [event.kind for event in about(running, "send:k")]
    assert (again.status, again.cached, texts(platform)) == (SendStatus.DELIVERED, True, ["hi"])
    assert [body.verb for body in acted] == ["retry"]
    assert [(body.before.value, body.reason, body.chunk) for body in reopened] == [(state, Reason.OPERATOR_RETRY, 0)]
    assert (
        story[-6:]
        == ["operator.acted", "intent.reopened", "attempt.started", "attempt.ended", "chunk.acked", "intent.settled"]
        or story[-1] == "mirror.appended"
        or "mirror.appended" in story
    )


async def test_what_was_reopened_goes_behind_what_waits_in_its_conversation(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform, delivery=QUICK) as running:
        await ended(running, "failed", text="first")
        platform.hold()
        platform.arrived = anyio.Event()
        for n in range(3):
            await running.gateway.enqueue(message(text=f"later {n}", key=f"k{n}"))
        await platform.arrived.wait()
        await running.gateway.queue.retry("send:k")
        await running.until(IntentReopened)
        platform.held.set()
        await running.until(IntentSettled, 5)
    assert texts(platform) == ["later 0", "later 1", "later 2", "first"]


async def test_the_rest_of_a_part_is_sent_and_remembered_as_one(path: Path, cutting: Tried) -> None:
    async with serving(path, cutting, channels={"discord": {"text_limit": 5}}, delivery=QUICK) as running:
        cutting.errors = []
        gone = failing_at(cutting, 1, PlaceGone("archived"))
        await ended(running, "partial", text="one two six")
        assert await running.transcript(KEY) == [("assistant", "one")]
        gone.clear()
        await running.gateway.queue.retry("send:k")
        await running.until(IntentSettled, 2)
        assert await running.transcript(KEY) == [("assistant", "one\ntwo\nsix")]
        [reopened] = running.recorded(IntentReopened)
        mirrored = running.recorded(MirrorAppended)
    assert (reopened.before, reopened.chunk) == (S.PARTIAL, 1)
    assert texts(cutting) == ["one", "two", "six"]
    assert [(body.text, body.partial) for body in mirrored] == [("one", True), ("one\ntwo\nsix", False)]


VERDICTS: list[Any] = [
    pytest.param(QueueVerdict.SENT, "delivered", ["one", "six"], "one\ntwo\nsix", id="sent"),
    pytest.param(QueueVerdict.UNSENT, "delivered", ["one", "two", "six"], "one\ntwo\nsix", id="unsent"),
    pytest.param(QueueVerdict.ABANDON, "unknown", ["one"], "one", id="abandon"),
]


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
@pytest.mark.parametrize(("verdict", "state", "sent", "line"), VERDICTS)
async def test_an_operators_word_decides_what_was_in_doubt(
    path: Path, cutting: Tried, verdict: QueueVerdict, state: str, sent: list[str], line: str, inside: bool
) -> None:
    async with serving(path, cutting, channels={"discord": {"text_limit": 5}}, delivery=QUICK) as running:
        doubt = failing_at(cutting, 1, Ambiguous("no answer"))
        await ended(running, "unknown", text="one two six")
        doubt.clear()
        if inside:
            await running.gateway.queue.resolve("send:k", verdict, "777" if verdict is QueueVerdict.SENT else "")
        else:
            outside(
                path,
                execute,
                ResolveIntent(
                    intent="send:k",
                    verdict=verdict,
                    now=time.time(),
                    provider_id="777" if verdict is QueueVerdict.SENT else "",
                ),
            )
        settled = await running.until(IntentSettled, 2)
        assert await running.transcript(KEY) == [("assistant", line)]
        shown = await running.gateway.queue.show("send:k")
        acks = [body.provider_id for body in running.recorded(ChunkAcked) if body.reason is Reason.OPERATOR_SENT]
        [acted] = running.recorded(OperatorActed)
    assert (settled[-1].state.value, texts(cutting), acted.verb) == (state, sent, verdict.value)
    assert acks == (["777"] if verdict is QueueVerdict.SENT else [])
    assert (shown.intent.progress.state.value, len(shown.receipts)) == (state, 3 if state == "delivered" else 1)


async def test_a_last_chunk_that_was_sent_is_mirrored_at_once(path: Path, platform: Platform) -> None:
    platform.capabilities = NONE
    platform.errors = [Ambiguous("no answer")]
    async with serving(path, platform, delivery={**QUICK, "watch": "1h"}) as running:
        await ended(running, "unknown")
        await running.gateway.queue.resolve("send:k", QueueVerdict.SENT)
        await running.until(MirrorAppended)
        assert await running.transcript(KEY) == [("assistant", "hi")]
        again = await running.gateway.send(message())
    assert (again.message_id, again.cached, platform.sent) == ("resolved-by-operator", True, [])


async def test_what_cannot_be_done_changes_nothing_and_is_not_recorded(path: Path, platform: Platform) -> None:
    async with serving(path, platform, delivery=QUICK) as running:
        await running.gateway.send(message())
        queue = running.gateway.queue
        shown = await queue.show("send:k")
        for call in (queue.retry("send:k"), queue.resolve("send:k", QueueVerdict.UNSENT)):
            with pytest.raises(IllegalTransition):
                await call
        for call in (queue.retry("send:x"), queue.resolve("send:x", QueueVerdict.SENT), queue.show("send:x")):
            with pytest.raises(UnknownName):
                await call
        assert await queue.show("send:k") == shown
        # Behind whatever may have been set going.
        await running.gateway.send(message(key="k2"))
        assert running.recorded(OperatorActed, IntentReopened) == []


async def test_an_operator_that_goes_away_while_it_is_stored_is_taken_at_its_word(
    path: Path, platform: Platform
) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform, delivery={**QUICK, "watch": "1h"}) as running:
        await ended(running, "failed")
        store, begun = running.store, anyio.Event()

        async def retry(write: Any, command: Any, story: Any, then: Any) -> Any:
            begun.set()
            return await write(command, story, then)

        on_write(store, ChangeQueue, retry)
        async with anyio.create_task_group() as group:
            group.start_soon(running.gateway.queue.retry, "send:k")
            await begun.wait()
            group.cancel_scope.cancel()
        await running.until(IntentSettled, 2)
    assert texts(platform) == ["hi"]


async def test_a_purge_is_recorded_with_what_it_removed(path: Path, platform: Platform) -> None:
    async with serving(path, platform, delivery=QUICK) as running:
        for n in range(3):
            await running.gateway.send(message(key=f"k{n}"))
        platform.capabilities = NONE
        platform.errors = [Ambiguous("no answer")]
        await ended(running, "unknown", key="doubt")
        queue = running.gateway.queue
        assert await queue.purge(QueueFilter(states=(S.DEAD,))) == 0
        assert await queue.purge(QueueFilter(states=(S.DELIVERED,))) == 3
        assert await queue.purge(QueueFilter()) == 0
        assert await queue.purge(QueueFilter(states=(S.UNKNOWN,))) == 1
        assert await queue.intents(QueueFilter()) == ()
        assert [body.detail for body in running.recorded(OperatorActed)] == [
            "3 intents: delivered",
            "1 intents: unknown",
        ]
        # The keys are free, and the transcript stays. To the platform it is the message that it has.
        again = await running.gateway.send(message(key="k0"))
        assert (again.cached, again.message_id) == (False, "1")
        assert await running.transcript(KEY) == [("assistant", "hi")] * 3


async def test_a_long_purge_is_done_in_parts(path: Path, platform: Platform) -> None:
    async with serving(path, platform, delivery=QUICK) as running:
        for n in range(5):
            await running.gateway.send(message(key=f"k{n}"))
        parts: list[int] = []

        async def some(write: Any, command: Any, story: Any, then: Any) -> Any:
            parts.append(len(await running.gateway.queue.intents(QueueFilter())))
            return await write(command, story, then) if len(parts) > 1 else story(PurgedBatch(removed=2, progress=0))

        on_write(running.store, PurgeIntents, some)
        assert await running.gateway.queue.purge(QueueFilter()) == 7
    # The third one finds nothing behind the second.
    assert parts == [5, 5, 0]


# ---------------------------------------------------------------- from outside


async def test_what_an_operator_does_from_outside_is_taken_up(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")] * 3
    async with serving(path, platform, delivery=QUICK) as running:
        for n in range(3):
            await ended(running, "failed", key=f"k{n}", text=f"text {n}")
        for n in range(3):
            outside(path, execute, RetryIntent(intent=f"send:k{n}", now=time.time()))
        await running.until(IntentSettled, 6)
        assert [(body.before, body.chunk) for body in running.recorded(IntentReopened)] == [(S.FAILED, 0)] * 3
        assert outside(path, execute, PurgeIntents(which=QueueFilter(states=(S.DELIVERED,)))).removed == 3
        # Its key is free: it is another send to the gateway, if not to the platform.
        assert (await running.gateway.send(message(key="k0", text="text 0"))).cached is False
    assert texts(platform) == ["text 0", "text 1", "text 2"]


async def test_what_an_operator_did_while_no_gateway_ran_is_recorded_and_done_at_the_start(
    path: Path, platform: Platform
) -> None:
    platform.capabilities = NONE
    platform.errors = [Ambiguous("no answer")] * 3
    async with serving(path, platform, delivery=QUICK) as running:
        for name in ("sent", "unsent", "abandon"):
            await ended(running, "unknown", key=name, text=name)
    for verdict in QueueVerdict:
        outside(path, execute, ResolveIntent(intent=f"send:{verdict.value}", verdict=verdict, now=time.time()))
    # Twice: what it has become is what counts.
    outside(path, execute, ResolveIntent(intent="send:abandon", verdict=QueueVerdict.UNSENT, now=time.time()))
    async with serving(path, platform, delivery={**QUICK, "max_age": "100d"}) as running:
        await running.until(IntentSettled, 3)
        await running.gateway.send(message(key="last", text="last"))
        acted = [
            (event.intent, event.body.verb) for event in running.log.events if isinstance(event.body, OperatorActed)
        ]
        settled = {
            event.intent: event.body.state for event in running.log.events if isinstance(event.body, IntentSettled)
        }
        assert await running.transcript(KEY) == [("assistant", text) for text in ("sent", "unsent", "abandon", "last")]
    assert acted == [
        ("send:sent", "sent"),
        ("send:unsent", "unsent"),
        ("send:abandon", "abandon"),
        ("send:abandon", "unsent"),
    ]
    assert settled == dict.fromkeys(["send:sent", "send:unsent", "send:abandon", "send:last"], S.DELIVERED)
    assert texts(platform) == ["unsent", "abandon", "last"]


async def test_what_was_changed_and_is_gone_keeps_no_gateway_from_starting(path: Path, platform: Platform) -> None:
    platform.capabilities = NONE
    platform.errors = [Ambiguous("no answer")] * 2
    async with serving(path, platform, delivery=QUICK) as running:
        for name in ("gone", "broken"):
            await ended(running, "unknown", key=name)
    for name in ("gone", "broken"):
        outside(path, execute, ResolveIntent(intent=f"send:{name}", verdict=QueueVerdict.ABANDON, now=time.time()))
    outside(path, lambda db: db.execute("UPDATE intents SET mirror_due = 0, untold = 0"))
    assert outside(path, execute, PurgeIntents(which=QueueFilter(ids=("send:gone",)))).removed == 1
    outside(path, lambda db: db.execute("UPDATE intents SET chunks = '?'"))
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        assert len(running.recorded(OperatorActed)) == 2
        assert len(running.recorded(IntentSettled)) == 1


async def test_a_purge_from_outside_is_recorded_as_one_from_inside(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform, delivery=QUICK) as running:
        await ended(running, "failed")
        for n in range(3):
            await running.gateway.send(message(key=f"k{n}"))
        assert await FileGateway(path).purge(QueueFilter(states=(S.DEAD,))) == 0
        assert await FileGateway(path).purge(QueueFilter(states=(S.DELIVERED,))) == 3
        [acted] = await running.until(OperatorActed)
    assert await FileGateway(path).purge(QueueFilter()) == 1
    async with serving(path, platform, delivery=QUICK) as running:
        [later] = await running.until(OperatorActed)
        await running.gateway.send(message(key="another"))
    assert [(one.verb, one.detail) for one in (acted, later)] == [
        ("purge", "3 intents: delivered"),
        ("purge", "1 intents: all that have ended"),
    ]


async def test_a_process_that_stands_by_leaves_operators_words_to_the_one_that_works(
    path: Path, platform: Platform
) -> None:
    platform.errors = [PlaceGone("archived")]
    standing = made(path, platform, delivery=QUICK)
    async with serving(path, platform, delivery=QUICK) as running, anyio.create_task_group() as group:
        await ended(running, "failed")
        group.start_soon(standing.gateway.run)
        await standing.until(LeaseAwaited)
        await standing.gateway.queue.retry("send:k")
        await running.until(IntentSettled, 2)
        assert standing.recorded(OperatorActed, IntentReopened) == []
        group.cancel_scope.cancel()
    assert texts(platform) == ["hi"]
