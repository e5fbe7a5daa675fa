"""The SQL that reads what came of an inbound message.

All that it caused has an id that begins with its own and a dot: replies, delegations, their callbacks, and so on.
So the unique indexes of the ids find it, and no row needs another column.
"""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.delivery.states import is_final
from trunkline.core.hands.states import CallbackState, WorkState
from trunkline.core.inbound import TurnNote
from trunkline.core.store.mailbox import (
    CausedMessage,
    DueDelegation,
    FindInbound,
    Outcome,
    ReadOutcome,
    ReadOutcomes,
    StoredInbound,
)
from trunkline.core.store.records import IntentRow, Work
from trunkline.core.store.sqlite.sql.intent_reads import read_intents
from trunkline.core.values import DelegationId, IntentId, Receipt, SessionId

_work = msgspec.json.Decoder(Work).decode
_note = msgspec.json.Decoder(TurnNote).decode
#: the ids of what an inbound message caused: behind ``<id>.`` and before ``<id>/``
_CAUSED = "id > ? AND id < ?"
_DELEGATIONS = (
    f"SELECT id, hand, label, state, callback FROM delegations WHERE {_CAUSED}"  # noqa: S608 -- fixed texts
    " AND (state IN ('accepted', 'running') OR callback IN ('waiting', 'pending_turn', 'in_turn')) ORDER BY n"
)


def find_inbound(c: sqlite3.Connection, query: FindInbound) -> StoredInbound | None:
    """Handle `FindInbound`."""
    sql = "SELECT work, session_id, state = 'done', ended FROM inbox WHERE id = ?"
    row = c.execute(sql, (query.inbound,)).fetchone()
    if row is None:
        return None
    return StoredInbound(
        work=_work(row[0]),
        session=None if row[1] is None else SessionId(row[1]),
        over=bool(row[2]),
        ended=None if row[3] is None else _note(row[3]),
    )


def read_outcome(c: sqlite3.Connection, query: ReadOutcome) -> Outcome | None:
    """Handle `ReadOutcome`."""
    inbound = find_inbound(c, FindInbound(inbound=query.inbound))
    if inbound is None:
        return None
    span = (f"{query.inbound}.", f"{query.inbound}/")
    (pending,) = c.execute(
        f"SELECT EXISTS (SELECT 1 FROM inbox WHERE {_CAUSED} AND state = 'pending')",  # noqa: S608 -- fixed texts
        span,
    ).fetchone()
    ids = [IntentId(row[0]) for row in c.execute(f"SELECT id FROM intents WHERE {_CAUSED}", span)]  # noqa: S608
    found, broken = read_intents(c, ids) if ids else ([], {})
    rows = [(row, receipts) for _, row, receipts in found]
    rows += [(one.row, one.receipts) for one in broken.values()]
    delegations = tuple(
        DueDelegation(
            delegation=DelegationId(row[0]),
            hand=row[1],
            label=row[2],
            state=WorkState(row[3]),
            callback=CallbackState(row[4]),
        )
        for row in c.execute(_DELEGATIONS, span)
    )
    sent = all(is_final(row.state) for row, _ in rows)
    return Outcome(
        inbound=inbound,
        messages=tuple(_caused(row, receipts) for row, receipts in rows),
        delegations=delegations,
        complete=inbound.over and not pending and sent and not delegations,
    )


def read_outcomes(c: sqlite3.Connection, query: ReadOutcomes) -> tuple[Outcome | None, ...]:
    """Handle `ReadOutcomes`."""
    return tuple(read_outcome(c, ReadOutcome(inbound=inbound)) for inbound in query.inbounds)


def _caused(row: IntentRow, receipts: tuple[Receipt, ...]) -> CausedMessage:
    return CausedMessage(
        intent=row.id,
        kind=row.kind,
        state=row.state,
        reason=row.reason,
        address=row.address,
        chunks=row.chunks,
        media=row.media,
        reply_to=row.reply_to,
        poll=row.poll,
        payload=row.payload,
        parts=row.parts,
        action="" if row.action is None else row.action.action.value,
        recipient=row.recipient,
        receipts=receipts,
    )
