"""The SQL of the present of a gateway: the newest lines and everything that is open, in one transaction."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import StoredIntent
from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.core.store.delegations import DelegationFilter, ListDelegations
from trunkline.core.store.operators.present import Present, PresentSession, ReadPresent
from trunkline.core.store.queries import ListBindings, LoadUnfinished
from trunkline.core.store.sqlite.sql import bindings
from trunkline.core.store.sqlite.sql.hands.reads import list_delegations
from trunkline.core.store.sqlite.sql.intent_reads import read_intents
from trunkline.core.store.sqlite.sql.queue import readable_place
from trunkline.core.store.sqlite.sql.transcript import texts
from trunkline.core.store.sqlite.sql.unfinished import load_unfinished
from trunkline.core.values import IntentId, SessionId, TranscriptLine

T = TypeVar("T")
_LINES = (
    "SELECT session_id, role, text, ref, partial, at, was, deleted FROM transcript"
    " WHERE n > (SELECT coalesce(max(n), 0) FROM transcript) - ? ORDER BY n DESC"
)
_SESSIONS = (
    "SELECT session_key, session_id, agent_id, generation, CAST(address AS BLOB) FROM session_map"
    " WHERE session_id IN (SELECT value FROM json_each(?)) ORDER BY session_id"
)
_OPEN = "SELECT id FROM intents WHERE state IN ('prepared', 'sending') ORDER BY n LIMIT ?"
_PARKED = (
    f"SELECT id FROM intents WHERE state = 'unknown' AND coalesce(reason, '') <> '{Reason.ABANDONED.value}'"  # noqa: S608
    " ORDER BY n DESC LIMIT ?"
)
_OPEN_WORK = (WorkState.ACCEPTED, WorkState.RUNNING)
_OPEN_REPORTS = (CallbackState.PENDING_TURN, CallbackState.IN_TURN, CallbackState.QUEUED, CallbackState.PARKED)


def read_present(c: sqlite3.Connection, query: ReadPresent) -> Present:
    c.execute("BEGIN")
    try:
        return _read(c, query)
    finally:
        c.execute("ROLLBACK")


def _read(c: sqlite3.Connection, query: ReadPresent) -> Present:
    # The first statement fixes what the transaction sees.
    lines = _newest_lines(c, query)
    mark = query.mark()
    left_out: list[str] = []

    def some(what: str, found: Sequence[T]) -> Sequence[T]:
        if len(found) > query.rows:
            left_out.append(f"{what} beyond {query.rows:,}")
        return found[: query.rows]

    works = some("turns in progress", load_unfinished(c, LoadUnfinished()).works)
    ids = [IntentId(intent) for (intent,) in c.execute(_OPEN, (query.rows + 1,))]
    parked = [IntentId(intent) for (intent,) in c.execute(_PARKED, (query.rows + 1,))]
    wanted = (*some("open intents", ids), *some("parked intents", parked))
    intents = [StoredIntent(row=row, receipts=receipts) for _, row, receipts in read_intents(c, wanted)[0]]
    delegations = some("open delegations", _delegations(c, query.rows + 1))
    sessions = {*lines, *(session for _, session in works)}
    sessions |= {intent.row.session for intent in intents if intent.row.session is not None}
    sessions |= {row.session for row in delegations if row.session is not None}
    return Present(
        mark=mark,
        sessions=_sessions(c, sessions, lines),
        works=tuple(works),
        intents=tuple(intents),
        delegations=tuple(delegations),
        bindings=bindings.list_bindings(c, ListBindings()).rows,
        left_out=tuple(left_out),
    )


def _newest_lines(c: sqlite3.Connection, query: ReadPresent) -> dict[SessionId, list[TranscriptLine]]:
    found: defaultdict[SessionId, list[TranscriptLine]] = defaultdict(list)
    for session, role, text, ref, partial, at, was, deleted in c.execute(_LINES, (query.lines,)):
        known = found[SessionId(session)]
        if len(known) < query.lines_each:
            earlier = () if was is None else texts(was)
            known.append(
                TranscriptLine(
                    role=role, text=text, ref=ref, partial=bool(partial), at=at, was=earlier, deleted=bool(deleted)
                )
            )
    for known in found.values():
        known.reverse()
    return dict(found)


def _sessions(
    c: sqlite3.Connection, wanted: set[SessionId], lines: dict[SessionId, list[TranscriptLine]]
) -> tuple[PresentSession, ...]:
    rows = c.execute(_SESSIONS, (msgspec.json.encode(sorted(wanted)).decode(),)).fetchall()
    return tuple(
        PresentSession(
            key=key,
            id=SessionId(session),
            agent=agent,
            generation=generation,
            address=None if address is None else readable_place(address),
            lines=tuple(lines.get(SessionId(session), ())),
        )
        for key, session, agent, generation, address in rows
    )


def _delegations(c: sqlite3.Connection, limit: int) -> tuple[DelegationRow, ...]:
    filters = (DelegationFilter(states=_OPEN_WORK), DelegationFilter(callbacks=_OPEN_REPORTS))
    found = {
        row.id: row
        for which in filters
        for row in list_delegations(c, ListDelegations(which=which, before=None, limit=limit)).rows
    }
    return tuple(sorted(found.values(), key=lambda row: row.accepted_at))
