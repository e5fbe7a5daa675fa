"""Defects of stores in sessions and transcripts: single commands, done as real gateways did them."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from trunkline.core.store.commands import AcceptDelegation, AckChunk, Admit, FinishTurn, MigrateKeys
from trunkline.core.store.queries import FindSession, FindSessionById
from trunkline.core.store.records import SessionRow
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql, execute
from trunkline.core.values import IntentId
from trunkline.sim.run.wiring import Wiring
from trunkline.sim.store.rewired import RewiredStore

_COLUMNS = "session_key, agent_id, session_id, generation, address, entry, codec, created_at, updated_at"


def _lose(c: sqlite3.Connection, where: str, *values: object) -> None:
    """Remove sessions from the map; their ids are never used again."""
    gone = f"SELECT session_id, session_key, generation, 'lost', 0 FROM session_map {where}"  # noqa: S608
    c.execute(f"INSERT OR IGNORE INTO session_history {gone}", values)
    c.execute(f"DELETE FROM session_map {where}", values)  # noqa: S608


async def skip_migration(store: RewiredStore, command: MigrateKeys, story: Any, then: Any) -> Any:
    """Take stored keys as they are, in whatever form."""
    return story(None)


def admit_by_key_only(command: Admit) -> Admit:
    """Look for the new key exactly, and ignore the key that the place had before."""
    return msgspec.structs.replace(command, session=msgspec.structs.replace(command.session, key_of=None))


async def admit_in_two_steps(store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
    """Look for the session in one step, and create it in another: the last one to create it wins."""
    missing = await store.inner.read(FindSession(key=command.session.key)) is None

    def write(c: sqlite3.Connection) -> Any:
        if missing:
            _lose(c, "WHERE session_key = ?", command.session.key)
        return execute(c, command)

    return await store.inner.write(RunSql(op=write), story, then)


class _Snapshot:
    """Reads the whole session map at an admission, and writes it back at the end of the turn."""

    rows: list[tuple[Any, ...]] | None = None

    async def admit(self, store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
        """Take a snapshot, if there is none."""
        if self.rows is None:
            sql = f"SELECT {_COLUMNS} FROM session_map"  # noqa: S608 -- the text above
            self.rows = await store.inner.read(ReadSql(op=lambda c: c.execute(sql).fetchall()))
        return await store.inner.write(command, story, then)

    async def finish_turn(self, store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
        """Write the snapshot back, with only the turn's own entry up to date: what others wrote is gone."""
        snapshot, self.rows = self.rows or [], None

        def write(c: sqlite3.Connection) -> tuple[IntentId, ...]:
            own = c.execute(
                f"SELECT {_COLUMNS} FROM session_map WHERE session_key = ?",  # noqa: S608
                (command.work.session_key,),
            ).fetchall()
            _lose(c, "")
            marks = ", ".join("?" * len(_COLUMNS.split(",")))
            rows = f"INSERT OR REPLACE INTO session_map ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
            c.executemany(rows, [*snapshot, *own])
            return execute(c, command)

        return await store.inner.write(RunSql(op=write), story, then)


def install_snapshot(wiring: Wiring) -> None:
    """Write stale snapshots of the session map."""
    snapshot = _Snapshot()
    wiring.replace_write(Admit, snapshot.admit)
    wiring.replace_write(FinishTurn, snapshot.finish_turn)


async def _session_of_same_key(store: RewiredStore, query: FindSessionById) -> SessionRow | None:
    """The session that has the key now, when the one asked for was reset."""
    found = await store.inner.read(query)
    sql = "SELECT session_key FROM session_history WHERE session_id = ?"
    rows = await store.inner.read(ReadSql(op=lambda c: c.execute(sql, (query.session,)).fetchall()))
    return await store.inner.read(FindSession(key=rows[0][0])) if found is None and rows else found


def install_unfenced_delegations(wiring: Wiring) -> None:
    """A delegation belongs to the key of its requester, whichever session has it."""
    wiring.replace_read(FindSessionById, _session_of_same_key)
    wiring.change_write(
        AcceptDelegation,
        lambda command: msgspec.structs.replace(command, row=msgspec.structs.replace(command.row, session=None)),
    )


def forget_refused_mirror(command: AckChunk) -> AckChunk:
    """Store the receipt, and drop the transcript line that was refused with it."""
    return msgspec.structs.replace(command, mirror_due=False)
