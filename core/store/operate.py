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

from core.delivery.states import OPEN, DeliveryEvent, next_state
from core.errors import IllegalTransition, UnknownName
from core.reasons import Reason
from core.store.intents import COLUMNS, intent_of
from core.store.rows import IntentRow
from core.values import Address, IntentId, IntentKind, IntentState, Receipt

_address = msgspec.json.Decoder(Address).decode
_receipts = msgspec.json.Decoder(tuple[Receipt, ...]).decode
_json = msgspec.json.Encoder().encode
_LIST = (
    "SELECT n, id, kind, state, reason, address, acked, json_array_length(chunks), attempts, next_at, created_at,"
    " updated_at, substr(json_extract(chunks, '$[0]'), 1, 200) FROM intents"
)


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
    kind: IntentKind
    state: IntentState
    reason: Reason | None
    address: Address
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
            parts.append("json_extract(address, '$.channel') = ?")
            values.append(self.channel)
        if self.before is not None:
            parts.append("updated_at < ?")
            values.append(self.before)
        return " AND ".join(parts), values


def counts(c: sqlite3.Connection) -> dict[IntentState, int]:
    """How many intents there are in each state."""
    found = dict(c.execute("SELECT state, count(*) FROM intents GROUP BY state").fetchall())
    return {state: found[state.value] for state in IntentState if state.value in found}


def list_intents(c: sqlite3.Connection, which: Filter, *, after: int = 0, limit: int = 100) -> tuple[QueueRow, ...]:
    """Intents in the order in which they were created, from the one after number `after` on."""
    where, values = which.where()
    rows = c.execute(f"{_LIST} WHERE n > ? AND {where} ORDER BY n LIMIT ?", (after, *values, limit))
    return tuple(
        QueueRow(
            n=row[0],
            id=IntentId(row[1]),
            kind=IntentKind(row[2]),
            state=IntentState(row[3]),
            reason=None if row[4] is None else Reason(row[4]),
            address=_address(row[5]),
            acked=row[6],
            chunks=row[7],
            attempts=row[8],
            next_at=row[9],
            created_at=row[10],
            updated_at=row[11],
            text=row[12] or "",
        )
        for row in rows
    )


def show(c: sqlite3.Connection, intent: str) -> Shown:
    """One intent. Raises `UnknownName` with ids that look alike."""
    row = c.execute(f"SELECT {COLUMNS}, receipts FROM intents WHERE id = ?", (intent,)).fetchone()  # noqa: S608 -- names only
    if row is None:
        near = c.execute("SELECT id FROM intents WHERE instr(id, ?) ORDER BY n DESC LIMIT 3", (intent,)).fetchall()
        hint = f"; did you mean {', '.join(one for (one,) in near)}?" if near and intent else ""
        raise UnknownName(f"no intent {intent!r}{hint}")
    return Shown(intent=intent_of(row), receipts=_receipts(row[-1]))


def retry(c: sqlite3.Connection, intent: str, now: float) -> IntentRow:
    """Have an intent that has ended tried again, from its first chunk without a receipt; the intent before.

    Raises `IllegalTransition` for one that is open, delivered, cancelled, misplaced or in doubt.
    """
    row = show(c, intent).intent
    if row.state is IntentState.UNKNOWN:
        raise IllegalTransition(f"{intent}: a chunk is in doubt; say first what became of it (resolve)")
    _reopen(c, row, next_state(row.state, DeliveryEvent.RETRY), Reason.OPERATOR_RETRY, now)
    _nudge(c, row, "retry")
    return row


def resolve(
    c: sqlite3.Connection, intent: str, verdict: Verdict, now: float, *, provider_id: str = ""
) -> tuple[IntentRow, IntentState]:
    """Say what became of the chunk in doubt; the intent before, and its state now. Raises `IllegalTransition`."""
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


def purge(c: sqlite3.Connection, which: Filter) -> int:
    """Remove intents that have ended; how many. What is open, or in doubt and not asked for by its state, stays."""
    where, values = which.where()
    kept = [state.value for state in OPEN]
    if IntentState.UNKNOWN not in which.states:
        kept.append(IntentState.UNKNOWN.value)
    marks = ", ".join("?" * len(kept))
    ids = c.execute(
        f"SELECT id FROM intents WHERE {where} AND state NOT IN ({marks}) AND mirror_due = 0",  # noqa: S608 -- names and marks only
        (*values, *kept),
    ).fetchall()
    forget(c, [intent for (intent,) in ids])
    return len(ids)


def forget(c: sqlite3.Connection, intents: Sequence[str]) -> int:
    """Remove intents, with the sends of clients whose latest try they are; how many sends."""
    sends = 0
    for intent in intents:
        c.execute("DELETE FROM intents WHERE id = ?", (intent,))
        if intent.startswith("send:"):
            # The key of a send is in the id of its tries.
            key = intent.removeprefix("send:")
            sql = "DELETE FROM sends WHERE key IN (?, ?) AND intent_id = ?"
            sends += c.execute(sql, (key, key.rpartition("+")[0], intent)).rowcount
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
    c.execute("INSERT INTO nudges (intent_id, verb, before) VALUES (?, ?, ?)", (before.id, verb, before.state.value))


# -------------------------------------------------------------------- the process that works the store


class Nudge(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that an operator has changed."""

    intent: IntentId
    #: ``retry``, or a verdict
    verb: str
    #: its state before that
    before: IntentState


def nudged(c: sqlite3.Connection) -> tuple[Nudge, ...]:
    """What operators have changed since it was asked last; part of a write."""
    found = c.execute("SELECT n, intent_id, verb, before FROM nudges ORDER BY n").fetchall()
    if found:
        c.execute("DELETE FROM nudges WHERE n <= ?", (found[-1][0],))
    return tuple(Nudge(intent=IntentId(row[1]), verb=row[2], before=IntentState(row[3])) for row in found)


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of each kind were removed."""

    intents: int
    inbounds: int
    sends: int


#: rows that are looked at, at most, in one transaction
_PRUNE = 500


def prune(c: sqlite3.Connection, cutoff: float) -> Pruned:
    """Remove some of what ended before a time. What is in doubt stays until somebody resolves it.

    Both tables grow in order of time, so only what is old is looked at.
    """
    old = c.execute(
        "SELECT id FROM intents WHERE n < coalesce((SELECT n FROM intents WHERE created_at >= ? ORDER BY n LIMIT 1),"
        " (SELECT max(n) + 1 FROM intents)) AND updated_at < ? AND untold = 0 AND mirror_due = 0"
        " AND state NOT IN ('prepared', 'sending', 'unknown') ORDER BY n LIMIT ?",
        (cutoff, cutoff, _PRUNE),
    ).fetchall()
    sends = forget(c, [intent for (intent,) in old])
    inbounds = c.execute(
        "DELETE FROM inbox WHERE n IN (SELECT n FROM inbox WHERE n < coalesce((SELECT n FROM inbox WHERE"
        " admitted_at >= ? ORDER BY n LIMIT 1), (SELECT max(n) + 1 FROM inbox)) AND state = 'done' ORDER BY n LIMIT ?)",
        (cutoff, _PRUNE),
    ).rowcount
    return Pruned(intents=len(old), inbounds=inbounds, sends=sends)
