"""The SQL that gives sessions another key: moved when scopes change, left behind, migrated from older key forms."""

import sqlite3

import msgspec

from trunkline.core.keys import Migration, StoredKey
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import LeftSession, NewSession, SessionRow
from trunkline.core.store.commands import MigrateKeys
from trunkline.core.store.sqlite.sql.session_lookup import find_by_id, find_by_key, lane_text
from trunkline.core.values import Address

_json = msgspec.json.Encoder().encode
_address = msgspec.json.Decoder(Address).decode
#: codec of a key that cannot be read; it is reported once
UNREADABLE = "unreadable"
#: lane of work that comes from no place
_NOWHERE = ""


def tie(c: sqlite3.Connection, new: NewSession, key: str) -> None:
    """Note the key of a place."""
    assert new.address is not None
    c.execute(
        "INSERT OR REPLACE INTO session_places (agent_id, lane, session_key, address) VALUES (?, ?, ?, ?)",
        (new.agent, lane_text(new.address), key, _json(new.address).decode()),
    )


def tie_nowhere(c: sqlite3.Connection, agent: str, key: str) -> None:
    """Note a session of work that comes from no place: a place must not move it."""
    c.execute(
        "INSERT INTO session_places (agent_id, lane, session_key) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET session_key = excluded.session_key",
        (agent, _NOWHERE, key),
    )


def owns_session(c: sqlite3.Connection, tied: str, new: NewSession) -> bool:
    """Whether a place may move the session it was tied to under its new key.

    It may when every place that ever had the session has the new key under today's configuration.
    """
    assert new.key_of is not None
    assert new.address is not None
    before = c.execute("SELECT shared FROM session_map WHERE session_key = ?", (tied,)).fetchone()
    if before is None or before[0]:
        return False
    others = c.execute(
        "SELECT agent_id, address FROM session_places WHERE session_key = ? AND NOT (agent_id = ? AND lane = ?)",
        (tied, new.agent, lane_text(new.address)),
    )
    return all(
        agent == new.agent and address is not None and new.key_of(_address(address)) == new.key
        for agent, address in others
    )


def move(c: sqlite3.Connection, before: str, new: NewSession, now: float) -> SessionRow:
    """Give a session another key, with all that belongs to it."""
    c.execute(
        "UPDATE session_map SET session_key = ?, codec = ?, updated_at = ? WHERE session_key = ?",
        (new.key, new.codec, now, before),
    )
    _retie(c, before, new.key)
    _lead(c, before, new.key)
    moved = find_by_key(c, new.key)
    assert moved is not None
    return msgspec.structs.replace(moved, moved_from=before)


def leave(c: sqlite3.Connection, before: str, new: NewSession) -> LeftSession | None:
    """Tie a place to another session. The one it leaves stays as it is, and no place can move it any more."""
    assert new.address is not None
    lane = lane_text(new.address)
    tie(c, new, new.key)
    c.execute("UPDATE session_map SET shared = 1 WHERE session_key = ?", (before,))
    # It may be on its way back to a session that it left before.
    c.execute(
        "DELETE FROM session_left WHERE lane = ? AND session_id IN"
        " (SELECT session_id FROM session_map WHERE session_key = ?)",
        (lane, new.key),
    )
    old = find_by_key(c, before)
    if old is None:
        return None
    c.execute("INSERT OR IGNORE INTO session_left (session_id, lane) VALUES (?, ?)", (old.id, lane))
    return LeftSession(key=before, id=old.id)


def _retie(c: sqlite3.Connection, old: str, new: str) -> None:
    """Give the places, people and bindings of a key, and the older keys that lead to it, to another key."""
    c.execute("UPDATE session_places SET session_key = ? WHERE session_key = ?", (new, old))
    c.execute("UPDATE OR REPLACE session_people SET session_key = ? WHERE session_key = ?", (new, old))
    c.execute("UPDATE session_moves SET new_key = ? WHERE new_key = ?", (new, old))
    c.execute(
        "UPDATE bindings SET session_key = ?, body = json_set(body, '$.target_session_key', ?)"
        " WHERE session_key = ? AND status <> 'ended' AND json_valid(body)",
        (new, new, old),
    )


def _lead(c: sqlite3.Connection, old: str, new: str) -> None:
    c.execute("INSERT OR REPLACE INTO session_moves (old_key, new_key) VALUES (?, ?)", (old, new))


def remember(c: sqlite3.Connection, row: SessionRow, reason: str, now: float) -> None:
    """Put a session into the history: no key leads to it any more."""
    c.execute(
        "INSERT INTO session_history (session_id, session_key, generation, reason, ended_at) VALUES (?, ?, ?, ?, ?)",
        (row.id, row.key, row.generation, reason, now),
    )


_STORED = (
    "SELECT session_key, session_id, max(updated_at, coalesce("
    "(SELECT max(t.at) FROM transcript t WHERE t.session_id = session_map.session_id"
    # What a heartbeat did there is no use of the session.
    " AND t.ref NOT LIKE 'heartbeat-%'), 0)) FROM session_map"
)


def migrate_keys(c: sqlite3.Connection, command: MigrateKeys) -> Migration | None:
    """Handle `MigrateKeys`.

    Sessions that have a planned key already take part in the plan, so that its rule merges two that meet.
    """
    rows = _stored(c, "WHERE codec <> ? AND codec <> ? ORDER BY session_key", command.codec, UNREADABLE)
    if not rows:
        return None
    known = {row.key for row in rows}
    while True:
        migration = command.plan(rows)
        targets = {move.new: None for move in migration.moves if move.new not in known}
        met = [row for key in targets for row in _stored(c, "WHERE session_key = ?", key)]
        if not met:
            break
        rows += met
        known |= {row.key for row in met}
    _apply(c, migration, command.codec, command.now)
    return migration


def _stored(c: sqlite3.Connection, where: str, *values: object) -> list[StoredKey]:
    rows = c.execute(f"{_STORED} {where}", values)
    return [StoredKey(key=key, session_id=session, updated_at=updated) for key, session, updated in rows]


def _apply(c: sqlite3.Connection, migration: Migration, codec: str, now: float) -> None:
    """Give sessions their new keys. Merged ones stay in the history; keys that cannot be read stay as they are."""
    renamed = [(move.old, move.new) for move in migration.moves]
    for merge in migration.merged:
        for left in merge.left:
            _end_merged(c, left, now)
            if left.key != merge.key:
                renamed.append((left.key, merge.key))
    # Through temporary names: a new key may be the old key of another session.
    for move in migration.moves:
        c.execute("UPDATE session_map SET session_key = ? WHERE session_id = ?", (_away(move.old), move.session_id))
    for move in migration.moves:
        c.execute("UPDATE session_map SET session_key = ? WHERE session_id = ?", (move.new, move.session_id))
    for old, _ in renamed:
        _retie(c, old, _away(old))
    for old, new in renamed:
        _retie(c, _away(old), new)
        _lead(c, old, new)
    codecs = [(codec, row.session_id) for row in (*migration.moves, *migration.untouched)]
    codecs += [(UNREADABLE, row.session_id) for row in migration.unreadable]
    c.executemany("UPDATE session_map SET codec = ? WHERE session_id = ?", codecs)


def _away(key: str) -> str:
    return f"\x1f{key}"


def _end_merged(c: sqlite3.Connection, left: StoredKey, now: float) -> None:
    """Put the losing session of a merge into the history, and drop its people: the kept session has its own."""
    row = find_by_id(c, left.session_id)
    assert row is not None
    remember(c, row, Reason.KEYS_MERGED.value, now)
    c.execute("DELETE FROM session_map WHERE session_key = ?", (row.key,))
    c.execute("DELETE FROM session_people WHERE session_key = ?", (row.key,))
