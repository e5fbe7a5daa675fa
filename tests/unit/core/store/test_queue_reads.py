"""What operators see of a long queue is read without the messages that have arrived."""

import sqlite3
from contextlib import closing
from itertools import product

import pytest

from trunkline.core.store.commands import PurgeIntents
from trunkline.core.store.operators.queue import NOTICEABLE, ReadQueueOverview
from trunkline.core.store.queries import CountPurgeable
from trunkline.core.store.queue_admin import QueueFilter
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import IntentState


def put(raw: sqlite3.Connection, name: str, state: IntentState, untold: int) -> None:
    place = '{"channel": "webchat", "account": "default", "kind": "direct", "conversation": "ana"}'
    raw.execute(
        "INSERT INTO intents (id, state, kind, address, chunks, agent_id, untold, created_at, updated_at)"
        " VALUES (?, ?, 'reply', ?, '[\"hello\"]', 'main', ?, 1, 1)",
        (name, state.value, place, untold),
    )


@pytest.mark.parametrize("states", [(), NOTICEABLE, (IntentState.DEAD,), (IntentState.DELIVERED, IntentState.DEAD)])
def test_a_page_and_the_totals_are_those_of_a_look_at_every_row(states: tuple[IntentState, ...]) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrate(raw)
        assert ask(raw, ReadQueueOverview(which=QueueFilter(), now=1.0)).counts == {}
        every = list(product(IntentState, (0, 1), range(2)))
        for state, untold, n in every:
            put(raw, f"{state}{untold}{n}", state, untold)
        found = ask(raw, ReadQueueOverview(which=QueueFilter(states=states), limit=3, now=1.0))
    wanted = [f"{state}{untold}{n}" for state, untold, n in every if not states or state in states]
    assert [row.id for row in found.rows] == wanted[:3]
    assert found.more == max(len(wanted) - 3, 0)
    assert found.counts == dict.fromkeys(IntentState, 4)
    assert list(found.counts) == list(IntentState)


@pytest.mark.parametrize("states", [(IntentState.DEAD,), (IntentState.DEAD, IntentState.FAILED)])
def test_a_purge_of_states_reads_nothing_that_arrived(states: tuple[IntentState, ...]) -> None:
    asked: list[str] = []
    which = QueueFilter(states=states, channel="webchat", before=2.0)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrate(raw)
        put(raw, "i0", IntentState.DEAD, 0)
        raw.set_trace_callback(asked.append)
        assert ask(raw, CountPurgeable(which=which)) == {IntentState.DEAD: 1}
        assert execute(raw, PurgeIntents(which=which)).removed == 1
        raw.set_trace_callback(None)
        of_queue = [sql for sql in asked if "FROM intents" in sql and not sql.startswith("DELETE")]
        plan = [step for sql in of_queue for *_, step in raw.execute(f"EXPLAIN QUERY PLAN {sql}")]
    # The count, the first one of each state, and the batch.
    assert len(of_queue) == 2 + len(states)
    assert [step for step in plan if "intents" in step and "INDEX intents_bad (state=?" not in step] == []


def test_a_batch_of_a_purge_looks_at_a_bounded_part_and_at_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trunkline.core.store.sqlite.sql.queue._LOOKED_AT", 9)
    kept, found = QueueFilter(channel="webchat", before=2.0), list[tuple[int, int | None]]()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrate(raw)
        for n in range(30):
            put(raw, f"i{n}", IntentState.DELIVERED, 0)
        raw.execute("UPDATE intents SET updated_at = 3 WHERE n NOT IN (1, 2, 3, 12, 29)")
        raw.execute("DELETE FROM intents WHERE n BETWEEN 13 AND 27")
        progress: int | None = 0
        while progress is not None:
            done = execute(raw, PurgeIntents(which=kept, past=progress, limit=2))
            progress = done.progress
            found.append((done.removed, progress))
    # Two are a batch; then ten numbers; and nothing is looked for where nothing is.
    assert found == [(2, 2), (2, 12), (1, 37), (0, None)]


def test_the_list_of_what_needs_attention_reads_nothing_that_arrived() -> None:
    asked: list[str] = []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrate(raw)
        for n in range(3):
            put(raw, f"i{n}", IntentState.DEAD, 0)
        raw.set_trace_callback(asked.append)
        ask(raw, ReadQueueOverview(which=QueueFilter(states=NOTICEABLE), limit=1, now=1.0))
        raw.set_trace_callback(None)
        of_queue = [sql for sql in asked if "FROM intents" in sql]
        plan = [step for sql in of_queue for *_, step in raw.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert len(of_queue) >= 3, "the page, what comes behind it, and the totals"
    assert [step for step in plan if step.startswith("SCAN intents") and " INDEX " not in step] == []
