"""What a gateway does beside its work: transcript lines that were refused come later, and what is old goes."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import Capabilities, Filter, Idempotency, SendStatus
from core.errors import Ambiguous, PlaceGone
from core.events.bodies import IntentSettled, MirrorAppended, MirrorRefused, StorePruned
from core.reasons import Reason
from core.shell import upkeep as upkeep_module
from core.store import ops
from tests.unit._sending import Platform, Tried, ended, failing_at, message, serving, texts

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
        append = ops.append_mirror

        def refuse(*arguments: Any, **named: Any) -> bool:
            if self.errors:
                raise self.errors.pop(0)
            return append(*arguments, **named)

        monkeypatch.setattr(ops, "append_mirror", refuse)


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
        refused = running.told(MirrorRefused)
        assert await running.transcript(KEY) == [("assistant", text.replace(" ", "\n"))]
        assert await running.store.due_mirrors() == ()
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
        [refused] = running.told(MirrorRefused)
    assert (appended.partial, refused.reason) == (True, Reason.MIRROR_REFUSED)


async def test_a_line_that_is_looked_for_too_early_is_looked_for_again(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    Refusing(monkeypatch, *[sqlite3.IntegrityError("not today")] * 2)
    async with serving(path, platform, delivery=QUICK) as running:
        ack, looked = running.store.ack_chunk, list[bool]()

        async def late(*arguments: Any, mirror_due: bool = False) -> Any:
            # It is told as refused by now, and is not due yet.
            looked.append(mirror_due)
            await running.gateway._delivery.mirrors.store_due()
            return await ack(*arguments, mirror_due=mirror_due)

        running.store.ack_chunk = late  # pyright: ignore[reportAttributeAccessIssue]
        await running.gateway.send(message())
        await running.until(MirrorAppended)
        assert await running.transcript(KEY) == [("assistant", "hi")]
    assert looked == [True]


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
        assert running.told(StorePruned) == []
    async with serving(path, platform, delivery={**QUICK, "retention": 0.0}) as running:
        [pruned] = await running.until(StorePruned)
        assert [row.id for row in await running.gateway.queue.intents(Filter())] == ["send:doubt"]
        assert len(await running.transcript(KEY)) == 3
        # It is forgotten, and may come again.
        assert (await running.gateway.send(message(key="k1"))).cached is False
    assert (pruned.intents, pruned.inbounds, pruned.sends, pruned.reason) == (2, 1, 1, Reason.RETENTION)
