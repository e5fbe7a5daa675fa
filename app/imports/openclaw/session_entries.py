"""Sessions of an OpenClaw gateway: rows of an agent's database, and the `sessions.json` of older versions."""

import sqlite3
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, cast

import msgspec

from trunkline.app.imports.openclaw.values import ForeignPlace, ForeignSession, OwedAnswer, UnreadableEntry

# Fields of JSON that somebody else wrote: each is what it should be, or missing.

Json = Mapping[str, Any]


def parsed(text: str | bytes) -> Json:
    """A JSON object. Raises `ValueError`."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return cast("Json", found)


def part(tree: Json, *names: str) -> Json:
    """The object below some names; empty if it is not there."""
    found: Any = tree
    for name in names:
        found = cast("Json", found).get(name) if isinstance(found, dict) else None
    return cast("Json", found) if isinstance(found, dict) else {}


def objects(tree: Json, name: str) -> tuple[Json, ...]:
    found = tree.get(name)
    if not isinstance(found, list):
        return ()
    return tuple(cast("Json", entry) for entry in cast("list[Any]", found) if isinstance(entry, dict))


def word(value: object) -> str:
    """A text or a whole number as text; empty for anything else."""
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, str | int) else ""


def number(value: object) -> int:
    """A whole number from 0; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def time_of(value: object) -> float | None:
    """Seconds since 1970, of a time in milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 < value < 1e14:
        return None
    return value / 1000


def place_of(tree: Json) -> ForeignPlace | None:
    """The place of ``{channel, to, accountId, threadId}``, of which channel and target are needed."""
    channel, target = word(tree.get("channel")), word(tree.get("to"))
    if not channel or not target:
        return None
    thread = word(tree.get("threadId"))
    return ForeignPlace(channel=channel, target=target, account=word(tree.get("accountId")), thread=thread)


_LONGEST = 64_000_000
_NEEDED = frozenset({"session_key", "current_session_id", "entry_json"})

Reading = tuple[tuple[ForeignSession, ...], tuple[UnreadableEntry, ...]]


def session_rows(connection: sqlite3.Connection, agent: str, columns: Mapping[str, frozenset[str]]) -> Reading:
    """The sessions of an agent's database. Raises `sqlite3.Error`."""
    nodes = columns["session_nodes"]
    if not nodes >= _NEEDED:
        missing = ", ".join(sorted(_NEEDED - nodes))
        return (), (
            UnreadableEntry(where="session_nodes", why=f"the table has no {missing}: another version of OpenClaw"),
        )
    places, people = _places(connection, columns), _people(connection, columns)
    found, unreadable = list[ForeignSession](), list[UnreadableEntry]()
    for row in connection.execute("SELECT * FROM session_nodes ORDER BY rowid"):
        values = dict(row)
        key = word(values["session_key"])
        try:
            session = _session(agent, key, parsed(values["entry_json"] or ""))
        except ValueError as error:
            unreadable.append(UnreadableEntry(where=f"session_nodes {key}", why=str(error)))
            session = ForeignSession(agent=agent, key=key, session=word(values["current_session_id"]))
        found.append(
            msgspec.structs.replace(
                session,
                session=word(values["current_session_id"]) or session.session,
                status=word(values.get("status")) or session.status,
                archived=session.archived or bool(values.get("archived_at")),
                updated=time_of(values.get("updated_at")) or session.updated,
                places=_unique((*places.get(key, ()), *session.places)),
                people=people.get(key, session.people),
            )
        )
    return tuple(found), tuple(unreadable)


def _places(
    connection: sqlite3.Connection, columns: Mapping[str, frozenset[str]]
) -> dict[str, tuple[ForeignPlace, ...]]:
    """Session key -> the conversations that have spoken in it. A conversation that is only related is not one."""
    if not all(columns[name] for name in ("conversations", "session_conversations", "session_windows")):
        return {}
    found: dict[str, list[ForeignPlace]] = {}
    for row in connection.execute(
        "SELECT w.session_key AS key, c.channel, c.delivery_target AS [to], c.account_id AS accountId,"
        " c.thread_id AS threadId"
        " FROM session_conversations s JOIN session_windows w USING (session_id)"
        " JOIN conversations c USING (conversation_id)"
        " WHERE s.role IN ('primary', 'participant') ORDER BY s.first_seen_at, c.conversation_id"
    ):
        place = place_of(dict(row))
        if place is not None:
            found.setdefault(word(row["key"]), []).append(place)
    return {key: _unique(values) for key, values in found.items()}


def _people(connection: sqlite3.Connection, columns: Mapping[str, frozenset[str]]) -> dict[str, tuple[str, ...]]:
    if not columns["session_participants"] >= {"session_key", "actor_id"}:
        return {}
    found: dict[str, list[str]] = {}
    for row in connection.execute("SELECT session_key, actor_id FROM session_participants ORDER BY rowid"):
        found.setdefault(word(row["session_key"]), []).append(word(row["actor_id"]))
    return {key: tuple(dict.fromkeys(values)) for key, values in found.items()}


def session_file(path: Path, agent: str, where: str) -> Reading:
    """The sessions of a `sessions.json`: session key -> entry."""
    try:
        if path.stat().st_size > _LONGEST:
            raise ValueError("too long to be a session store")
        tree = parsed(path.read_bytes())
    except (OSError, ValueError) as error:
        return (), (UnreadableEntry(where=where, why=getattr(error, "strerror", None) or str(error)),)
    found, unreadable = list[ForeignSession](), list[UnreadableEntry]()
    for key, entry in tree.items():
        if isinstance(entry, dict):
            found.append(_session(_agent_of(key) or agent, key, cast("dict[str, Any]", entry)))
        else:
            unreadable.append(UnreadableEntry(where=f"{where} {key}", why="no JSON object"))
    return tuple(found), tuple(unreadable)


def _agent_of(key: str) -> str:
    parts = key.split(":")
    return parts[1] if len(parts) > 2 and parts[0].lower() == "agent" else ""


def _session(agent: str, key: str, entry: Json) -> ForeignSession:
    notice = word(part(entry, "pendingDeliveryNotice").get("state"))
    owed, interrupted = _owed(part(entry, "pendingFinalDelivery")), _interrupted(entry)
    # The claim of a run on the delivery of its answer goes away when the answer is queued (seen with 2026.9.6).
    claimed = bool(word(entry.get("restartRecoveryDeliveryRunId")))
    places = tuple(_places_of_entry(entry))
    return ForeignSession(
        agent=agent,
        key=key,
        session=word(entry.get("sessionId")),
        updated=time_of(entry.get("updatedAt")) or 0.0,
        status=word(entry.get("status")),
        archived=bool(entry.get("archivedAt")),
        interrupted=interrupted,
        places=_unique(places),
        speaks_in=next(iter(places), None),
        owed=owed,
        stranded=claimed and owed is None and not interrupted and entry.get("status") == "done",
        owes_notice=notice == "owed",
    )


def _interrupted(entry: Json) -> bool:
    return entry.get("abortedLastRun") is True or entry.get("status") == "running"


def _places_of_entry(entry: Json) -> Iterable[ForeignPlace]:
    """Where the entry was spoken to: the newest form first. Older ones have only the last place and the first."""
    context = place_of(part(entry, "delivery", "context"))
    if context is not None:
        return (context,)
    origin = part(entry, "origin")
    last = {
        "channel": entry.get("lastChannel"),
        "to": entry.get("lastTo"),
        "accountId": entry.get("lastAccountId"),
        "threadId": entry.get("lastThreadId"),
    }
    first: dict[str, Any] = {**origin, "channel": origin.get("provider") or origin.get("surface")}
    found = (place_of(part(entry, "deliveryContext")), place_of(last), place_of(first))
    # What a program asked for has no place that anybody could read.
    return tuple(place for place in found if place is not None and place.channel != "webchat")


def _owed(tree: Json) -> OwedAnswer | None:
    if not tree:
        return None
    deliveries = tuple(
        (word(delivery.get("id")), word(delivery.get("state"))) for delivery in objects(tree, "deliveries")
    )
    return OwedAnswer(text=word(tree.get("text")), deliveries=deliveries, place=place_of(part(tree, "context")))


def _unique(places: Iterable[ForeignPlace]) -> tuple[ForeignPlace, ...]:
    """Places without repetition: a place without an account, or with the thread in its target only, is the same."""
    found: dict[tuple[str, str, str], ForeignPlace] = {}
    for place in places:
        found.setdefault(identity(place), place)
    return tuple(found.values())


def identity(place: ForeignPlace) -> tuple[str, str, str]:
    """The identity of a place: platform and account, target without prefixes, thread."""
    target = place.target.casefold().removeprefix(f"{place.channel.casefold()}:")
    thread = place.thread
    for separator in (":topic:", ":thread:"):
        if separator in target:
            target, _, inner = target.rpartition(separator)
            thread = thread or inner
    return f"{place.channel.casefold()}/{place.account or 'default'}", target, thread.casefold()
