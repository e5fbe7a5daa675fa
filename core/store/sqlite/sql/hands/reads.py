"""The SQL that lists and shows delegations. A row that cannot be read does not stop the others."""

import sqlite3
from typing import Any

from trunkline.core.errors import StoreError
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store import delegations
from trunkline.core.store.queries import ListIntents
from trunkline.core.store.queue_admin import QueueFilter
from trunkline.core.store.sqlite.sql import queue
from trunkline.core.store.sqlite.sql.callbacks.posts import unknown
from trunkline.core.store.sqlite.sql.hands.delegation_columns import DELEGATION_COLUMNS, delegation_of, read_rows
from trunkline.core.values import DelegationId

_SHORT = DELEGATION_COLUMNS.replace("CAST(result AS BLOB)", "NULL")


def _where(which: delegations.DelegationFilter) -> tuple[str, list[Any]]:
    parts: list[str] = ["1"]
    values: list[Any] = []
    for column, some in (("state", which.states), ("callback", which.callbacks)):
        if some:
            parts.append(f"{column} IN ({', '.join('?' * len(some))})")
            values += [state.value for state in some]
    for column, value in (("hand", which.hand), ("agent_id", which.agent), ("session_id", which.session)):
        if value:
            parts.append(f"{column} = ?")
            values.append(value)
    return " AND ".join(parts), values


def list_delegations(c: sqlite3.Connection, query: delegations.ListDelegations) -> delegations.ListedDelegations:
    where, values = _where(query.which)
    if query.before is not None:
        where += " AND n < coalesce((SELECT n FROM delegations WHERE id = ?), 0)"
        values.append(query.before)
    sql = f"SELECT n, {_SHORT} FROM delegations WHERE {where} ORDER BY n DESC LIMIT ?"  # noqa: S608 -- fixed texts
    rows, broken = read_rows(c.execute(sql, (*values, query.limit)), lambda row: delegation_of(row[1:]))
    return delegations.ListedDelegations(rows=rows, broken=broken)


def count_delegations(c: sqlite3.Connection, query: delegations.CountDelegations) -> delegations.DelegationCounts:
    where, values = _where(query.which)
    sql = "SELECT {0}, count(*) FROM delegations WHERE {1} GROUP BY {0}"
    counts = [dict(c.execute(sql.format(column, where), values).fetchall()) for column in ("state", "callback")]
    return delegations.DelegationCounts(
        states={state: counts[0][state.value] for state in WorkState if state.value in counts[0]},
        callbacks={state: counts[1][state.value] for state in CallbackState if state.value in counts[1]},
        total=sum(counts[0].values()),
    )


def count_older(c: sqlite3.Connection, which: delegations.DelegationFilter, than: DelegationId) -> int:
    """How many delegations that a filter matches are older than one."""
    where, values = _where(which)
    sql = f"SELECT count(*) FROM delegations WHERE {where} AND n < (SELECT n FROM delegations WHERE id = ?)"  # noqa: S608 -- fixed texts
    (found,) = c.execute(sql, (*values, than)).fetchone()
    return found


def show_delegation(c: sqlite3.Connection, query: delegations.ShowDelegation) -> delegations.DelegationDetails:
    """Handle `ShowDelegation`. The error for an unknown id suggests similar ones."""
    name = query.delegation
    found = c.execute(f"SELECT n, {DELEGATION_COLUMNS} FROM delegations WHERE id = ?", (name,)).fetchone()  # noqa: S608 -- fixed texts
    if found is None:
        raise unknown(c, name)
    rows, broken = read_rows((found,), lambda row: delegation_of(row[1:]))
    if broken:
        raise StoreError(f"the row of delegation {name} cannot be read ({broken[0].problem})")
    ids = [intent for (intent,) in c.execute("SELECT id FROM intents WHERE delegation_id = ? ORDER BY n", (name,))]
    children = c.execute("SELECT id FROM delegations WHERE parent = ? ORDER BY n", (name,)).fetchall()
    which = QueueFilter(ids=tuple(ids))
    return delegations.DelegationDetails(
        row=rows[0],
        late=_late(c, name),
        intents=queue.list_intents(c, ListIntents(which=which, limit=len(ids))) if ids else (),
        children=tuple(DelegationId(child) for (child,) in children),
    )


def _late(c: sqlite3.Connection, delegation: str) -> tuple[delegations.LateResult, ...]:
    sql = "SELECT CAST(outcome AS BLOB), CAST(text AS BLOB), at FROM late_results WHERE delegation_id = ? ORDER BY n"
    late: list[delegations.LateResult] = []
    for outcome, text, at in c.execute(sql, (delegation,)):
        try:
            late.append(
                delegations.LateResult(
                    outcome=HandOutcome(outcome.decode()), text=text.decode("utf-8", "replace"), at=at
                )
            )
        except ValueError:
            continue
    return tuple(late)
