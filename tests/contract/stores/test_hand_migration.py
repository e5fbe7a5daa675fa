"""Delegations of earlier versions: what their one state becomes in the two columns of today."""

import contextlib
import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackEvent, CallbackState, WorkState
from trunkline.core.store.commands import ResolveIntent, RetryIntent
from trunkline.core.store.delegations import ChangeCallback, DelegationFilter, ListDelegations, ShowDelegation
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import APPLICATION_ID, migrate, migrations, newest
from trunkline.core.values import DelegationId

HANDS = 7
PLACE = '{"channel":"discord","account":"default","kind":"direct","conversation":"100"}'
C, W = CallbackState, WorkState


def add(raw: sqlite3.Connection, table: str, **row: Any) -> None:
    marks = ", ".join("?" * len(row))
    raw.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def delegation(raw: sqlite3.Connection, name: str, state: str, outcome: str | None = None, **intents: str) -> None:
    """A delegation as it was stored, and its messages by name and state."""
    whose = {"agent_id": "main", "session_key": "main:discord:default:direct:100"}
    add(
        raw,
        "delegations",
        id=name,
        state=state,
        hand="clerk",
        task="count",
        turn_id="t-m1",
        inbound_id="m1",
        origin=PLACE,
        outcome=outcome,
        result=None if outcome is None else "three",
        accepted_at=1.0,
        finished_at=None if outcome is None else 2.0,
        **whose,
    )
    for message, fates in intents.items():
        fate, _, reason = fates.partition(" ")
        add(
            raw,
            "intents",
            id=f"{name}.{message}",
            state=fate,
            kind="notice" if message in ("one.notice", "post1") else "reply",
            reason=reason or None,
            address=PLACE,
            chunks='["three"]',
            receipts="[]",
            agent_id="main",
            delegation_id=name,
            created_at=3.0,
            updated_at=3.0,
        )


#: name, state, outcome and messages before; both columns after
CASES: list[tuple[str, str, str | None, dict[str, str], WorkState, CallbackState]] = [
    ("a", "accepted", None, {}, W.ACCEPTED, C.WAITING),
    ("b", "running", None, {}, W.RUNNING, C.WAITING),
    ("c", "finished", "ok", {}, W.SUCCEEDED, C.PENDING_TURN),
    ("d", "finished", "error", {}, W.FAILED, C.PENDING_TURN),
    ("e", "finished", "timeout", {}, W.TIMED_OUT, C.PENDING_TURN),
    ("f", "finished", "lost", {}, W.LOST, C.PENDING_TURN),
    ("g", "told", "ok", {"one": "delivered"}, W.SUCCEEDED, C.DELIVERED),
    ("h", "told", "ok", {"one": "partial", "two": "failed"}, W.SUCCEEDED, C.PARKED),
    ("h2", "told", "ok", {"one": "delivered", "two": "partial"}, W.SUCCEEDED, C.PARKED),
    ("i", "told", "ok", {"one": "delivered", "two": "prepared"}, W.SUCCEEDED, C.QUEUED),
    ("j", "told", "error", {"one": "sending"}, W.FAILED, C.QUEUED),
    ("k", "told", "ok", {"one": "unknown", "two": "failed"}, W.SUCCEEDED, C.PARKED),
    ("l", "told", "timeout", {"one": "failed"}, W.TIMED_OUT, C.UNDELIVERABLE),
    ("m", "told", "ok", {"one": "dead"}, W.SUCCEEDED, C.UNDELIVERABLE),
    ("n", "told", "ok", {"one": "expired", "two": "cancelled"}, W.SUCCEEDED, C.UNDELIVERABLE),
    ("o", "told", "ok", {"one": "cancelled"}, W.SUCCEEDED, C.SUPPRESSED),
    ("p", "told", "ok", {}, W.SUCCEEDED, C.SUPPRESSED),
    ("q", "told", "lost", {"one": "misplaced"}, W.LOST, C.UNDELIVERABLE),
    # A doubt that an operator has given up, and a notice that a message failed.
    ("r", "told", "ok", {"one": "unknown abandoned"}, W.SUCCEEDED, C.UNDELIVERABLE),
    ("s", "told", "ok", {"one": "failed", "one.notice": "delivered"}, W.SUCCEEDED, C.UNDELIVERABLE),
    ("t", "told", "ok", {"post1": "delivered"}, W.SUCCEEDED, C.DELIVERED),
]


@pytest.fixture(params=range(1, HANDS))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[sqlite3.Connection]:
    """A store of each earlier version, with a delegation for every case."""
    version: int = request.param
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as raw:
        for _, sql in migrations()[:version]:
            raw.executescript(f"BEGIN;{sql};COMMIT;")
        raw.execute(f"PRAGMA user_version={version}")
        raw.execute(f"PRAGMA application_id={APPLICATION_ID}")
        for name, state, outcome, intents, *_ in CASES:
            delegation(raw, name, state, outcome, **intents)
        yield raw


def test_each_state_of_an_earlier_version_becomes_two(old: sqlite3.Connection) -> None:
    (version,) = old.execute("PRAGMA user_version").fetchone()
    assert migrate(old) == newest() - version
    listed = ask(old, ListDelegations(which=DelegationFilter()))
    assert listed.broken == ()
    found = {row.id: (row.state, row.callback) for row in listed.rows}
    assert found == {name: (work, callback) for name, _, _, _, work, callback in CASES}
    for row in listed.rows:
        assert (row.reply_to is not None, row.origin, row.depth, row.kind.value) == (True, None, 1, "function")
        assert row.callback_reason is None
    left = ask(old, LoadUnfinished())
    assert [row.id for row in left.delegations] == ["a", "b"]
    assert left.broken_delegations == ()


def test_reports_of_an_earlier_version_go_on(old: sqlite3.Connection) -> None:
    migrate(old)
    execute(old, RetryIntent(intent="m.one", now=5.0))
    assert callback(old, "m") == (C.QUEUED, Reason.OPERATOR_RETRY)
    execute(old, ResolveIntent(intent="k.one", verdict=QueueVerdict.SENT, now=5.0))
    assert callback(old, "k") == (C.DELIVERED, None)
    begun = execute(old, ChangeCallback(delegation=DelegationId("c"), event=CallbackEvent.BEGIN))
    assert begun is not None
    assert callback(old, "c") == (C.IN_TURN, None)


def callback(raw: sqlite3.Connection, name: str) -> tuple[CallbackState, Reason | None]:
    row = ask(raw, ShowDelegation(delegation=name)).row
    return row.callback, row.callback_reason
