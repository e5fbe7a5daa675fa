"""Notes about what did not arrive: refused ones come later, also after a restart, and once."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.sending import Platform, message, serving
from trunkline.core.errors import PlaceGone, SendFailed
from trunkline.core.events.delivery import IntentSettled, MirrorRefused
from trunkline.core.events.gateway import TranscriptAppended
from trunkline.core.runtime.operators import maintenance
from trunkline.core.store.queries import ListDueMirrors
from trunkline.core.store.sqlite.sql import ends
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio
KEY = "main:discord:default:direct:100"
NOTE = "The message to discord:default/100 did not arrive (failed, place-gone)."
QUICK: dict[str, Any] = {"watch": "1ms", "backoff": ["1ms"], "max_attempts": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


class Refusing:
    """Has the store refuse notes, for as long as `errors` are left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.errors = [sqlite3.IntegrityError("not today")] * count
        append = ends.append_note

        def refuse(*arguments: Any) -> bool:
            if self.errors:
                raise self.errors.pop()
            return append(*arguments)

        monkeypatch.setattr(ends, "append_note", refuse)


async def failed(running: Any, platform: Platform, key: str = "k1") -> None:
    platform.errors = [PlaceGone("gone")]
    with pytest.raises(SendFailed):
        await running.gateway.send(message(key=key))


async def test_what_fails_is_noted_with_its_end(path: Path, platform: Platform) -> None:
    async with serving(path, platform, delivery=QUICK) as running:
        await failed(running, platform)
        [note] = await running.notes(KEY)
        assert note.startswith(NOTE)
        assert running.recorded(MirrorRefused) == []


async def test_a_refused_note_stops_no_end_and_comes_later(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_MIRROR_FIRST", 0.001)
    # In the batch, singly, and once more when it is tried later.
    refusing = Refusing(monkeypatch, 4)
    async with serving(path, platform, delivery=QUICK) as running:
        await failed(running, platform)
        [appended] = await running.until(TranscriptAppended)
        assert appended.role == "delivery"
        assert await running.store.read(ListDueMirrors()) == ()
        assert len(await running.notes(KEY)) == 1
        assert len(running.recorded(MirrorRefused)) == 2
    assert refusing.errors == []


async def test_a_note_that_was_refused_until_the_end_is_there_after_a_restart(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = Refusing(monkeypatch, 1000)
    async with serving(path, platform, delivery=QUICK) as running:
        await failed(running, platform)
        assert await running.notes(KEY) == []
    refusing.errors.clear()
    async with serving(path, platform) as running:
        await running.until(TranscriptAppended)
        assert len(await running.notes(KEY)) == 1


async def test_what_fails_once_more_has_one_note_and_what_arrives_then_is_mirrored(
    path: Path, platform: Platform
) -> None:
    async with serving(path, platform, delivery=QUICK) as running:
        await failed(running, platform)
        platform.errors = [PlaceGone("gone")]
        await running.gateway.queue.retry("send:k1")
        await running.until(IntentSettled, 2)
        assert len(await running.notes(KEY)) == 1
        await running.gateway.queue.retry("send:k1")
        await running.until(IntentSettled, 3)
        assert [body.state for body in running.recorded(IntentSettled)][-1] is IntentState.DELIVERED
        assert len(await running.notes(KEY)) == 1
        assert await running.transcript(KEY) == [("assistant", "hi")]
