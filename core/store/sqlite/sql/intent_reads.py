"""The SQL that reads intents and clients' sends: one function per query."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core import values
from trunkline.core.reasons import Reason
from trunkline.core.records import rows as records
from trunkline.core.states.intent import is_final
from trunkline.core.store.queries import ListDueMirrors, ListOpenIntents, ListUnnotified, LoadIntents, OpenIntent

_address = msgspec.json.Decoder(values.Address).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_forms = msgspec.json.Decoder(tuple[values.Piece, ...]).decode
_poll = msgspec.json.Decoder(values.Poll).decode
_bound = msgspec.json.Decoder(records.BoundPart).decode
_extra = msgspec.json.Decoder(records.ExtraPart).decode
_receipts = msgspec.json.Decoder(tuple[values.Receipt, ...]).decode
_COLUMNS = (
    *("n", "id", "kind", "state", "address", "chunks", "acked", "attempts", "interrupted"),
    *("agent_id", "mirror_key", "turn_id"),
    *("inbound_id", "delegation_id", "reply_to", "open_on", "created_at", "next_at", "reason", "session_id"),
    *("named_session", "media", "forms", "poll", "payload", "best_effort", "transport", "marked", "doubt_at", "untold"),
    *("updated_at", "bound", "extra", "receipts"),
)
#: ids in one statement
_MOST = 500
_UNBOUND = records.BoundPart()
_PLAIN = records.ExtraPart()
T = TypeVar("T")


def list_open(c: sqlite3.Connection, query: ListOpenIntents) -> tuple[OpenIntent, ...]:
    rows = c.execute(
        "SELECT n, id, CAST(address AS BLOB), CASE kind WHEN 'reply' THEN session_id END FROM intents"
        " WHERE n > ? AND state IN ('prepared', 'sending') ORDER BY n LIMIT ?",
        (query.after, query.limit),
    )
    return tuple(map(open_intent, rows.fetchall()))


def open_intent(row: tuple[int, str, bytes, values.SessionId | None]) -> OpenIntent:
    """The intent of a row: number, id, address as bytes, and the session whose turn it answers."""
    return OpenIntent(n=row[0], id=values.IntentId(row[1]), address=_place(row), answers=row[3])


def _place(row: tuple[int, str, bytes, values.SessionId | None]) -> values.Address:
    """The place of an open intent. One that cannot be read gets a lane of its own, where it is set aside."""
    try:
        return _address(row[2])
    except ValueError:
        return _nowhere(row[1])


def load(c: sqlite3.Connection, query: LoadIntents) -> records.LoadedIntents:
    found, broken = read_intents(c, query.ids)
    return records.LoadedIntents(rows=tuple(row for _, row, _ in found), broken=broken)


_NumberedIntent = tuple[int, records.IntentRow, tuple[values.Receipt, ...]]


def read_intents(
    c: sqlite3.Connection, ids: Sequence[values.IntentId]
) -> tuple[list[_NumberedIntent], dict[values.IntentId, records.BrokenIntent]]:
    """Intents with their numbers and receipts, by number; and those that cannot be read.

    A row that cannot be read does not stop the others.
    """
    rows: list[dict[str, Any]] = []
    found: list[_NumberedIntent] = []
    broken: dict[values.IntentId, records.BrokenIntent] = {}
    for start in range(0, len(ids), _MOST):
        some = ids[start : start + _MOST]
        try:
            rows += _fetch(c, some)
        except sqlite3.OperationalError as error:
            _raise_unless_not_text(error)
            for intent in some:
                try:
                    rows += _fetch(c, (intent,))
                except sqlite3.OperationalError as wrong:
                    _raise_unless_not_text(wrong)
                    broken[intent] = _rest_of(c, intent, str(wrong))
    for row in sorted(rows, key=lambda row: row["n"]):
        try:
            found.append((row["n"], _sound(_intent_of(row)), _receipts(row["receipts"])))
        except (ValueError, TypeError) as error:
            broken[values.IntentId(row["id"])] = _rest_of(
                c, values.IntentId(row["id"]), f"{type(error).__name__}: {error}"
            )
    return found, broken


def _fetch(c: sqlite3.Connection, ids: Sequence[values.IntentId]) -> list[dict[str, Any]]:
    marks = ", ".join("?" * len(ids))
    sql = f"SELECT {', '.join(_COLUMNS)} FROM intents WHERE id IN ({marks})"  # noqa: S608 -- names and marks only
    return [dict(zip(_COLUMNS, row, strict=True)) for row in c.execute(sql, tuple(ids))]


def _rest_of(c: sqlite3.Connection, intent: values.IntentId, problem: str) -> records.BrokenIntent:
    """The readable rest of a broken row: each column that its decoder takes."""
    sql = (
        "SELECT CAST(kind AS BLOB), CAST(address AS BLOB), CAST(agent_id AS BLOB), CAST(mirror_key AS BLOB),"
        " CAST(turn_id AS BLOB), CAST(inbound_id AS BLOB), CAST(delegation_id AS BLOB), CAST(session_id AS BLOB),"
        " CAST(bound AS BLOB), CAST(receipts AS BLOB), CAST(state AS BLOB), CAST(reason AS BLOB), untold <> 0,"
        " CAST(extra AS BLOB)"
        " FROM intents WHERE id = ?"
    )
    found = c.execute(sql, (intent,)).fetchone()
    kind, address, agent, mirror, turn, inbound, delegation, session, bound, receipts, state, reason, *rest = found
    untold, extra = rest
    known = _or(None, lambda value: Reason(_word(value)), reason)
    row = records.IntentRow(
        id=intent,
        kind=_or(values.IntentKind.SEND, lambda value: values.IntentKind(_word(value)), kind),
        address=_or(_nowhere(intent), _address, address),
        agent=_or("", _word, agent),
        mirror_key=_or(None, _word, mirror),
        session=_or(None, lambda value: values.SessionId(_word(value)), session),
        turn=_or(None, lambda value: values.TurnId(_word(value)), turn),
        inbound=_or(None, lambda value: values.InboundId(_word(value)), inbound),
        delegation=_or(None, lambda value: values.DelegationId(_word(value)), delegation),
        hooks_pending=bool(untold),
        created_at=0.0,
        progress=records.ProgressPart(
            state=_or(values.IntentState.UNKNOWN, lambda value: values.IntentState(_word(value)), state), reason=known
        ),
        bound=_or(_UNBOUND, _bound, bound),
        extra=_or(_PLAIN, _extra, extra),
    )
    return records.BrokenIntent(problem=problem, row=row, receipts=_or((), _receipts, receipts))


def _word(value: bytes) -> str:
    return value.decode()


def _or(otherwise: T, read: Callable[[bytes], T], value: bytes | None) -> T:
    """A value that may be broken."""
    try:
        return otherwise if value is None else read(value)
    except ValueError:
        return otherwise


def _nowhere(intent: str) -> values.Address:
    """The place of an intent whose place cannot be read: a lane of its own."""
    return values.Address(channel="", account="", kind=values.ChatKind.DIRECT, conversation=intent)


def _raise_unless_not_text(error: sqlite3.OperationalError) -> None:
    """Raise again, unless a column just holds no valid text: the database is fine then."""
    if not str(error).startswith("Could not decode to UTF-8"):
        raise error


def _sound(row: records.IntentRow) -> records.IntentRow:
    """Check an intent. Raises `ValueError` when its columns contradict each other."""
    progress, count = row.progress, len(row.content.chunks)
    numbers = (progress.acked, progress.attempts, progress.interrupted, row.created_at, row.updated_at)
    if not all(_is_number(number) for number in (*numbers, progress.next_at, progress.doubt_at)):
        raise ValueError("a number is none")
    # Only an intent that a hook cancelled has no text at all.
    some = count > 0 or progress.state is values.IntentState.CANCELLED
    if not some or not 0 <= progress.acked <= count - (not is_final(progress.state)):
        raise ValueError(f"{progress.acked} of {count} chunks are accepted, and it is {progress.state.value}")
    return row


def _is_number(value: object) -> bool:
    # SQLite stores any value in a column of numbers.
    return value is None or isinstance(value, int | float)


def latest_send(c: sqlite3.Connection, key: str) -> records.SendRow | None:
    """The latest try of a client's send: its row if it was retried, else the intent that is named by the key."""
    sql = "SELECT intent_id, tries, session_key, channel FROM sends WHERE key = ?"
    row = c.execute(sql, (key,)).fetchone()
    if row is not None:
        return records.SendRow(
            key=key, intent=values.IntentId(row[0]), tries=row[1], session_key=row[2], channel=row[3]
        )
    first = records.send_intent(key, 1)
    sql = "SELECT CAST(mirror_key AS BLOB), CAST(address AS BLOB) FROM intents WHERE id = ?"
    row = c.execute(sql, (first,)).fetchone()
    if row is None:
        return None
    session = None if row[0] is None else row[0].decode(errors="replace")
    return records.SendRow(key=key, intent=first, tries=1, session_key=session, channel=_channel(row[1]))


def _channel(address: bytes) -> str:
    """The channel of a place; empty when it cannot be read: the key is taken anyway."""
    try:
        return _address(address).channel
    except ValueError:
        return ""


def fate_of(c: sqlite3.Connection, intent: values.IntentId) -> records.IntentFate | None:
    """State, reason and receipts of an intent; no receipts when they cannot be read."""
    sql = "SELECT state, reason, CAST(receipts AS BLOB) FROM intents WHERE id = ?"
    row = c.execute(sql, (intent,)).fetchone()
    if row is None:
        return None
    known = None if row[1] is None else Reason(row[1])
    try:
        receipts = _receipts(row[2])
    except ValueError:
        receipts = ()
    return records.IntentFate(state=values.IntentState(row[0]), reason=known, receipts=receipts)


def list_unnotified(
    c: sqlite3.Connection, query: ListUnnotified
) -> tuple[tuple[int, records.IntentRow, records.IntentFate], ...]:
    """Handle `ListUnnotified`. Of a row that cannot be read there is what can be."""
    sql = (
        "SELECT id, n FROM intents WHERE untold = 1 AND n > ? AND state NOT IN ('prepared', 'sending')"
        " ORDER BY n LIMIT ?"
    )
    numbers = {values.IntentId(row[0]): row[1] for row in c.execute(sql, (query.after, query.limit))}
    found, broken = read_intents(c, tuple(numbers))
    rows = [*found, *((numbers[intent], rest.row, rest.receipts) for intent, rest in broken.items())]
    return tuple(
        (n, row, records.IntentFate(state=row.progress.state, reason=row.progress.reason, receipts=receipts))
        for n, row, receipts in sorted(rows, key=lambda entry: entry[0])
    )


def list_due_mirrors(c: sqlite3.Connection, _: ListDueMirrors) -> tuple[records.StoredIntent, ...]:
    """Handle `ListDueMirrors`. Rows that cannot be read are skipped."""
    sql = "SELECT id FROM intents WHERE mirror_due = 1 AND id NOT IN (SELECT intent_id FROM nudges) ORDER BY n"
    ids = [values.IntentId(row[0]) for row in c.execute(sql)]
    return tuple(records.StoredIntent(row=row, receipts=receipts) for _, row, receipts in read_intents(c, ids)[0])


def _intent_of(row: Mapping[str, Any]) -> records.IntentRow:
    return records.IntentRow(
        id=values.IntentId(row["id"]),
        kind=values.IntentKind(row["kind"]),
        address=_address(row["address"]),
        agent=row["agent_id"],
        mirror_key=row["mirror_key"],
        session=None if row["session_id"] is None else values.SessionId(row["session_id"]),
        named_session=bool(row["named_session"]),
        turn=None if row["turn_id"] is None else values.TurnId(row["turn_id"]),
        inbound=None if row["inbound_id"] is None else values.InboundId(row["inbound_id"]),
        delegation=None if row["delegation_id"] is None else values.DelegationId(row["delegation_id"]),
        best_effort=bool(row["best_effort"]),
        hooks_pending=bool(row["untold"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        content=records.ContentPart(
            chunks=_texts(row["chunks"]),
            forms=() if row["forms"] is None else _forms(row["forms"]),
            media=_texts(row["media"]),
            poll=None if row["poll"] is None else _poll(row["poll"]),
            payload=row["payload"],
            reply_to=row["reply_to"],
        ),
        progress=records.ProgressPart(
            state=values.IntentState(row["state"]),
            acked=row["acked"],
            attempts=row["attempts"],
            interrupted=row["interrupted"],
            next_at=row["next_at"],
            reason=None if row["reason"] is None else Reason(row["reason"]),
            open_on=row["open_on"],
            transport=None if row["transport"] is None else values.Transport(row["transport"]),
            marked=bool(row["marked"]),
            doubt_at=row["doubt_at"],
        ),
        bound=_UNBOUND if row["bound"] is None else _bound(row["bound"]),
        extra=_PLAIN if row["extra"] is None else _extra(row["extra"]),
    )
