"""What changes do to transcripts: wherever the session is now, also when the store refuses a line at first."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.changing import Acting, Changing, acting, changing
from tests.support.small_gateway import ANA, KEY
from tests.support.stores import transcript_of
from trunkline import GatewayConfig
from trunkline.core.action_catalogue import Action
from trunkline.core.errors import Ambiguous, Refused
from trunkline.core.events.actions import TranscriptChanged
from trunkline.core.events.delivery import IntentSettled, MirrorRefused
from trunkline.core.events.gateway import SessionMoved
from trunkline.core.reasons import Reason
from trunkline.core.store.queries import ReadTranscript
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.values import Idempotency, IntentState, SessionId, TranscriptLine

pytestmark = pytest.mark.anyio

#: refuses what it names, until it is dropped
_REFUSE = "CREATE TRIGGER no BEFORE {} ON transcript BEGIN SELECT RAISE(ABORT, 'no'); END"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Acting]:
    tiny = acting()
    yield tiny
    tiny.close()


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


async def lines(running: Changing, session: str = "") -> list[TranscriptLine]:
    """The lines of a session by its id, else those of Ana's."""
    if session:
        return list(await running.store.read(ReadTranscript(session=SessionId(session))))
    return list(await transcript_of(running.store, KEY))


# ---------------------------------------------------------------- sessions


async def test_the_line_of_a_session_that_was_reset_is_changed_there(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        await running.send("old")
        reset = await running.gateway.reset_session("main", ANA)
        assert reset is not None
        [was] = sqlite_rows(path, "SELECT session_id FROM session_history")
        await running.change(Action.EDIT, "send:k", "new")
        await running.until(IntentSettled, 2)
        [line] = await lines(running, was)
        assert await lines(running) == []
        [changed] = running.recorded(TranscriptChanged)
    assert (line.text, line.was, changed.session_id, changed.session_key) == ("new", ("old",), was, KEY)


def sqlite_rows(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute(sql)]


async def test_the_line_of_a_session_that_has_another_key_now_is_changed(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        await running.send("old")
        await running.enqueue("second", "k2")
        await running.until(IntentSettled, 2)
        running.gateway.reload(GatewayConfig.model_validate({"session": {"dmScope": "per-peer"}}))
        platform.say("p1")
        await running.until(SessionMoved)
        await running.change(Action.EDIT, "1", "new")
        await running.until(IntentSettled, 4)
        found = list(await transcript_of(running.store, "main:*:*:direct:100"))
    assert [line.text for line in found][:2] == ["new", "second"]
    assert found[0].was == ("old",)


async def test_history_shows_agents_what_was_changed(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        await running.send("one")
        await running.send("two", "k2")
        await running.change(Action.EDIT, "send:k", "ONE")
        await running.change(Action.UNSEND, "send:k2")
        await running.until(IntentSettled, 4)
        first, second = await lines(running)
    assert (first.text, first.was, first.deleted) == ("ONE", ("one",), False)
    assert (second.text, second.was, second.deleted) == ("two", (), True)


async def test_an_edit_of_a_caption_changes_the_line_and_leaves_the_names_of_the_files(
    path: Path, platform: Acting
) -> None:
    async with changing(path, platform) as running:
        await running.send("see this", media=("/tmp/a.png",))
        await running.change(Action.EDIT, "send:k", "see that")
        await running.until(IntentSettled, 2)
        [line] = await lines(running)
    assert (line.text, line.was) == ("see that\na.png", ("see this\na.png",))
    assert [request.text for request in platform.carried_out] == ["see that"]


async def test_of_a_message_that_was_sent_in_part_the_sent_part_is_deleted(path: Path, anyio_backend: str) -> None:
    platform = acting()
    async with changing(path, platform, delivery={"backoff": ["1ms"]}) as running:
        platform.hold()
        await running.enqueue("word " * 1000)
        await running.change(Action.DELETE, "send:k")
        send = platform.send

        async def second_is_refused(request: Any) -> Any:
            if request.chunk:
                raise Refused("no")
            return await send(request)

        platform.send = second_is_refused  # pyright: ignore[reportAttributeAccessIssue]
        platform.held.set()
        _, deleted = await running.until(IntentSettled, 2)
        [line] = await lines(running)
    platform.close()
    assert (deleted.state, deleted.reason) == (IntentState.PARTIAL, Reason.NOTHING_TO_CHANGE)
    assert (line.partial, line.deleted) == (True, True)
    assert platform.seen == {}


# ---------------------------------------------------------------- lines that are refused


async def test_a_refused_change_of_a_line_is_stored_later(path: Path, platform: Acting) -> None:
    async with changing(path, platform, delivery={"watch": "200ms"}) as running:
        await running.send("old")
        run(path, _REFUSE.format("UPDATE"))
        await running.change(Action.EDIT, "send:k", "new")
        await running.until(IntentSettled, 2)
        assert len(running.recorded(MirrorRefused)) >= 1
        assert running.recorded(TranscriptChanged) == []
        run(path, "DROP TRIGGER no")
        await running.until(TranscriptChanged)
        [line] = await lines(running)
    assert (line.text, line.was) == ("new", ("old",))
    assert platform.seen == {(str(ANA), "1"): "new"}


async def test_a_change_of_a_line_that_is_still_refused_follows_it(path: Path, platform: Acting) -> None:
    async with changing(path, platform) as running:
        platform.say("p1")
        await running.until(IntentSettled)
        run(path, _REFUSE.format("INSERT"))
        await running.send("old")
        await running.change(Action.EDIT, "send:k", "new")
        await running.change(Action.DELETE, "send:k")
        await running.until(IntentSettled, 4)
        assert running.recorded(TranscriptChanged) == []
    # The next process stores them.
    run(path, "DROP TRIGGER no")
    async with changing(path, platform) as running:
        await running.until(TranscriptChanged, 2)
        line = (await lines(running))[-1]
    assert (line.text, line.was, line.deleted) == ("new", ("old",), True)


# ---------------------------------------------------------------- operators


async def test_an_operator_confirms_a_change_and_its_line_follows(path: Path, platform: Acting) -> None:
    async with changing(path, platform, delivery={"backoff": ["1ms"], "max_attempts": 1}) as running:
        await running.send("old")
        platform.lost = [Ambiguous("no answer")]
        row = await running.change(Action.EDIT, "send:k", "new")
        [_, parked] = await running.until(IntentSettled, 2)
        assert (parked.state, [line.text for line in await lines(running)]) == (IntentState.UNKNOWN, ["old"])
        await running.gateway.queue.resolve(row.id, QueueVerdict.SENT)
        await running.until(TranscriptChanged)
        assert [line.text for line in await lines(running)] == ["new"]


async def test_a_deletion_of_a_parked_message_is_done_when_both_are_resolved(path: Path, anyio_backend: str) -> None:
    platform = acting(idempotency=Idempotency.NONE)
    platform.hold()
    async with changing(path, platform) as running:
        platform.errors = [Ambiguous("no answer")]
        await running.enqueue("first")
        row = await running.change(Action.DELETE, "send:k")
        platform.held.set()
        await running.until(IntentSettled, 2)
        # Without an id there is still nothing to delete.
        await running.gateway.queue.resolve("send:k", QueueVerdict.SENT, provider_id="77")
        await running.gateway.queue.retry(row.id)
        with anyio.fail_after(10):
            await running.until(TranscriptChanged)
    platform.close()
    assert [request.message_id for request in platform.carried_out] == ["77"]
