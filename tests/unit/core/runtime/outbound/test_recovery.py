"""What a gateway does beside its work: transcript lines that were refused come later, and what is old goes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct, receipt
from tests.support.sending import Platform, Tried, ended, failing_at, message, serving, texts
from tests.support.small_gateway import Echo
from tests.support.stores import on_write
from trunkline import Capabilities, HandTask, Idempotency, QueueFilter, SendFailed, SendStatus, Turn
from trunkline.core.errors import Ambiguous, PlaceGone
from trunkline.core.events.delivery import IntentSettled, MirrorAppended, MirrorRefused
from trunkline.core.events.gateway import InboundAdmitted, InboundDropped, ProcessRecovered, TurnEnded
from trunkline.core.events.hands import DelegationFinished, DelegationStarted
from trunkline.core.events.leases import StorePruned
from trunkline.core.reasons import Reason
from trunkline.core.runtime.operators import maintenance as upkeep_module
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.commands import AckChunk
from trunkline.core.store.queries import ListDueMirrors
from trunkline.core.store.sqlite.sql import intents
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

KEY = "main:discord:default:direct:100"
NONE = Capabilities(idempotency=Idempotency.NONE)
#: looks at once, and gives up at once
QUICK: dict[str, Any] = {"watch": "1ms", "backoff": ["1ms"], "max_attempts": 1}


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


# ---------------------------------------------------------------- mirrors that are refused


class Refusing:
    """Has the store refuse transcript lines, for as long as `errors` are left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> None:
        self.errors = list(errors)
        append = intents.append_mirror

        def refuse(*arguments: Any, **named: Any) -> bool:
            if self.errors:
                raise self.errors.pop(0)
            return append(*arguments, **named)

        monkeypatch.setattr(intents, "append_mirror", refuse)


@pytest.mark.parametrize("chunks", [1, 3])
async def test_a_message_whose_mirror_is_refused_is_delivered_and_its_line_comes_later(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch, chunks: int
) -> None:
    monkeypatch.setattr(upkeep_module, "_MIRROR_FIRST", 0.001)
    text = " ".join(["one", "two", "six"][:chunks])
    # Refused with the receipt, by the batch and singly, and twice when it is tried later.
    refusing = Refusing(monkeypatch, *[sqlite3.IntegrityError("not today")] * 6)
    async with serving(path, platform, channels={"discord": {"text_limit": 5}}, delivery=QUICK) as running:
        outcome = await running.gateway.send(message(text=text))
        assert outcome.status is SendStatus.DELIVERED
        [appended] = await running.until(MirrorAppended)
        refused = running.recorded(MirrorRefused)
        assert await running.transcript(KEY) == [("assistant", text.replace(" ", "\n"))]
        assert await running.store.read(ListDueMirrors()) == ()
    assert refusing.errors == []
    assert (appended.text, appended.partial) == (text.replace(" ", "\n"), False)
    assert [(body.session_key, body.reason, body.detail) for body in refused] == [
        (KEY, Reason.MIRROR_REFUSED, "IntegrityError: not today")
    ] * 3
    assert len(platform.sent) == chunks


async def test_a_line_that_was_refused_until_the_end_is_there_after_a_restart(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = Refusing(monkeypatch, *[sqlite3.IntegrityError("not today")] * 1000)
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        await running.until(MirrorRefused)
        assert await running.transcript(KEY) == []
    refusing.errors.clear()
    async with serving(path, platform) as running:
        await running.until(MirrorAppended)
        assert await running.transcript(KEY) == [("assistant", "hi")]
    async with serving(path, platform) as running:
        await running.gateway.send(message(key="k2", text="two"))
        assert await running.transcript(KEY) == [("assistant", "hi"), ("assistant", "two")]
    assert texts(platform) == ["hi", "two"]


async def test_what_was_broken_off_is_remembered_later_too(
    path: Path, cutting: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep_module, "_MIRROR_FIRST", 0.001)
    # By the batch, and singly.
    Refusing(monkeypatch, *[sqlite3.IntegrityError("not today")] * 2)
    async with serving(path, cutting, channels={"discord": {"text_limit": 5}}, delivery=QUICK) as running:
        failing_at(cutting, 1, PlaceGone("archived"))
        await ended(running, "partial", text="one two")
        [appended] = await running.until(MirrorAppended)
        assert await running.transcript(KEY) == [("assistant", "one")]
        [refused] = running.recorded(MirrorRefused)
    assert (appended.partial, refused.reason) == (True, Reason.MIRROR_REFUSED)


async def test_a_line_that_is_looked_for_too_early_is_looked_for_again(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    Refusing(monkeypatch, *[sqlite3.IntegrityError("not today")] * 2)
    async with serving(path, platform, delivery=QUICK) as running:
        looked: list[bool] = []

        async def late(write: Any, command: Any, story: Any, then: Any) -> Any:
            # It is recorded as refused by now, and is not due yet.
            looked.append(command.mirror_due)
            await running.gateway._delivery._settler.lines.store_due()
            return await write(command, story, then)

        on_write(running.store, AckChunk, late)
        await running.gateway.send(message())
        await running.until(MirrorAppended)
        assert await running.transcript(KEY) == [("assistant", "hi")]
    assert looked == [True]


# ---------------------------------------------------------------- rows that are broken while a process holds them


@pytest.mark.parametrize("text", ["one", "one two three", "elsewhere"], ids=["last chunk", "first chunk", "misplaced"])
@pytest.mark.parametrize("others", [0, 10])
async def test_a_row_that_breaks_while_it_is_sent_is_set_aside_and_stops_no_other(
    path: Path, platform: Platform, text: str, others: int
) -> None:
    places = [f"user:{200 + n}" for n in range(others)]
    if text == "elsewhere":
        platform.send = astray(platform)  # pyright: ignore[reportAttributeAccessIssue]
    platform.hold()
    async with serving(path, platform, channels={"discord": {"text_limit": 9}}) as running:
        for n, place in enumerate(["user:100", "user:100", *places]):
            await running.gateway.enqueue(message(place, text if n == 0 else "later", key=f"k{n}"))
        await platform.arrived.wait()
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("UPDATE intents SET receipts = '[{' WHERE id = 'send:k0'")
        platform.held.set()
        ends = await running.until(IntentSettled, 2 + others)
        [broken] = await running.gateway.queue.intents(QueueFilter(ids=("send:k0",)))
        with pytest.raises(SendFailed, match="it ended as unknown: Its stored row cannot be read"):
            await running.gateway.send(message(text=text, key="k0"))
    # It may have been seen: nobody says that it was not sent.
    assert (broken.state, broken.reason) == (IntentState.UNKNOWN, Reason.BROKEN_ROW)
    assert sorted(end.state.value for end in ends) == ["delivered"] * (1 + others) + ["unknown"]
    assert texts(platform)[1:].count("later") == 1 + others


def astray(platform: Platform) -> Any:
    """Sends what is to be misplaced to another place."""
    send = platform.send

    async def misplaces(request: Any) -> Any:
        sent = await send(request)
        return receipt(sent.provider_id, direct("999")) if request.text == "elsewhere" else sent

    return misplaces


# ---------------------------------------------------------------- rows that are broken when a process starts


BROKEN_WORK = [("work", b"{"), ("work", b'{"id": "\xff"}'), ("session_id", b"\xff\xfe"), ("work", b'{"id": 5}')]
BROKEN_TASK = [("origin", b"nowhere"), ("task", b"\xff"), ("accepted_at", b"soon"), ("session_id", b"\xff")]


def spoil(path: Path, table: str, column: str, value: bytes, which: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        sql = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {which}"
        assert db.execute(sql, (value,)).rowcount == 1


@pytest.mark.parametrize(("column", "value"), BROKEN_WORK)
async def test_a_message_whose_row_is_broken_stops_no_start(
    path: Path, platform: Platform, column: str, value: bytes
) -> None:
    async def hang(_: Turn) -> None:
        await anyio.sleep_forever()

    async with serving(path, platform, agent=Echo(hang)) as running:
        for n in range(3):
            platform.say(f"m{n}", direct(str(n)), f"text {n}")
        await running.until(InboundAdmitted, 3)
    spoil(path, "inbox", column, value, "CAST(work AS TEXT) LIKE '%text 1%'")
    async with serving(path, platform) as running:
        await running.until(IntentSettled, 2)
        [ended] = [body for body in running.recorded(TurnEnded) if body.outcome == "failed"]
        [recovered] = running.recorded(ProcessRecovered)
        # It comes again under the id that it had, and is known.
        platform.say("m1", direct("1"), "text 1")
        await running.until(InboundDropped)
    assert (ended.reason, bool(ended.detail), recovered.inbounds) == (Reason.BROKEN_ROW, True, 2)
    assert sorted(texts(platform)) == ["you said text 0", "you said text 2"]
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        assert running.recorded(ProcessRecovered, TurnEnded) == []


@pytest.mark.parametrize(("column", "value"), BROKEN_TASK)
async def test_a_task_whose_row_is_broken_stops_no_start(
    path: Path, platform: Platform, column: str, value: bytes
) -> None:
    class Slow:
        def has(self, hand: str) -> bool:
            return hand == "clerk"

        async def run(self, task: HandTask) -> str:
            await anyio.sleep_forever()
            raise AssertionError

    async def ask(turn: Turn) -> None:
        await turn.delegate("clerk", turn.text)

    async with serving(path, platform, agent=Echo(ask), runner=Slow(), hands={"announce": "direct"}) as running:
        for n in range(3):
            platform.say(f"m{n}", direct(str(n)), f"text {n}")
        await running.until(DelegationStarted, 3)
    spoil(path, "delegations", column, value, "task = 'text 1'")
    async with serving(path, platform, hands={"announce": "direct"}) as running:
        await running.until(IntentSettled, 2)
        finished = running.recorded(DelegationFinished)
    assert sorted(str(body.reason) for body in finished) == ["broken-row", "process-died", "process-died"]
    assert {body.outcome for body in finished} == {HandOutcome.LOST}
    assert len(platform.sent) == 2
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        assert running.recorded(ProcessRecovered, DelegationFinished) == []


# ---------------------------------------------------------------- what is old


async def test_what_ended_long_ago_is_removed_by_and_by(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep_module, "_PRUNE_FIRST", 0.0)
    platform.capabilities = NONE
    platform.errors = [Ambiguous("no answer")]
    async with serving(path, platform, delivery=QUICK) as running:
        await ended(running, "unknown", key="doubt")
        platform.say("m1")
        await running.gateway.send(message(key="k1"))
        await running.until(IntentSettled, 3)
        assert running.recorded(StorePruned) == []
    async with serving(path, platform, delivery={**QUICK, "retention": 0.0}) as running:
        [pruned] = await running.until(StorePruned)
        assert [row.id for row in await running.gateway.queue.intents(QueueFilter())] == ["send:doubt"]
        assert len(await running.transcript(KEY)) == 3
        # It is forgotten, and may come again.
        assert (await running.gateway.send(message(key="k1"))).cached is False
    assert (pruned.intents, pruned.inbounds, pruned.sends, pruned.reason) == (2, 1, 1, Reason.RETENTION)
