"""SQLite's statements in PostgreSQL's words. What both understand stays; functions are defined in the database."""

import re
from functools import lru_cache
from re import Match

import msgspec

_LOOKED_UP = "json_array(place, session_id, generation, tied, own_key, own_generation)"
#: what is spelled otherwise, wherever it stands
_WORDS = (
    (f"json_group_array({_LOOKED_UP})", f"json_agg({_LOOKED_UP.replace('array', 'build_array')})::text"),
    ("json_extract(w.value, '$[3]'))", "json_extract(w.value, '$[3]')) AS found"),
    ("INSERT OR FAIL INTO", "INSERT INTO"),
    ("CAST(", "sl_cast("),
    (" AS BLOB)", ", ''::bytea)"),
    (" AS TEXT)", ", ''::text)"),
    ("json_extract(", "sl_extract("),
    ("json_each(", "sl_each("),
    ("json_array_length(", "sl_array_length("),
    ("json(?)", "?"),
    ("LIMIT ?", "LIMIT nullif(?, -1)"),
    # A list without an element.
    (" IN ()", " IN (NULL)"),
    # A number is no condition.
    (" WHERE role = excluded.role", " WHERE transcript.role = excluded.role"),
    (" AND transcript.partial ", " AND transcript.partial <> 0 "),
    ("AND (SELECT mirror_due FROM", "AND (SELECT mirror_due <> 0 FROM"),
    ("max(mirror_due, ", "greatest(mirror_due, "),
    ("max(updated_at, ", "greatest(updated_at, "),
    ("substr(r.text, 1, ?)", "substr(r.text, 1, ?::integer)"),
    ("SET refs = refs + 1", "SET refs = results.refs + 1"),
    ("ON CONFLICT DO UPDATE", "ON CONFLICT (agent_id, lane) DO UPDATE"),
    ("FROM (SELECT 1) LEFT", "FROM (SELECT 1) AS nothing LEFT"),
)
_CONDITION = re.compile(r"\b(WHERE|AND) 1(?= |$)")
_UNNAMED = re.compile(r"^SELECT \* FROM \((.*)\) WHERE (\w+) = \?$")
_REPLACE = re.compile(r"^INSERT OR REPLACE INTO (\w+) (.*)$")
#: tables whose rows are replaced: their key, and all other columns
_REPLACED = {
    "sends": ("key", "intent_id tries session_key channel asked_at"),
    "timers": ("name", "spec next_at last_at"),
    "session_places": ("agent_id, lane", "session_key address"),
    "session_moves": ("old_key", "new_key"),
    "heartbeat_texts": ("agent_id, lane, md5(text)", "intent_id at"),
}
#: whole statements
_STATEMENTS = {
    # Locked: a process that writes is alone, as in SQLite, and no other one can take the store before the commit.
    "BEGIN IMMEDIATE": "BEGIN; SELECT pg_current_xact_id()::text FROM lease FOR UPDATE",
    "BEGIN": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "UPDATE OR REPLACE session_people SET session_key = ? WHERE session_key = ?": (
        "WITH gone AS (DELETE FROM session_people WHERE session_key = $2 RETURNING person)"
        " INSERT INTO session_people (session_key, person) SELECT $1, person FROM gone ON CONFLICT DO NOTHING"
    ),
}
#: statements of which callers read the first rows only: all rows of an answer are in memory
_FIRST = re.compile(r"SELECT (work FROM inbox WHERE .* ORDER BY n DESC|n, coalesce\(session_id, ''\), .*, n)")
_PARAMETER = re.compile(r"'(?:[^']|'')*'|(\?)|(?<!:):([a-z]+)")


class Statement(msgspec.Struct, frozen=True):
    text: bytes
    #: names of the parameters in their order, unless they have numbers
    names: tuple[str, ...] = ()


@lru_cache(maxsize=2048)
def translated(sql: str) -> Statement:
    """A statement of SQLite in the words of PostgreSQL."""
    text = _STATEMENTS.get(sql)
    if text is not None:
        return Statement(text.encode())
    text = sql + " LIMIT 256" if _FIRST.fullmatch(sql) else sql
    text = _UNNAMED.sub(r"SELECT * FROM (\1) AS found WHERE \2 = ?", text)
    if text.startswith("INSERT OR IGNORE INTO"):
        text = text.replace(" OR IGNORE", "", 1) + " ON CONFLICT DO NOTHING"
    text = _REPLACE.sub(_replacing, text)
    for theirs, ours in _WORDS:
        text = text.replace(theirs, ours)
    return _numbered(_CONDITION.sub(r"\1 true", text))


def _replacing(found: Match[str]) -> str:
    table, rest = found.groups()
    key, others = _REPLACED[table]
    sets = ", ".join(f"{column} = excluded.{column}" for column in others.split())
    return f"INSERT INTO {table} {rest} ON CONFLICT ({key}) DO UPDATE SET {sets}"


def _numbered(text: str) -> Statement:
    """Give parameters numbers: ``?`` and ``:name`` become ``$1``."""
    names: list[str] = []
    count = 0

    def numbered(found: Match[str]) -> str:
        nonlocal count
        mark, name = found.groups()
        if name is not None:
            if name not in names:
                names.append(name)
            return f"${names.index(name) + 1}"
        if mark is None:
            return found[0]
        count += 1
        return f"${count}"

    return Statement(_PARAMETER.sub(numbered, text).encode(), tuple(names))
