"""The SQL to erase a person, inside a transaction.

`scrub` then removes their bytes, which SQLite leaves in free pages and in the `-wal`.
"""

# ruff: noqa: S608 -- every statement is made of the fixed texts below
import sqlite3
from collections.abc import Iterable, Mapping

import msgspec

from trunkline.core.errors import IllegalTransition, StoreError
from trunkline.core.records.messages import NOTE
from trunkline.core.states.delegation import OPEN_WORK, CallbackState
from trunkline.core.states.intent import OPEN
from trunkline.core.store.operators.erasure import ErasePerson, Erasure, ListErasures
from trunkline.core.store.sqlite.sql.callbacks import results
from trunkline.core.values import Address, ChatKind

_address = msgspec.json.Decoder(Address).decode
_json = msgspec.json.Encoder().encode
_rows = msgspec.json.Decoder(dict[str, int]).decode
_BUSY = (
    "the rows are erased, but another process is reading the store, so its files may still hold their bytes: repeat it"
)
_SEPARATOR = "\x1f"
#: how many open things a refusal names
_NAMED = 10
# Each of these is a parameter: a list as JSON, whose length SQLite does not limit.
_IN = "IN (SELECT value FROM json_each(:{}))"
_SESSIONS, _KEYS, _INBOUNDS = _IN.format("sessions"), _IN.format("keys"), _IN.format("inbounds")
_INTENTS, _DELEGATIONS, _PLACES = _IN.format("intents"), _IN.format("delegations"), _IN.format("places")
_WORK = "CASE WHEN json_valid(CAST(work AS TEXT)) THEN CAST(work AS TEXT) END"
_OPEN_STATES = ", ".join(f"'{state.value}'" for state in sorted(OPEN))
_OPEN_WORK = ", ".join(f"'{state.value}'" for state in sorted(OPEN_WORK))
_MOVING = f"'{CallbackState.PENDING_TURN}', '{CallbackState.IN_TURN}', '{CallbackState.QUEUED}'"
_THEIR_MESSAGES = (
    f"kind IN ('message', 'control') AND json_extract({_WORK}, '$.peer.id') = :person"
    f" AND json_extract({_WORK}, '$.place.channel') = :channel"
)
_BOUND = (
    "own_place(json_extract(CASE WHEN json_valid(body) THEN body END, '$.conversation'))"
    f" OR session_key {_KEYS} OR json_extract(CASE WHEN json_valid(body) THEN body END, '$.bound_by') = :author"
)

#: a name of what is still open, and the rows
_OPEN = {
    "turn": f"SELECT id FROM inbox WHERE state = 'pending' AND id {_INBOUNDS}",
    "message": (
        f"SELECT id FROM intents WHERE id {_INTENTS} AND (state IN ({_OPEN_STATES}) OR untold = 1 OR mirror_due = 1)"
    ),
    "delegation": (
        f"SELECT id FROM delegations WHERE id {_DELEGATIONS} AND (state IN ({_OPEN_WORK}) OR callback IN ({_MOVING}))"
    ),
    "binding": f"SELECT id FROM bindings WHERE status <> 'ended' AND ({_BOUND})",
}
#: the rows that are theirs, by table
_THEIRS = {
    "transcript": (
        f"session_id {_SESSIONS} OR author = :author OR ref {_INBOUNDS} OR ref {_INTENTS}"
        f" OR ref IN (SELECT '{NOTE}/' || value FROM json_each(:intents))"
        # Notes about what others did to their messages.
        f" OR ref IN (SELECT identity FROM inbox_aliases WHERE inbound_id {_INBOUNDS} OR inbound_id {_INTENTS})"
        " OR ref IN (SELECT value || '.back' FROM json_each(:delegations))"
    ),
    "inbox": f"id {_INBOUNDS}",
    "inbox_aliases": f"inbound_id {_INBOUNDS} OR inbound_id {_INTENTS}",
    "sends": f"intent_id {_INTENTS} OR session_key {_KEYS}",
    "nudges": f"intent_id {_INTENTS}",
    "heartbeat_texts": f"own_lane(lane) OR intent_id {_INTENTS}",
    "intents": f"id {_INTENTS}",
    "mailbox": (
        f"channel = :channel AND conversation {_PLACES} AND own_place(json_extract(message, '$.address'))"
        f" OR json_extract(message, '$.intent') {_INTENTS}"
    ),
    "late_results": f"delegation_id {_DELEGATIONS}",
    "hand_posts": f"delegation_id {_DELEGATIONS}",
    "delegations": f"id {_DELEGATIONS}",
    "worker_turns": f"session_id {_SESSIONS}",
    "bindings": f"status = 'ended' AND ({_BOUND})",
    "session_people": f"session_key {_KEYS} OR person = :author",
    "session_places": f"session_key {_KEYS} OR own_place(address)",
    "session_moves": f"old_key {_KEYS} OR new_key {_KEYS}",
    "session_left": f"session_id {_SESSIONS} OR own_lane(lane)",
    "session_history": f"session_id {_SESSIONS}",
    "session_map": f"session_id {_SESSIONS}",
}


def erase(c: sqlite3.Connection, command: ErasePerson) -> Erasure:
    found = _find(c, command)
    there = [f"{what} {name}" for what, sql in _OPEN.items() for (name,) in sorted(c.execute(sql, found))]
    if there:
        more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
        raise IllegalTransition(
            f"there is open work: {', '.join(there[:_NAMED])}{more}; wait until it has ended, or end it"
            " (`trunkline queue`, `hands cancel`, `bindings unbind`)"
        )
    held = c.execute(f"SELECT result_ref FROM delegations WHERE id {_DELEGATIONS} AND result_ref IS NOT NULL", found)
    for (ref,) in held.fetchall():
        results.drop(c, ref)
    rows = {table: c.execute(f"DELETE FROM {table} WHERE {where}", found).rowcount for table, where in _THEIRS.items()}
    # A session that others have as well may have begun with them, and describe them.
    c.execute("UPDATE session_map SET address = NULL, entry = NULL WHERE own_place(address)")
    erasure = Erasure(at=command.now, by=command.by, rows={table: n for table, n in rows.items() if n})
    c.execute(
        "INSERT INTO erasures (at, by, rows) VALUES (?, ?, ?)", (erasure.at, erasure.by, _json(erasure.rows).decode())
    )
    return erasure


def list_erasures(c: sqlite3.Connection, _: ListErasures) -> tuple[Erasure, ...]:
    found = c.execute("SELECT at, by, rows FROM erasures ORDER BY n")
    return tuple(Erasure(at=at, by=by, rows=_rows(rows)) for at, by, rows in found)


def _find(c: sqlite3.Connection, command: ErasePerson) -> dict[str, str]:
    """The parameters of all statements: who it is, and the ids of everything that is theirs."""
    channel, person = command.channel, command.person
    found = {"channel": channel, "person": person, "author": f"{channel}:{person}"}
    # Where a platform gives a direct conversation another id than the person, their messages say which.
    places = {person, *_names(c, _DIRECT, found)}
    _define_own_places(c, channel, places)
    keys, sessions = _own_sessions(c)
    delegations, inbounds, known = set[str](), set[str](), -1
    while known != len(sessions) + len(delegations) + len(inbounds):
        # What hands did for them is theirs too: an agent's task has a session of its own, and may delegate again.
        known = len(sessions) + len(delegations) + len(inbounds)
        found |= {"keys": _list(keys), "sessions": _list(sessions), "delegations": _list(delegations)}
        inbounds |= _names(c, _CAUSES, found)
        delegations |= _names(c, _DELEGATED, found | {"inbounds": _list(inbounds)})
        tasks = _names(c, _TASKS, {"delegations": _list(delegations)})
        keys |= tasks
        sessions |= _names(c, _OF_KEYS, {"keys": _list(tasks)})
    found |= {"places": _list(places), "inbounds": _list(inbounds)}
    return found | {"intents": _list(_names(c, _SAID, found))}


_DIRECT = (
    f"SELECT DISTINCT json_extract({_WORK}, '$.place.conversation') FROM inbox WHERE {_THEIR_MESSAGES}"
    f" AND json_extract({_WORK}, '$.place.kind') = 'direct'"
)
_CAUSES = (
    f"SELECT id FROM inbox WHERE {_THEIR_MESSAGES} UNION SELECT id FROM inbox WHERE session_id {_SESSIONS}"
    f" UNION SELECT id FROM inbox WHERE json_extract({_WORK}, '$.callback.delegation') {_DELEGATIONS}"
)
_DELEGATED = (
    f"SELECT id FROM delegations WHERE session_id {_SESSIONS} OR session_key {_KEYS} OR inbound_id {_INBOUNDS}"
    f" OR parent {_DELEGATIONS}"
)
_TASKS = f"SELECT child_key FROM delegations WHERE id {_DELEGATIONS}"
_OF_KEYS = (
    f"SELECT session_id FROM session_map WHERE session_key {_KEYS}"
    f" UNION SELECT session_id FROM session_history WHERE session_key {_KEYS}"
    f" OR session_key IN (SELECT old_key FROM session_moves WHERE new_key {_KEYS})"
)
_KEYS_OF = f"SELECT session_key FROM session_map WHERE session_id {_SESSIONS}"
_OWN_KEYS = (
    "SELECT session_key FROM session_places WHERE own_place(address)"
    " UNION SELECT session_key FROM session_map WHERE own_place(address)"
    " UNION SELECT m.session_key FROM session_map m JOIN session_left l USING (session_id) WHERE own_lane(l.lane)"
)
_SAID = (
    f"SELECT id FROM intents WHERE own_place(address) OR session_id {_SESSIONS} OR inbound_id {_INBOUNDS}"
    f" OR delegation_id {_DELEGATIONS}"
)


def _define_own_places(c: sqlite3.Connection, channel: str, places: set[str]) -> None:
    """Define the functions `own_place` and `own_lane` of a stored place: whether it is their direct conversation."""

    def own_place(text: str | bytes | None) -> bool:
        try:
            place = None if text is None else _address(text)
        except ValueError:
            return False
        if place is None or place.kind is not ChatKind.DIRECT:
            return False
        return place.channel == channel and place.conversation in places

    def own_lane(lane: str) -> bool:
        kind, on, _, conversation, *_ = (*lane.split(_SEPARATOR), "", "", "", "")
        return kind == ChatKind.DIRECT.value and on == channel and conversation in places

    c.create_function("own_place", 1, own_place)
    c.create_function("own_lane", 1, own_lane)


def _own_sessions(c: sqlite3.Connection) -> tuple[set[str], set[str]]:
    """The keys that only their direct conversations have or had, and the sessions of these keys, ended ones too."""
    of_others = _names(c, "SELECT session_key FROM session_places WHERE address IS NOT NULL AND NOT own_place(address)")
    keys = _names(c, _OWN_KEYS) - of_others
    left_by_others = _names(c, "SELECT session_id FROM session_left WHERE NOT own_lane(lane)")
    keys -= _names(c, _KEYS_OF, {"sessions": _list(left_by_others)})
    return keys, _names(c, _OF_KEYS, {"keys": _list(keys)}) - left_by_others


def _names(c: sqlite3.Connection, sql: str, values: Mapping[str, str] | None = None) -> set[str]:
    return {name for (name,) in c.execute(sql, values or {}) if name is not None}


def _list(names: Iterable[str]) -> str:
    return _json(sorted(names)).decode()


def scrub(c: sqlite3.Connection) -> None:
    """Write the whole file again, outside of a transaction. Raises `StoreError` if another process is reading it."""
    # The pages that are written now have no leftovers of others.
    c.execute("PRAGMA secure_delete = ON")
    c.execute("VACUUM")
    # It waits for readers as long as the connection's timeout.
    busy, *_ = c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreError(_BUSY)
