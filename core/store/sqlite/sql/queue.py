"""The SQL of queue administration: what an operator sees of the queue and changes in it.

It works beside a running gateway: only intents that have ended are changed, each in one transaction, and a row in
``nudges`` notifies the process that works the store. Every change follows the table of `core.states.intent`.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.errors import IllegalTransition, StoreError, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import NO_MESSAGE_ID
from trunkline.core.records.rows import CallbackChange, IntentRow, send_key
from trunkline.core.states.intent import OPEN, DeliveryEvent
from trunkline.core.store import queue_admin
from trunkline.core.store.commands import PurgeIntents, ResolveIntent, RetryIntent, TakeNudges
from trunkline.core.store.queries import CountIntents, CountPurgeable, HasNudges, ListIntents, ShowIntent
from trunkline.core.store.sqlite.sql.callbacks.callback_states import follow, resume, without_messages
from trunkline.core.store.sqlite.sql.intent_columns import CHANGED_COLUMNS, changed_values_of
from trunkline.core.store.sqlite.sql.intent_reads import latest_send, read_intents
from trunkline.core.values import Address, IntentId, IntentKind, IntentState, Receipt

_address = msgspec.json.Decoder(Address).decode
_callback = msgspec.json.Decoder(CallbackChange).decode
_json = msgspec.json.Encoder().encode
# Broken JSON would stop the whole statement.
_LIST = (
    "SELECT n, id, kind, state, reason, CAST(address AS BLOB), acked,"
    " json_array_length(CASE WHEN json_valid(chunks) THEN chunks END), attempts, next_at, created_at, updated_at,"
    " CAST(substr(json_extract(CASE WHEN json_valid(chunks) THEN chunks END, '$[0]'), 1, 200) AS BLOB),"
    " CAST(json_extract(CASE WHEN json_valid(extra) THEN extra END, '$.action.action') AS BLOB) FROM intents"
)
_CHANNEL = "json_extract(CASE WHEN json_valid(address) THEN address END, '$.channel') = ?"


#: the conditions of `intents_bad` and of `intents_due`, word for word: every intent that has not arrived is in them
_BAD, _DUE = "state NOT IN ('prepared', 'sending', 'delivered')", "(state IN ('prepared', 'sending') OR untold = 1)"
_FEW = f"SELECT n FROM intents WHERE {_BAD} UNION SELECT n FROM intents WHERE {_DUE}"  # noqa: S608 -- fixed texts


def _where(which: queue_admin.QueueFilter) -> tuple[str, list[Any]]:
    parts: list[str] = ["1"]
    values: list[Any] = []
    for column, some in (("id", which.ids), ("state", [state.value for state in which.states])):
        if some:
            parts.append(f"{column} IN ({', '.join('?' * len(some))})")
            values += some
    if which.states and IntentState.DELIVERED not in which.states:
        # Nearly all intents have arrived, and are not looked at.
        parts.append(_BAD if OPEN.isdisjoint(which.states) else f"n IN ({_FEW})")
    if which.channel:
        parts.append(_CHANNEL)
        values.append(which.channel)
    if which.before is not None:
        parts.append("updated_at < ?")
        values.append(which.before)
    return " AND ".join(parts), values


def count_intents(c: sqlite3.Connection, query: CountIntents) -> dict[IntentState, int]:
    if query.which != queue_admin.QueueFilter():
        return _by_state(c, *_where(query.which))
    found = _by_state(c, f"n IN ({_FEW}) AND state <> 'delivered'", [])
    # All of them are counted in the smallest index, which has no texts.
    (every,) = c.execute("SELECT count(*) FROM intents").fetchone()
    found[IntentState.DELIVERED] = every - sum(found.values())
    return {state: found[state] for state in IntentState if found.get(state)}


def count_behind(c: sqlite3.Connection, which: queue_admin.QueueFilter, n: int) -> int:
    """How many intents that a filter matches come behind number `n`."""
    where, values = _where(which)
    (found,) = c.execute(f"SELECT count(*) FROM intents WHERE n > ? AND {where}", (n, *values)).fetchone()  # noqa: S608 -- fixed texts
    return found


def _by_state(c: sqlite3.Connection, where: str, values: list[Any]) -> dict[IntentState, int]:
    found = dict(c.execute(f"SELECT state, count(*) FROM intents WHERE {where} GROUP BY state", values).fetchall())  # noqa: S608
    return {state: found[state.value] for state in IntentState if state.value in found}


def list_intents(c: sqlite3.Connection, query: ListIntents) -> tuple[queue_admin.QueueRow, ...]:
    where, values = _where(query.which)
    rows = c.execute(f"{_LIST} WHERE n > ? AND {where} ORDER BY n LIMIT ?", (query.after, *values, query.limit))
    return tuple(
        queue_admin.QueueRow(
            n=row[0],
            id=IntentId(row[1]),
            kind=_kinds.get(row[2]),
            state=IntentState(row[3]),
            reason=_reasons.get(row[4]),
            address=readable_place(row[5]),
            acked=row[6],
            chunks=row[7] or 0,
            attempts=row[8],
            next_at=row[9],
            created_at=row[10],
            updated_at=row[11],
            text=(row[12] or b"").decode("utf-8", "replace"),
            action=(row[13] or b"").decode("utf-8", "replace"),
        )
        for row in rows
    )


_kinds: dict[str, IntentKind] = {kind.value: kind for kind in IntentKind}
_reasons: dict[str | None, Reason] = {reason.value: reason for reason in Reason}


def readable_place(text: bytes) -> Address | None:
    """A stored place; none if it cannot be read, so that operators see broken rows too."""
    try:
        return _address(text)
    except ValueError:
        return None


def show_intent(c: sqlite3.Connection, query: ShowIntent) -> queue_admin.IntentDetails:
    """Handle `ShowIntent`. The error for an unknown id suggests similar ones."""
    intent = query.intent
    found, broken = read_intents(c, (IntentId(intent),))
    if broken:
        raise StoreError(f"the row of intent {intent} cannot be read ({broken[IntentId(intent)].problem})")
    if not found:
        near = c.execute("SELECT id FROM intents WHERE instr(id, ?) ORDER BY n DESC LIMIT 3", (intent,)).fetchall()
        hint = f"; did you mean {', '.join(name for (name,) in near)}?" if near and intent else ""
        raise UnknownName(f"no intent {intent!r}{hint}")
    _, row, receipts = found[0]
    (due,) = c.execute("SELECT mirror_due FROM intents WHERE id = ?", (intent,)).fetchone()
    return queue_admin.IntentDetails(
        intent=row, receipts=receipts, mirror_due=bool(due), replaced_by=_replaced_by(c, row)
    )


def _replaced_by(c: sqlite3.Connection, row: IntentRow) -> IntentId | None:
    """The later try of the same client send: if both went out, people would see both."""
    key = send_key(row.id)
    latest = None if key is None else latest_send(c, key)
    return None if latest is None or latest.intent == row.id else latest.intent


def retry(c: sqlite3.Connection, command: RetryIntent) -> IntentRow:
    row = _retry(c, command)
    _nudge(c, row, "retry", resume(c, row, Reason.OPERATOR_RETRY))
    return row


def retry_of_report(c: sqlite3.Connection, intent: str, now: float) -> None:
    """Retry a message of a report that is sent again as a whole: the change of the report is answered there."""
    _nudge(c, _retry(c, RetryIntent(intent=intent, now=now)), "retry", None)


def _retry(c: sqlite3.Connection, command: RetryIntent) -> IntentRow:
    """Reopen an ended intent. Answers the intent before."""
    intent = command.intent
    details = show_intent(c, ShowIntent(intent=intent))
    row, later = details.intent, details.replaced_by
    if row.progress.state is IntentState.UNKNOWN:
        raise IllegalTransition(f"{intent}: a chunk is in doubt; say first what became of it (resolve)")
    after = queue_admin.reopened(row, DeliveryEvent.RETRY, Reason.OPERATOR_RETRY, command.now)
    if any(receipt.lost for receipt in details.receipts):
        raise IllegalTransition(f"{intent}: it was lost after its receipt; send the words as a new message")
    if later is not None:
        raise IllegalTransition(f"{intent}: its client has tried again since; the try that counts is {later}")
    _reopen(c, row, after, command.now)
    return row


def resolve(c: sqlite3.Connection, command: ResolveIntent) -> IntentRow:
    row, verdict, now = show_intent(c, ShowIntent(intent=command.intent)).intent, command.verdict, command.now
    again = verdict is queue_admin.QueueVerdict.UNSENT
    if again:
        _reopen(c, row, queue_admin.reopened(row, DeliveryEvent.RESOLVE_UNSENT, Reason.OPERATOR_UNSENT, now), now)
    elif verdict is queue_admin.QueueVerdict.ABANDON:
        after = queue_admin.resolved(row, DeliveryEvent.ABANDON, Reason.ABANDONED)
        if row.progress.reason is Reason.ABANDONED:
            raise IllegalTransition(f"{command.intent}: it was abandoned before")
        _end(c, after, now)
    else:
        again = _resolve_sent(c, row, command.provider_id, now)
    reason = Reason.OPERATOR_UNSENT if verdict is queue_admin.QueueVerdict.UNSENT else Reason.OPERATOR_SENT
    _nudge(c, row, verdict.value, resume(c, row, reason) if again else follow(c, row.delegation))
    return row


def _resolve_sent(c: sqlite3.Connection, row: IntentRow, provider_id: str, now: float) -> bool:
    """The platform has the chunk: the operator's verdict is its receipt. Whether the chunks after it are sent."""
    accepted, last = row.with_progress(acked=row.progress.acked + 1), row.is_last
    receipt = Receipt(provider_id=provider_id or NO_MESSAGE_ID, address=row.address)
    if last:
        _end(c, queue_admin.resolved(accepted, DeliveryEvent.RESOLVE_LAST, Reason.OPERATOR_SENT), now)
    else:
        _reopen(c, row, queue_admin.reopened(accepted, DeliveryEvent.RESOLVE_CHUNK, Reason.OPERATOR_SENT, now), now)
    c.execute(
        "UPDATE intents SET receipts = json_insert(receipts, '$[#]', json(?)) WHERE id = ?",
        (_json(receipt).decode(), row.id),
    )
    return not last


#: numbers of intents that a batch of a purge looks at: those that it keeps cost time in the only writer, too
_LOOKED_AT = 5_000


def purge(c: sqlite3.Connection, command: PurgeIntents) -> queue_admin.PurgedBatch:
    first = _first_behind(c, command.which, command.past)
    if first is None:
        return queue_admin.PurgedBatch(removed=0, progress=None)
    (where, values), last = _purgeable(command.which), first + _LOOKED_AT
    sql = f"SELECT n, id, delegation_id FROM intents WHERE n BETWEEN ? AND ? AND {where} ORDER BY n LIMIT ?"  # noqa: S608 -- fixed texts
    found = c.execute(sql, (first, last, *values, command.limit)).fetchall()
    remove_intents(c, [intent for _, intent, _ in found])
    for delegation in dict.fromkeys(name for *_, name in found if name is not None):
        change = without_messages(c, delegation)
        if change is not None:
            _leave_note(c, f"the messages of {delegation}", queue_admin.PURGE, "", change)
    progress = found[-1][0] if len(found) == command.limit else last
    return queue_admin.PurgedBatch(removed=len(found), progress=progress)


def _first_behind(c: sqlite3.Connection, which: queue_admin.QueueFilter, n: int) -> int | None:
    """The first number behind `n` of an intent with one of the ids or states; among what has arrived, of any."""
    sql, some = "SELECT min(n) FROM intents WHERE n > ?", list[tuple[Any, ...]]([(n,)])
    if which.ids:
        sql, some = f"{sql} AND id = ?", [(n, id_) for id_ in which.ids]
    elif which.states and IntentState.DELIVERED not in which.states:
        sql, some = f"{sql} AND state = ? AND {_BAD}", [(n, state.value) for state in which.states]
    return min((found for (found,) in (c.execute(sql, values).fetchone() for values in some) if found), default=None)


def count_purgeable(c: sqlite3.Connection, query: CountPurgeable) -> dict[IntentState, int]:
    return _by_state(c, *_purgeable(query.which))


#: the condition of an intent that waits for no operator: it is not in doubt, or was given up
NOT_PARKED = f"(state <> '{IntentState.UNKNOWN.value}' OR coalesce(reason, '') = '{Reason.ABANDONED.value}')"


def _purgeable(which: queue_admin.QueueFilter) -> tuple[str, list[Any]]:
    where, values = _where(which)
    kept = [state.value for state in IntentState if state in OPEN]
    marks = ", ".join("?" * len(kept))
    ended = f"state NOT IN ({marks})"
    if IntentState.UNKNOWN not in which.states:
        ended += f" AND {NOT_PARKED}"
    return f"{where} AND {ended} AND mirror_due = 0 AND untold = 0", [*values, *kept]


def remove_intents(c: sqlite3.Connection, intents: Sequence[str]) -> int:
    """Remove intents, and the clients' sends whose latest try they are; how many sends."""
    sends = 0
    for intent in intents:
        key = send_key(intent)
        send = None if key is None else latest_send(c, key)
        c.execute("DELETE FROM intents WHERE id = ?", (intent,))
        if send is not None and send.intent == intent:
            c.execute("DELETE FROM sends WHERE key = ?", (key,))
            sends += 1
    return sends


def _reopen(c: sqlite3.Connection, row: IntentRow, after: IntentRow, now: float) -> None:
    """Reopen an intent, behind all others."""
    values = (after.created_at, *changed_values_of(after, now), row.id, row.progress.state.value)
    if c.execute(_REOPEN, values).rowcount != 1:
        raise IllegalTransition(f"intent {row.id} is no longer {row.progress.state.value!r}")


_REOPEN = (
    "UPDATE intents SET n = (SELECT max(n) + 1 FROM intents), created_at = ?,"  # noqa: S608 -- names only
    f" {CHANGED_COLUMNS} WHERE id = ? AND state = ?"
)


def _end(c: sqlite3.Connection, after: IntentRow, now: float) -> None:
    """End an intent by an operator's verdict; the mirror of its accepted chunks is due, or what it changes in one."""
    due = after.progress.acked > 0 and (after.mirror_key is not None or after.extra.action is not None)
    c.execute(_END, (due, *changed_values_of(after, now), after.id))


_END = f"UPDATE intents SET mirror_due = max(mirror_due, ?), {CHANGED_COLUMNS} WHERE id = ?"  # noqa: S608 -- names only


def _nudge(c: sqlite3.Connection, before: IntentRow, verb: str, callback: CallbackChange | None) -> None:
    _leave_note(c, before.id, verb, before.progress.state.value, callback)


def _leave_note(c: sqlite3.Connection, what: str, verb: str, before: str, callback: CallbackChange | None) -> None:
    changed = None if callback is None else _json(callback).decode()
    c.execute(_NUDGE, (what, verb, before, changed))


def note_purge(c: sqlite3.Connection, which: queue_admin.QueueFilter, removed: int) -> None:
    """Leave a note about a purge for the process that works the store: nothing else is left of what was removed."""
    _leave_note(c, queue_admin.purge_summary(which, removed), queue_admin.PURGE, "", None)


_NUDGE = "INSERT INTO nudges (intent_id, verb, before, callback) VALUES (?, ?, ?, ?)"


def has_nudges(c: sqlite3.Connection, _: HasNudges) -> bool:
    return c.execute("SELECT 1 FROM nudges LIMIT 1").fetchone() is not None


def take_nudges(c: sqlite3.Connection, _: TakeNudges) -> tuple[queue_admin.Nudge, ...]:
    sql = "SELECT n, intent_id, verb, before, callback FROM nudges ORDER BY n LIMIT ?"
    found = c.execute(sql, (queue_admin.BATCH,)).fetchall()
    if found:
        c.execute("DELETE FROM nudges WHERE n <= ?", (found[-1][0],))
    return tuple(
        queue_admin.Nudge(verb=verb, detail=intent, callback=_changed(callback))
        if verb == queue_admin.PURGE
        else queue_admin.Nudge(
            intent=IntentId(intent), verb=verb, before=IntentState(before), callback=_changed(callback)
        )
        for _, intent, verb, before, callback in found
    )


def _changed(text: str | None) -> CallbackChange | None:
    return None if text is None else _callback(text)
