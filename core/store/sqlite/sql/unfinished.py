"""The SQL that reads what an earlier process left unfinished. A row that cannot be read does not stop the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.delivery.states import OPEN
from trunkline.core.hands.states import DelegationState
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.records import BrokenRow, DelegationRow, Unfinished, Work
from trunkline.core.values import Address, DelegationId, InboundId, SessionId, TurnId

T = TypeVar("T")
_work = msgspec.json.Decoder(Work).decode
_address = msgspec.json.Decoder(Address).decode
# As bytes: invalid text would stop the whole statement.
_WORKS = (
    "SELECT n, CAST(id AS BLOB), CAST(work AS BLOB), CAST(session_id AS BLOB) FROM inbox WHERE state = 'pending'"
    " ORDER BY n"
)
_DELEGATIONS = (
    "SELECT n, CAST(id AS BLOB), state, CAST(hand AS BLOB), CAST(task AS BLOB), CAST(agent_id AS BLOB),"
    " CAST(session_key AS BLOB), CAST(turn_id AS BLOB), CAST(inbound_id AS BLOB), CAST(origin AS BLOB), accepted_at,"
    " CAST(session_id AS BLOB), CAST(child_key AS BLOB), CAST(open_on AS BLOB) FROM delegations"
    " WHERE state IN ('accepted', 'running') ORDER BY n"
)
#: ended runs of open work, with one that has begun
_RUNS = (
    "SELECT id, runs + begun FROM inbox WHERE state = 'pending' AND runs + begun > 0 UNION ALL"
    " SELECT id, runs + begun FROM delegations WHERE state = 'running' AND runs + begun > 0"
)
_BEGUN = (
    "SELECT 1 FROM inbox WHERE state = 'pending' AND begun = 1 UNION ALL"
    " SELECT 1 FROM delegations WHERE state = 'running' AND begun = 1 LIMIT 1"
)


def load_unfinished(c: sqlite3.Connection, _: LoadUnfinished) -> Unfinished:
    """Handle `LoadUnfinished`."""
    works, broken_works = _read(c.execute(_WORKS).fetchall(), _work_of)
    delegations, broken_delegations = _read(c.execute(_DELEGATIONS).fetchall(), _delegation_of)
    marks = ", ".join(f"'{state.value}'" for state in sorted(OPEN))
    (intents,) = c.execute(f"SELECT count(*) FROM intents WHERE state IN ({marks})").fetchone()  # noqa: S608 -- names only
    runs = tuple((row[0], row[1]) for row in c.execute(_RUNS) if isinstance(row[0], str))
    return Unfinished(
        runs=runs,
        begun=c.execute(_BEGUN).fetchone() is not None,
        works=works,
        intents=intents,
        delegations=delegations,
        broken_works=broken_works,
        broken_delegations=broken_delegations,
    )


def _read(
    rows: Sequence[tuple[Any, ...]], read: Callable[[tuple[Any, ...]], T]
) -> tuple[tuple[T, ...], tuple[BrokenRow, ...]]:
    found: list[T] = []
    broken: list[BrokenRow] = []
    for row in rows:
        try:
            found.append(read(row))
        except (ValueError, TypeError) as error:
            name = row[1].decode("utf-8", "replace")
            broken.append(BrokenRow(n=row[0], id=name, problem=f"{type(error).__name__}: {error}"))
    return tuple(found), tuple(broken)


def _work_of(row: tuple[Any, ...]) -> tuple[Work, SessionId]:
    work = _work(row[2])
    if work.id != row[1].decode():
        raise ValueError(f"it is that of {work.id}")
    return work, SessionId((row[3] or b"").decode())


def _delegation_of(row: tuple[Any, ...]) -> DelegationRow:
    if not isinstance(row[10], int | float):
        raise TypeError("a number is none")
    return DelegationRow(
        id=DelegationId(row[1].decode()),
        state=DelegationState(row[2]),
        hand=row[3].decode(),
        task=row[4].decode(),
        agent=row[5].decode(),
        session_key=row[6].decode(),
        turn=TurnId(row[7].decode()),
        inbound=InboundId(row[8].decode()),
        origin=None if row[9] is None else _address(row[9]),
        accepted_at=row[10],
        session=None if row[11] is None else SessionId(row[11].decode()),
        child_key=None if row[12] is None else row[12].decode(),
        open_on=None if row[13] is None else row[13].decode(),
    )
