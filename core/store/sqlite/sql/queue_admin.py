"""What an operator sees of the queue and does to it: the SQL, given a connection inside a transaction.

It works beside a gateway that runs: only intents that have ended are changed, each in one transaction, and the process
that works the store is told by a row in ``nudges``. Every change goes through the table of `core.delivery.states`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from trunkline.core.delivery.states import OPEN, DeliveryEvent, next_state
from trunkline.core.errors import IllegalTransition, StoreError, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.store.records import IntentRow, send_key
from trunkline.core.store.sqlite.sql.intent_reads import find_send, read
from trunkline.core.values import Address, IntentId, IntentKind, IntentState, Receipt

_address = msgspec.json.Decoder(Address).decode
_json = msgspec.json.Encoder().encode
#: rows that are removed, at most, in one transaction: nobody who writes waits for long
BATCH = 500
# JSON that is broken would stop the whole statement.
_LIST = (
    "SELECT n, id, kind, state, reason, CAST(address AS BLOB), acked,"
    " json_array_length(CASE WHEN json_valid(chunks) THEN chunks END), attempts, next_at, created_at, updated_at,"
    " CAST(substr(json_extract(CASE WHEN json_valid(chunks) THEN chunks END, '$[0]'), 1, 200) AS BLOB) FROM intents"
)
_CHANNEL = "json_extract(CASE WHEN json_valid(address) THEN address END, '$.channel') = ?"


class Verdict(StrEnum):
    """What an operator found out about a chunk in doubt."""

    #: the platform has it
    SENT = "sent"
    #: the platform does not have it: it is sent
    UNSENT = "unsent"
    #: let it be: neither it nor what follows is sent
    ABANDON = "abandon"


class QueueRow(msgspec.Struct, frozen=True, kw_only=True):
    """An intent in a list. Times: seconds on the clock of the gateway."""

    n: int
    id: IntentId
    #: none, and so the place: it cannot be read
    kind: IntentKind | None
    state: IntentState
    reason: Reason | None
    address: Address | None
    acked: int
    chunks: int
    attempts: int
    next_at: float | None
    created_at: float
    updated_at: float
    #: the beginning of its text
    text: str


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """An intent with all that is known of it."""

    intent: IntentRow
    receipts: tuple[Receipt, ...]


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which intents: all that is given must hold. Empty: any."""

    ids: tuple[str, ...] = ()
    states: tuple[IntentState, ...] = ()
    channel: str = ""
    #: last written before then
    before: float | None = None

    def where(self) -> tuple[str, list[Any]]:
        """The condition, and its values."""
        parts: list[str] = ["1"]
        values: list[Any] = []
        for column, some in (("id", self.ids), ("state", [state.value for state in self.states])):
            if some:
                parts.append(f"{column} IN ({', '.join('?' * len(some))})")
                values += some
        if self.channel:
            parts.append(_CHANNEL)
            values.append(self.channel)
        if self.before is not None:
            parts.append("updated_at < ?")
            values.append(self.before)
        return " AND ".join(parts), values


def counts(c: sqlite3.Connection) -> dict[IntentState, int]:
    """How many intents there are in each state."""
    return _by_state(c, "", [])


def _by_state(c: sqlite3.Connection, where: str, values: list[Any]) -> dict[IntentState, int]:
    found = dict(c.execute(f"SELECT state, count(*) FROM intents {where} GROUP BY state", values).fetchall())  # noqa: S608
    return {state: found[state.value] for state in IntentState if state.value in found}


def list_intents(c: sqlite3.Connection, which: Filter, *, after: int = 0, limit: int = 100) -> tuple[QueueRow, ...]:
    """Intents in the order in which they were created, from the one after number `after` on."""
    where, values = which.where()
    rows = c.execute(f"{_LIST} WHERE n > ? AND {where} ORDER BY n LIMIT ?", (after, *values, limit))
    return tuple(
        QueueRow(
            n=row[0],
            id=IntentId(row[1]),
            kind=_kinds.get(row[2]),
            state=IntentState(row[3]),
            reason=_reasons.get(row[4]),
            address=_place(row[5]),
            acked=row[6],
            chunks=row[7] or 0,
            attempts=row[8],
            next_at=row[9],
            created_at=row[10],
            updated_at=row[11],
            text=(row[12] or b"").decode("utf-8", "replace"),
        )
        for row in rows
    )


def count(c: sqlite3.Connection, which: Filter) -> int:
    """How many intents a filter finds."""
    where, values = which.where()
    return sum(_by_state(c, f"WHERE {where}", values).values())


def ids(c: sqlite3.Connection, which: Filter) -> list[IntentId]:
    """The ids of all that a filter finds, in order."""
    where, values = which.where()
    return [IntentId(row[0]) for row in c.execute(f"SELECT id FROM intents WHERE {where} ORDER BY n", values)]  # noqa: S608


_kinds: dict[str, IntentKind] = {kind.value: kind for kind in IntentKind}
_reasons: dict[str | None, Reason] = {reason.value: reason for reason in Reason}


def _place(text: bytes) -> Address | None:
    """A stored place; none for one that cannot be read. Somebody who looks into the queue must see its broken rows."""
    try:
        return _address(text)
    except ValueError:
        return None


def show(c: sqlite3.Connection, intent: str) -> Shown:
    """One intent. Raises `UnknownName` with ids that look alike, and `StoreError` for a row that cannot be read."""
    found, broken = read(c, (IntentId(intent),))
    if broken:
        raise StoreError(f"the row of intent {intent} cannot be read ({broken[IntentId(intent)]})")
    if not found:
        near = c.execute("SELECT id FROM intents WHERE instr(id, ?) ORDER BY n DESC LIMIT 3", (intent,)).fetchall()
        hint = f"; did you mean {', '.join(one for (one,) in near)}?" if near and intent else ""
        raise UnknownName(f"no intent {intent!r}{hint}")
    return Shown(intent=found[0][1], receipts=found[0][2])


def is_mirror_due(c: sqlite3.Connection, intent: str) -> bool:
    """Whether the transcript line of an intent is still to be stored."""
    return bool(c.execute("SELECT mirror_due FROM intents WHERE id = ?", (intent,)).fetchone()[0])


def retry(c: sqlite3.Connection, intent: str, now: float) -> IntentRow:
    """Have an intent that has ended tried again, from its first chunk without a receipt; the intent before.

    Raises `IllegalTransition` for one that is open, delivered, cancelled, misplaced or in doubt, and for a try of a
    client's send that a later try has replaced.
    """
    row = show(c, intent).intent
    if row.state is IntentState.UNKNOWN:
        raise IllegalTransition(f"{intent}: a chunk is in doubt; say first what became of it (resolve)")
    after = next_state(row.state, DeliveryEvent.RETRY)
    later = replaced_by(c, row)
    if later is not None:
        raise IllegalTransition(f"{intent}: its client has tried again since; the try that counts is {later}")
    _reopen(c, row, after, Reason.OPERATOR_RETRY, now)
    _nudge(c, row, "retry")
    return row


def replaced_by(c: sqlite3.Connection, row: IntentRow) -> IntentId | None:
    """The try of a client's send that counts, where an intent is an older one: if both went out, both would be seen."""
    key = send_key(row.id)
    found = None if key is None else find_send(c, key)
    return None if found is None or found.intent == row.id else found.intent


def resolve(
    c: sqlite3.Connection, intent: str, verdict: Verdict, now: float, *, provider_id: str = ""
) -> tuple[IntentRow, IntentState]:
    """Say what became of the chunk in doubt; the intent before, and its state now.

    Raises `IllegalTransition`; and `StoreError` for a row that cannot be read, which can only be removed.
    """
    row = show(c, intent).intent
    if verdict is Verdict.UNSENT:
        after = next_state(row.state, DeliveryEvent.RESOLVE_UNSENT)
        _reopen(c, row, after, Reason.OPERATOR_UNSENT, now)
    elif verdict is Verdict.ABANDON:
        after = next_state(row.state, DeliveryEvent.ABANDON, accepted_chunks=row.acked)
        _end(c, row, after, row.acked, Reason.PARKED, now)
    else:
        after = _resolve_sent(c, row, provider_id, now)
    _nudge(c, row, verdict.value)
    return row, after


def _resolve_sent(c: sqlite3.Connection, row: IntentRow, provider_id: str, now: float) -> IntentState:
    """The platform has the chunk: an operator's word is its receipt."""
    last = row.acked + 1 == len(row.chunks)
    after = next_state(row.state, DeliveryEvent.RESOLVE_LAST if last else DeliveryEvent.RESOLVE_CHUNK)
    receipt = Receipt(provider_id=provider_id or "resolved-by-operator", address=row.address)
    c.execute(
        "UPDATE intents SET receipts = json_insert(receipts, '$[#]', json(?)) WHERE id = ?",
        (_json(receipt).decode(), row.id),
    )
    if last:
        _end(c, row, after, row.acked + 1, Reason.OPERATOR_SENT, now)
    else:
        _reopen(c, msgspec.structs.replace(row, acked=row.acked + 1), after, Reason.OPERATOR_SENT, now)
    return after


def purge(c: sqlite3.Connection, which: Filter, limit: int = BATCH) -> int:
    """Remove some intents that have ended, at most `limit`; how many. Fewer than that: those were the last.

    What is open stays, and what is in doubt and not asked for by its state. So does what is still to be done after the
    end: a transcript line, or telling the hooks.
    """
    where, values = _purged(which)
    ids = c.execute(f"SELECT id FROM intents WHERE {where} ORDER BY n LIMIT ?", (*values, limit)).fetchall()  # noqa: S608
    forget(c, [intent for (intent,) in ids])
    return len(ids)


def to_purge(c: sqlite3.Connection, which: Filter) -> dict[IntentState, int]:
    """How many intents `purge` would remove in all, by state."""
    where, values = _purged(which)
    return _by_state(c, f"WHERE {where}", values)


def _purged(which: Filter) -> tuple[str, list[Any]]:
    where, values = which.where()
    kept = [state.value for state in IntentState if state in OPEN]
    if IntentState.UNKNOWN not in which.states:
        kept.append(IntentState.UNKNOWN.value)
    marks = ", ".join("?" * len(kept))
    return f"{where} AND state NOT IN ({marks}) AND mirror_due = 0 AND untold = 0", [*values, *kept]


def forget(c: sqlite3.Connection, intents: Sequence[str]) -> int:
    """Remove intents, with the sends of clients whose latest try they are; how many sends."""
    sends = 0
    for intent in intents:
        key = send_key(intent)
        send = None if key is None else find_send(c, key)
        c.execute("DELETE FROM intents WHERE id = ?", (intent,))
        if send is not None and send.intent == intent:
            c.execute("DELETE FROM sends WHERE key = ?", (key,))
            sends += 1
    return sends


def _reopen(c: sqlite3.Connection, row: IntentRow, state: IntentState, reason: Reason, now: float) -> None:
    """Make an intent open again, as young as a new one, and behind all others."""
    done = c.execute(
        "UPDATE intents SET n = (SELECT max(n) + 1 FROM intents), state = ?, acked = ?, attempts = 0, reason = ?,"
        " next_at = NULL, created_at = ?, updated_at = ?, marked = 0, doubt_at = NULL, transport = NULL"
        " WHERE id = ? AND state = ?",
        (state.value, row.acked, reason.value, now, now, row.id, row.state.value),
    )
    if done.rowcount != 1:
        raise IllegalTransition(f"intent {row.id} is no longer {row.state.value!r}")


def _end(c: sqlite3.Connection, row: IntentRow, state: IntentState, acked: int, reason: Reason, now: float) -> None:
    """End an intent by an operator's word; what is accepted of it is still to be mirrored."""
    due = row.mirror_key is not None and acked > 0
    c.execute(
        "UPDATE intents SET state = ?, acked = ?, reason = ?, doubt_at = NULL, updated_at = ?, mirror_due = ?"
        " WHERE id = ?",
        (state.value, acked, reason.value, now, due, row.id),
    )


def _nudge(c: sqlite3.Connection, before: IntentRow, verb: str) -> None:
    c.execute(_NUDGE, (before.id, verb, before.state.value))


def note_purge(c: sqlite3.Connection, which: Filter, removed: int) -> None:
    """Have the process that works the store tell of a purge: of what was removed, only this is left."""
    c.execute(_NUDGE, (purge_words(which, removed), PURGE, ""))


def purge_words(which: Filter, removed: int) -> str:
    """What a purge has removed."""
    return f"{removed} intents: {', '.join(state.value for state in which.states) or 'all that have ended'}"


PURGE = "purge"
_NUDGE = "INSERT INTO nudges (intent_id, verb, before) VALUES (?, ?, ?)"


# -------------------------------------------------------------------- the process that works the store


class Nudge(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that an operator has changed; or a purge, which tells what it has removed."""

    #: none, and so its state before that: a purge
    intent: IntentId | None = None
    #: ``retry``, a verdict, or ``purge``
    verb: str
    before: IntentState | None = None
    detail: str = ""


def nudged(c: sqlite3.Connection) -> tuple[Nudge, ...]:
    """Some of what operators have changed since it was asked last; part of a write."""
    found = c.execute("SELECT n, intent_id, verb, before FROM nudges ORDER BY n LIMIT ?", (BATCH,)).fetchall()
    if found:
        c.execute("DELETE FROM nudges WHERE n <= ?", (found[-1][0],))
    return tuple(
        Nudge(verb=verb, detail=intent)
        if verb == PURGE
        else Nudge(intent=IntentId(intent), verb=verb, before=IntentState(before))
        for _, intent, verb, before in found
    )


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of each kind were removed."""

    intents: int
    inbounds: int
    sends: int
    bindings: int = 0


def prune(c: sqlite3.Connection, cutoff: float) -> Pruned:
    """Remove some of what ended before a time. What is in doubt stays until somebody resolves it.

    Both tables grow in order of time, so only what is old is looked at.
    """
    old = c.execute(
        "SELECT id FROM intents WHERE n < coalesce((SELECT n FROM intents WHERE created_at >= ? ORDER BY n LIMIT 1),"
        " (SELECT max(n) + 1 FROM intents)) AND updated_at < ? AND untold = 0 AND mirror_due = 0"
        " AND state NOT IN ('prepared', 'sending', 'unknown') ORDER BY n LIMIT ?",
        (cutoff, cutoff, BATCH),
    ).fetchall()
    sends = forget(c, [intent for (intent,) in old])
    inbounds = c.execute(
        "DELETE FROM inbox WHERE n IN (SELECT n FROM inbox WHERE n < coalesce((SELECT n FROM inbox WHERE"
        " admitted_at >= ? ORDER BY n LIMIT 1), (SELECT max(n) + 1 FROM inbox)) AND state = 'done' ORDER BY n LIMIT ?)",
        (cutoff, BATCH),
    ).rowcount
    bindings = c.execute(
        "DELETE FROM bindings WHERE n IN"
        " (SELECT n FROM bindings WHERE status = 'ended' AND last_activity_at < ? ORDER BY n LIMIT ?)",
        (cutoff, BATCH),
    ).rowcount
    return Pruned(intents=len(old), inbounds=inbounds, sends=sends, bindings=bindings)
