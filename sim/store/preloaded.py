"""Rows that are on the disk before the run: sessions of an earlier version, and rows that cannot be read."""

import sqlite3
from collections.abc import Callable, Iterable

import msgspec

from trunkline.core.errors import KeyFormatError
from trunkline.core.keys import parse_v1
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.sql.sessions import lane_text
from trunkline.core.values import Address
from trunkline.sim.scenario.model.world import PreloadedSession

#: sessions of the upstream gateway are called so
_UPSTREAM = "agent:"


def write_stored(
    connection: sqlite3.Connection, sessions: Iterable[PreloadedSession], address: Callable[[str], Address]
) -> None:
    """Migrate a database and put sessions into it. `address`: the address of a place of the scenario."""
    migrate(connection)
    for session in sessions:
        place = None if session.place is None else address(session.place)
        _write_session(connection, session, place)
        for number, line in enumerate(session.lines, 1):
            role, _, text = line.partition(": ")
            connection.execute(
                "INSERT INTO transcript (session_id, role, text, ref, at) VALUES (?, ?, ?, ?, ?)",
                (session.id, role, text, f"stored/{session.id}/{number}", session.updated),
            )


def damage(connection: sqlite3.Connection, fits: Callable[[Address, str], bool]) -> int:
    """Truncate the texts of matching open intents that are not damaged yet, as a bad copy does; how many."""
    found = connection.execute(_OPEN).fetchall()
    hit = [n for n, address, chunks in found if fits(_place(address), next(iter(_texts(chunks)), ""))]
    connection.executemany("UPDATE intents SET chunks = substr(chunks, 1, 3) WHERE n = ?", [(n,) for n in hit])
    return len(hit)


_OPEN = "SELECT n, address, chunks FROM intents WHERE state IN ('prepared', 'sending') AND json_valid(chunks)"
_place = msgspec.json.Decoder(Address).decode
_texts = msgspec.json.Decoder(list[str]).decode


def _write_session(c: sqlite3.Connection, session: PreloadedSession, place: Address | None) -> None:
    where = None if place is None else msgspec.json.encode(place).decode()
    c.execute(
        "INSERT INTO session_map (session_key, agent_id, session_id, address, codec, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session.key, session.agent, session.id, where, _codec(session), session.updated, session.updated),
    )
    # Upstream has no such table: there, only the key names the place.
    if place is not None and _codec(session) == "v1":
        c.execute(
            "INSERT INTO session_places (agent_id, lane, session_key, address) VALUES (?, ?, ?, ?)",
            (session.agent, lane_text(place), session.key, where),
        )


def _codec(session: PreloadedSession) -> str:
    """The form of a key: declared in the file, else guessed from the key."""
    if session.codec is not None:
        return session.codec
    try:
        parse_v1(session.key)
    except KeyFormatError:
        return "openclaw"
    return "openclaw" if session.key.startswith(_UPSTREAM) else "v1"
