"""A store of version 1 is brought up to date and its work goes on."""

import contextlib
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.contract.store_files import numbers, refusal, set_migrations, tables
from tests.support.contract.version_1 import KEY, ROOM_KEY, TOPIC_KEY, write_version_1
from tests.support.factories import direct, group, intent, receipt, room, session, work
from tests.support.stores import transcript_of
from trunkline.core.config import SessionConfig
from trunkline.core.events import EventLog
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.records.rows import CallbackFacts, IntentRow, LeftSession, NewSession, Participant, SessionRow
from trunkline.core.routing import session_key_for
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.commands import AckChunk, Admit, FinishTurn, ResetSession
from trunkline.core.store.delegations import FinishDelegation
from trunkline.core.store.queries import FindIntentFate, FindSession, ListOpenIntents, LoadIntents, LoadUnfinished
from trunkline.core.store.sqlite.connection import connect_file
from trunkline.core.store.sqlite.migrate import APPLICATION_ID, migrate, migrations, newest
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import Address, DelegationId, IntentKind, IntentState, SessionId

ANA, BEN, TOPIC, ROOM = direct("100"), direct("200"), group("-1007", thread="10"), room("777", parent="500")


@asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[SqliteStore, None]:
    """A store file whose writer runs."""
    store = SqliteStore(lambda: connect_file(path, durability="normal"), EventLog(lambda: 0.0).recorder("gateway"))
    await store.open()
    try:
        async with anyio.create_task_group() as group_of_tasks:
            group_of_tasks.start_soon(store.run)
            yield store
            group_of_tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store file of version 1."""
    path = tmp_path / "store.db"
    write_version_1(path)
    return path


def same(answer: Any) -> Any:
    return answer


def asks(
    place: Address, name: str, scope: str = "per-account-channel-peer", agent: str = "main", **fields: Any
) -> NewSession:
    """The session of a place under a scope."""
    config = SessionConfig.model_validate({"dm_scope": scope})

    def key_of(address: Address) -> str:
        return str(session_key_for(agent, address, config))

    return session(key_of(place), f"s-{name}", agent=agent, address=place, key_of=key_of, **fields)


async def says(store: SqliteStore, name: str, asked: NewSession) -> SessionRow:
    admission = await store.write(
        Admit(work=work(name, session_key=asked.key), identity=f"id-{name}", session=asked, now=9.0), same
    )
    assert admission.session is not None
    return admission.session


def session_row(key: str, name: str, **fields: Any) -> SessionRow:
    return SessionRow(key=key, id=SessionId(name), **{"generation": 1, "created": False, **fields})


pytestmark = pytest.mark.anyio


async def test_a_file_of_version_1_becomes_one_of_today(old: Path) -> None:
    async with opened(old):
        pass
    with contextlib.closing(sqlite3.connect(old)) as raw:
        assert numbers(raw) == (newest(), APPLICATION_ID)
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
            migrate(fresh)
            assert tables(raw) == tables(fresh)


async def test_conversations_of_version_1_go_on_in_their_sessions(old: Path) -> None:
    async with opened(old) as store:
        assert await says(store, "n1", asks(ANA, "n1")) == session_row(KEY, "s-ana")
        assert await says(store, "n2", asks(TOPIC, "n2")) == session_row(TOPIC_KEY, "s-topic")
        assert await says(store, "n3", asks(ROOM, "n3")) == session_row(ROOM_KEY, "s-room")
        refs = [line.ref for line in await transcript_of(store, KEY)]
        assert refs == ["m1", "m2", "m1.hand3.back", "n1"]
        assert [line.role for line in await transcript_of(store, ROOM_KEY)] == ["assistant", "user"]


async def test_messages_that_version_1_knew_are_still_known(old: Path) -> None:
    async with opened(old) as store:
        for name in ("old1", "m1", "m2", "wake1"):
            admission = await store.write(
                Admit(work=work("again"), identity=f"id-{name}", session=session(), now=9.0), same
            )
            assert admission.first == name


async def test_work_that_version_1_left_goes_on_in_its_session(old: Path) -> None:
    async with opened(old) as store:
        left = await store.read(LoadUnfinished())
        assert [(item.id, item.kind.value, found) for item, found in left.works] == [
            ("wake1", "wake", "s-main"),
            ("m2", "message", "s-ana"),
            ("m3", "message", "s-topic"),
            ("m1.hand3.back", "callback", "s-ana"),
        ]
        wake, message, topic, back = (item for item, _ in left.works)
        assert (wake.place, wake.reply_to, wake.peer.id) == (None, None, "schedule")
        assert (message.reply_to, message.peer.name, message.text) == (ANA, "Äna", "text of m2")
        assert (topic.place, topic.reply_to) == (TOPIC, TOPIC)
        assert back.callback == CallbackFacts(delegation=DelegationId("m1.hand3"), hand="clerk", outcome=HandOutcome.OK)
        # The end of the callback's turn is the end of its delegation.
        await store.write(FinishTurn(work=back, intents=[intent("m1.hand3.back.reply")], now=9.0), same)
        assert len((await store.read(LoadUnfinished())).works) == 3


async def test_intents_of_version_1_are_delivered_into_the_session_that_they_are_of(old: Path) -> None:
    async with opened(old) as store:
        places = await store.read(ListOpenIntents(after=0, limit=10))
        reply, sending, unmirrored = (await store.read(LoadIntents(ids=[one.id for one in places]))).rows
        first = intent("m1.reply", "one", "two", acked=1, created_at=3.0, session=SessionId("s-ana"))
        assert reply == msgspec.structs.replace(first, updated_at=reply.updated_at)
        assert (sending.progress.state, sending.progress.attempts, sending.address) == (IntentState.SENDING, 1, ROOM)
        assert (sending.kind, sending.session, sending.mirror_key) == (IntentKind.TOOL, None, ROOM_KEY)
        assert (unmirrored.mirror_key, unmirrored.progress.next_at, unmirrored.progress.reason) == (
            None,
            9.0,
            Reason.NOT_SENT,
        )
        assert [one.content.media for one in (reply, sending, unmirrored)] == [()] * 3
        # The first one is delivered after a reset, the second one after a move.
        await store.write(ResetSession(session=session(KEY, "s-new"), now=9.0), same)
        assert await mirrored(store, reply, asks(ANA, "x")) == session_row(KEY, "s-ana")
        assert await mirrored(store, sending, asks(ROOM, "x")) == session_row(ROOM_KEY, "s-room")
        fate = await store.read(FindIntentFate(intent=reply.id))
        assert fate is not None
        assert [one.provider_id for one in fate.receipts] == ["900", "901"]


async def mirrored(store: SqliteStore, row: IntentRow, asked: NewSession) -> SessionRow | None:
    """The session into which a delivery is mirrored."""
    return (
        await store.write(
            AckChunk(intent=row, receipt=receipt("901", address=row.address), mirror=asked, now=9.0, mirror_due=False),
            same,
        )
    ).mirror


async def test_hands_that_worked_for_version_1_bring_their_results_back(old: Path) -> None:
    ok = HandResult(outcome=HandOutcome.OK, text="here")
    async with opened(old) as store:
        accepted, running = (await store.read(LoadUnfinished())).delegations
        assert [(one.id, one.state.value, one.session) for one in (accepted, running)] == [
            ("m1.hand1", "accepted", "s-ana"),
            ("m1.hand2", "running", "s-ana"),
        ]
        assert (running.reply_to, running.origin, running.session_key) == (ANA, None, KEY)
        back = Admit(work=work("b1"), identity="callback/m1.hand1", session=asks(ANA, "x"), now=9.0)
        finished = await store.write(
            FinishDelegation(delegation=accepted.id, result=ok, callback=back, intents=[], now=9.0), same
        )
        assert finished.session == session_row(KEY, "s-ana")
        await store.write(ResetSession(session=session(KEY, "s-new"), now=9.0), same)
        late = Admit(work=work("b2"), identity="callback/m1.hand2", session=asks(ANA, "x"), now=9.0)
        assert (
            await store.write(
                FinishDelegation(delegation=running.id, result=ok, callback=late, intents=[], now=9.0), same
            )
        ).replaced
        for done in ("m1.hand3", "m1.hand4"):
            again = await store.write(
                FinishDelegation(delegation=DelegationId(done), result=ok, callback=None, intents=[], now=9.0), same
            )
            assert not again.first


async def test_places_of_version_1_take_their_sessions_along_when_the_scope_changes(old: Path) -> None:
    async with opened(old) as store:
        moved = await says(store, "n1", asks(ANA, "n1", "per-peer"))
        assert moved == session_row("main:*:*:direct:100", "s-ana", moved_from=KEY)
        await says(store, "n2", asks(ROOM, "n2", "per-peer"))
        assert (await store.read(FindSession(key=ROOM_KEY))) == session_row(ROOM_KEY, "s-room")


@pytest.mark.parametrize(
    ("agent", "taken"),
    [
        ("own", True),
        # Ana said something there, too, before she had a session of her own.
        ("ops", False),
        # The agent wakes up there.
        ("dev", False),
        ("main", False),
    ],
)
async def test_what_others_shared_in_version_1_is_not_taken_along(agent: str, taken: bool, old: Path) -> None:
    async with opened(old) as store:
        asked = asks(BEN, "n1", agent=agent)
        found = await says(store, "n1", asked)
        left = LeftSession(key=f"{agent}:main", id=f"s-{agent}")
        if taken:
            assert found == session_row(asked.key, f"s-{agent}", moved_from=f"{agent}:main")
        else:
            assert found == session_row(asked.key, "s-n1", created=True, left=left)


async def test_who_shared_a_session_in_version_1_counts(old: Path) -> None:
    async with opened(old) as store:
        for who, people in (("discord:100", 0), ("discord:200", 0), ("discord:300", 3)):
            person = Participant(name=who, today=same)
            asked = asks(direct(who.removeprefix("discord:")), who, "main", participant=person)
            assert (await says(store, who, asked)).people == people


@pytest.mark.parametrize("again", ["before", "after"])
async def test_a_migration_of_version_1_that_fails_is_undone_and_may_be_tried_again(
    again: str, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def content() -> list[str]:
        with contextlib.closing(sqlite3.connect(old)) as raw:
            return [*raw.iterdump(), str(numbers(raw))]

    before = content()
    (_, first), (_, second), *_ = migrations()
    broken = f"nonsense;{second}" if again == "before" else f"{second};INSERT INTO inbox (id) VALUES (NULL);"
    set_migrations(monkeypatch, first, broken)
    assert "migration 2 failed and was undone" in str(await refusal(old))
    assert content() == before
    monkeypatch.undo()
    async with opened(old) as store:
        assert len((await store.read(LoadUnfinished())).works) == 4


async def test_an_empty_store_of_version_1_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.executescript(f"{migrations()[0][1]};PRAGMA user_version=1;PRAGMA application_id={APPLICATION_ID};")
    async with opened(path) as store:
        assert (await says(store, "n1", asks(ANA, "n1"))).created
