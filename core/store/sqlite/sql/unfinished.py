"""The SQL that reads what an earlier process left unfinished. A row that cannot be read does not stop the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import BrokenRow, Unfinished, Work
from trunkline.core.states.intent import OPEN
from trunkline.core.store.delegations import FindDelegation
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.sqlite.sql.hands.delegation_columns import DELEGATION_COLUMNS, delegation_of
from trunkline.core.values import SessionId

T = TypeVar("T")
_work = msgspec.json.Decoder(Work).decode
# As bytes: invalid text would stop the whole statement.
_WORKS = (
    "SELECT n, CAST(id AS BLOB), CAST(work AS BLOB), CAST(session_id AS BLOB) FROM inbox WHERE state = 'pending'"
    " ORDER BY n"
)
_DELEGATIONS = f"SELECT n, {DELEGATION_COLUMNS} FROM delegations WHERE state IN ('accepted', 'running') ORDER BY n"  # noqa: S608 -- fixed text
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
    delegations, broken_delegations = _read(c.execute(_DELEGATIONS).fetchall(), lambda row: delegation_of(row[1:]))
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


def find_delegation(c: sqlite3.Connection, query: FindDelegation) -> DelegationRow | None:
    """Handle `FindDelegation`."""
    row = c.execute(f"SELECT {DELEGATION_COLUMNS} FROM delegations WHERE id = ?", (query.delegation,)).fetchone()  # noqa: S608 -- fixed text
    try:
        return None if row is None else delegation_of(row)
    except (ValueError, TypeError):
        return None


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
