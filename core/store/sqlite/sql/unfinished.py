"""The SQL that reads what an earlier process left unfinished. A row that cannot be read does not stop the others."""

import sqlite3
from typing import Any

import msgspec

from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import Runs, Unfinished, Work
from trunkline.core.states.intent import OPEN
from trunkline.core.store.delegations import FindDelegation
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.sqlite.sql.hands.delegation_columns import DELEGATION_COLUMNS, delegation_of, read_rows
from trunkline.core.store.sqlite.sql.intent_reads import open_intent
from trunkline.core.values import SessionId

_work = msgspec.json.Decoder(Work).decode
# As bytes: invalid text would stop the whole statement.
_WORKS = (
    "SELECT n, CAST(id AS BLOB), CAST(work AS BLOB), CAST(session_id AS BLOB) FROM inbox WHERE state = 'pending'"
    " ORDER BY n"
)
_DELEGATIONS = f"SELECT n, {DELEGATION_COLUMNS} FROM delegations WHERE state IN ('accepted', 'running') ORDER BY n"  # noqa: S608 -- fixed text
#: runs of open work: those that ended with their process, those of them that are charged, and one that has begun
_RUNS = (
    "SELECT id, runs, charged, begun FROM inbox WHERE state = 'pending' AND runs + begun > 0 UNION ALL"
    " SELECT id, runs, runs, begun FROM delegations WHERE state = 'running' AND runs + begun > 0"
)
#: the first condition is that of an index; which of them are repeated is decided when somebody writes there
_UNHEARD = (
    "SELECT n, id, CAST(address AS BLOB), NULL FROM intents WHERE state NOT IN ('prepared', 'sending', 'delivered')"
    " AND kind = 'notice' AND state NOT IN ('cancelled', 'misplaced') AND acked = 0 ORDER BY n"
)


def load_unfinished(c: sqlite3.Connection, _: LoadUnfinished) -> Unfinished:
    works, broken_works = read_rows(c.execute(_WORKS), _work_of)
    delegations, broken_delegations = read_rows(c.execute(_DELEGATIONS), lambda row: delegation_of(row[1:]))
    marks = ", ".join(f"'{state.value}'" for state in sorted(OPEN))
    (intents,) = c.execute(f"SELECT count(*) FROM intents WHERE state IN ({marks})").fetchone()  # noqa: S608 -- names only
    runs = {row[0]: Runs(*row[1:]) for row in c.execute(_RUNS) if isinstance(row[0], str)}
    return Unfinished(
        runs=runs,
        works=works,
        intents=intents,
        unheard=tuple((notice.id, notice.address) for notice in map(open_intent, c.execute(_UNHEARD))),
        delegations=delegations,
        broken_works=broken_works,
        broken_delegations=broken_delegations,
    )


def find_delegation(c: sqlite3.Connection, query: FindDelegation) -> DelegationRow | None:
    row = c.execute(f"SELECT {DELEGATION_COLUMNS} FROM delegations WHERE id = ?", (query.delegation,)).fetchone()  # noqa: S608 -- fixed text
    try:
        return None if row is None else delegation_of(row)
    except (ValueError, TypeError):
        return None


def _work_of(row: tuple[Any, ...]) -> tuple[Work, SessionId]:
    work = _work(row[2])
    if work.id != row[1].decode():
        raise ValueError(f"it is that of {work.id}")
    return work, SessionId((row[3] or b"").decode())
