"""What a batch of the retention sweep costs, counted in steps of SQLite's virtual machine."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from trunkline.core.store.commands import Prune
from trunkline.core.store.queue_admin import BATCH, SweepProgress
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.migrate import migrate

_NUMBERS = "WITH RECURSIVE up (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM up WHERE x < ?)"
_OLD, _CUTOFF = 10.0, 100.0
#: a row of each table that old rows are removed from
_FILL = {
    "intents": "INSERT INTO intents (id, state, kind, address, agent_id, chunks, created_at, updated_at)"
    f" {_NUMBERS} SELECT 'i' || x, ?, 'reply', '{{}}', 'main', '[]', {_OLD}, {_OLD} FROM up",
    "inbox": "INSERT INTO inbox (id, identity, kind, session_key, agent_id, state, work, admitted_at)"
    f" {_NUMBERS} SELECT 'm' || x, x, 'message', 's', 'main', ?, '', {_OLD} FROM up",
    "bindings": "INSERT INTO bindings (id, place, session_key, status, last_activity_at, body)"
    f" {_NUMBERS} SELECT 'b' || x, x, 's', ?, {_OLD}, '' FROM up",
}
_OVER = {"intents": "delivered", "inbox": "done", "bindings": "ended"}
_KEPT = {"intents": "sending", "inbox": "pending", "bindings": "active"}


@pytest.fixture
def raw() -> Iterator[sqlite3.Connection]:
    """An empty store in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        yield connection


def steps(raw: sqlite3.Connection, progress: SweepProgress) -> tuple[int, SweepProgress, bool]:
    """The steps of one batch, in tens; where the sweep goes on; whether it removed anything."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    raw.set_progress_handler(step, 10)
    found = execute(raw, Prune(cutoff=_CUTOFF, progress=progress))
    raw.set_progress_handler(None, 10)
    return count, found.progress, found.some


@pytest.mark.parametrize("table", _FILL)
def test_a_batch_costs_the_same_whatever_is_left(raw: sqlite3.Connection, table: str) -> None:
    costs: list[int] = []
    for rows in (2 * BATCH, 20 * BATCH):
        raw.execute(f"DELETE FROM {table}")
        raw.execute(_FILL[table], (rows, _OVER[table]))
        cost, _, removed = steps(raw, SweepProgress())
        assert removed
        costs.append(cost)
    assert costs[1] <= 1.05 * costs[0]


@pytest.mark.parametrize("table", _FILL)
def test_what_stays_is_visited_once_a_sweep(raw: sqlite3.Connection, table: str) -> None:
    raw.execute(_FILL[table], (10 * BATCH, _KEPT[table]))
    found: list[int] = []
    progress = SweepProgress()
    while not progress.over:
        cost, progress, removed = steps(raw, progress)
        found.append(cost)
        assert not removed
    assert len(found) == 11
    assert max(found[:-1]) <= 1.05 * min(found[:-1])
