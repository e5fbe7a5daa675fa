"""Bulk handlers store the same rows and give the same answers as single ones, also when one command fails."""

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import changed, intent, receipt, room
from trunkline.core.records.rows import IntentRow, NewSession, SendRow, send_intent
from trunkline.core.store.commands import AckChunk, BeginSend, Enqueue, Write
from trunkline.core.store.port import answer
from trunkline.core.store.sqlite.connection import PendingWrite, _transact, pending  # pyright: ignore[reportPrivateUsage]
from trunkline.core.store.sqlite.handlers import RunSql, execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.sql.sessions import session_for
from trunkline.core.values import IntentKind, SessionId


@contextlib.contextmanager
def database() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as c:
        migrate(c)
        yield c


def place(n: int) -> NewSession:
    address = room(str(n))
    key = f"main:discord:default:channel:{n}"
    return NewSession(key=key, agent="main", id=SessionId(f"s{n}"), address=address, key_of=lambda _: key)


def asked(key: str, where: int) -> tuple[SendRow, IntentRow]:
    new = place(where)
    send = SendRow(key=key, intent=send_intent(key, 1), tries=1, session_key=new.key, channel="discord")
    row = intent(send.intent, f"text of {key}", address=new.address, mirror_key=new.key)
    return send, msgspec.structs.replace(row, kind=IntentKind.SEND)


def send_write(key: str, where: int, *, in_bulk: bool, entry: bool = False) -> PendingWrite:
    send, row = asked(key, where)
    new = place(where) if entry else None
    return _write(BeginSend(send=send, intent=row, entry=new, again=lambda _: False, now=2.0), in_bulk=in_bulk)


def ack_write(
    key: str, where: int, *, in_bulk: bool, mirrored: bool = True, session: str | None = None
) -> PendingWrite:
    _, row = asked(key, where)
    row = changed(row, attempts=1, session=None if session is None else SessionId(session))
    mirror, got = place(where) if mirrored else None, receipt(f"m-{key}", address=row.address)
    return _write(AckChunk(intent=row, receipt=got, mirror=mirror, now=3.0, mirror_due=False), in_bulk=in_bulk)


def _write(command: Write[Any], *, in_bulk: bool) -> PendingWrite:
    made = pending(command, answer)
    assert made.bulk is not None
    return made if in_bulk else msgspec.structs.replace(made, bulk=None)


def everything(c: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    tables = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: c.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in tables}


def played(steps: list[list[PendingWrite]]) -> tuple[dict[str, list[tuple[Any, ...]]], list[Any]]:
    with database() as c:
        for n in range(3):
            session_for(c, place(n), 1.0)
        answers = [_transact(c, writes, None) for writes in steps]
        return everything(c), [[_plain(answer) for answer in batch] for batch in answers]


def _plain(answer: Any) -> str:
    return repr(answer)


#: key, conversation, whether it is mirrored; every third key asks for its session
SENDS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 4), st.booleans()), min_size=1, max_size=300)


@given(SENDS)
def test_sends_and_their_ends_are_stored_as_they_are_singly(sends: list[tuple[int, int, bool]]) -> None:
    def steps(*, in_bulk: bool) -> list[list[PendingWrite]]:
        known: dict[int, tuple[int, bool]] = {}
        for key, where, mirrored in sends:
            known.setdefault(key, (where, mirrored))
        return [
            [send_write(f"k{key}", where, in_bulk=in_bulk, entry=key % 3 == 0) for key, where, _ in sends],
            [
                ack_write(f"k{key}", where, in_bulk=in_bulk, mirrored=mirrored)
                for key, (where, mirrored) in known.items()
            ],
        ]

    assert played(steps(in_bulk=True)) == played(steps(in_bulk=False))


@pytest.mark.parametrize("in_bulk", [True, False])
def test_a_key_that_was_tried_again_is_known_without_its_first_try(in_bulk: bool) -> None:
    with database() as c:
        session_for(c, place(1), 1.0)
        send, row = asked("k3", 1)
        execute(c, BeginSend(send=send, intent=row, entry=None, again=lambda _: False, now=2.0))
        # It has failed, and its client asks again.
        c.execute("UPDATE intents SET state = 'failed'")
        again = execute(c, BeginSend(send=send, intent=row, entry=None, again=lambda _: True, now=3.0))
        assert (again.new, again.send.tries) == (True, 2)
        c.execute("DELETE FROM intents WHERE id = 'send:k3'")
        answers = _transact(c, [send_write(f"k{n}", 1, in_bulk=in_bulk) for n in range(10)], None)
        assert [n for n, answer in enumerate(answers) if not answer.new] == [3]
        assert answers[3].send == again.send


def test_many_go_in_with_few_statements() -> None:
    with database() as c:
        session_for(c, place(1), 1.0)
        statements: list[str] = []
        c.set_trace_callback(statements.append)
        _transact(c, [send_write(f"k{n}", 1, in_bulk=True) for n in range(200)], None)
        assert sum(one.startswith("INSERT") for one in statements) <= 2 * 5


def test_one_that_is_odd_harms_no_other() -> None:
    with database() as c:
        session_for(c, place(1), 1.0)
        _transact(c, [send_write(f"k{n}", 1, in_bulk=True) for n in range(20)], None)
        # The seventh is acked already.
        _transact(c, [ack_write("k7", 1, in_bulk=True)], None)
        answers = _transact(c, [ack_write(f"k{n}", 1, in_bulk=True) for n in range(20)], None)
        assert [n for n, answer in enumerate(answers) if "IllegalTransition" in repr(answer)] == [7]
        assert c.execute("SELECT count(*) FROM intents WHERE state = 'delivered'").fetchone() == (20,)
        assert c.execute("SELECT count(*) FROM transcript").fetchone() == (20,)


@pytest.mark.parametrize("session", ["s1", "gone"])
def test_an_answer_stays_in_its_own_session(session: str) -> None:
    def steps(*, in_bulk: bool) -> list[list[PendingWrite]]:
        keys = [f"k{n}" for n in range(12)]
        return [
            [send_write(key, 1, in_bulk=in_bulk) for key in keys],
            [ack_write(key, 1, in_bulk=in_bulk, session=session) for key in keys],
        ]

    assert played(steps(in_bulk=True)) == played(steps(in_bulk=False))


def test_other_writes_keep_their_place_between_them() -> None:
    with database() as c:
        session_for(c, place(1), 1.0)
        reply = intent("reply", "text", address=room("1"))
        between = pending(Enqueue(intent=reply, now=2.0), answer)
        sends = [send_write(f"k{n}", 1, in_bulk=True) for n in range(20)]
        _transact(c, [*sends[:10], between, *sends[10:]], None)
        ids = [row[0] for row in c.execute("SELECT id FROM intents ORDER BY n")]
        assert ids == [*(f"send:k{n}" for n in range(10)), "reply", *(f"send:k{n}" for n in range(10, 20))]


def test_an_error_of_the_statement_is_the_fault_of_its_write_and_is_not_tried_for_ever() -> None:
    with database() as c:
        bad = pending(RunSql(op=lambda c: c.execute("SELECT * FROM nowhere")), answer)
        session_for(c, place(1), 1.0)
        answers = _transact(c, [send_write("k1", 1, in_bulk=True), bad, send_write("k2", 1, in_bulk=True)], None)
        assert ["no such table" in repr(answer) for answer in answers] == [False, True, False]
        assert c.execute("SELECT count(*) FROM intents").fetchone() == (2,)
