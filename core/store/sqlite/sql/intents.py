"""The SQL that writes intents and clients' sends: one function per command, inside a transaction."""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.delivery.mirror_text import mirror_text
from trunkline.core.delivery.states import may_end
from trunkline.core.errors import IllegalTransition
from trunkline.core.store.commands import (
    AckChunk,
    BeginSend,
    Defer,
    EndIntent,
    EndUnreadableIntent,
    MarkNotified,
    MarkSending,
    Misplace,
    StoreMirror,
)
from trunkline.core.store.records import (
    IntentFate,
    IntentRow,
    NewSession,
    SendAdmission,
    SendRow,
    SessionRow,
    Settlement,
    send_intent,
)
from trunkline.core.store.sqlite.sql.bindings import touch
from trunkline.core.store.sqlite.sql.intent_columns import INTENT_COLUMNS, values_of
from trunkline.core.store.sqlite.sql.intent_reads import fate_of, latest_send
from trunkline.core.store.sqlite.sql.receipt_padding import PADDED, PLAIN, WHILE_SENT, is_long, padded_size
from trunkline.core.store.sqlite.sql.session_lookup import find_by_id, find_ended, find_tied, has_left
from trunkline.core.store.sqlite.sql.sessions import session_for
from trunkline.core.store.sqlite.sql.transcript import append_mirror

_json = msgspec.json.Encoder().encode


def _text(value: object) -> str:
    return _json(value).decode()


_MARKS = ", ".join("?" * len(INTENT_COLUMNS.split(",")))
_INSERT = f"INSERT INTO intents ({INTENT_COLUMNS}) VALUES ({_MARKS}) ON CONFLICT (id) DO NOTHING"  # noqa: S608 -- names only


def insert_intent(c: sqlite3.Connection, intent: IntentRow, now: float) -> bool:
    """Store an intent unless its id is taken; whether it is new."""
    return c.execute(_INSERT, values_of(intent, now)).rowcount == 1


def _update(c: sqlite3.Connection, intent: IntentRow, sets: str, values: tuple[object, ...]) -> None:
    """Change an intent that is still as the caller saw it, and whose receipts are readable."""
    done = c.execute(
        f"UPDATE intents SET {sets} WHERE id = ? AND state = ? AND acked = ? AND json_valid(receipts)",  # noqa: S608 -- `sets`: the texts below
        (*values, intent.id, intent.state.value, intent.acked),
    )
    if done.rowcount != 1:
        raise IllegalTransition(f"intent {intent.id} is no longer {intent.state.value!r} with {intent.acked} acked")


def mark_sending(c: sqlite3.Connection, command: MarkSending) -> None:
    """Handle `MarkSending`."""
    intent, after = command.intent, command.after
    sets = f"state = ?, attempts = ?, updated_at = ?{WHILE_SENT if is_long(intent) else ''}"
    _update(c, intent, sets, (after.state.value, after.attempts, command.now))


def ack_values(command: AckChunk) -> tuple[object, ...]:
    """The values of `ACK_SETS`, but for the receipt."""
    after = command.after
    assert after.reason is not None
    return after.state.value, after.acked, after.attempts, after.reason.value, command.now


#: what an ack sets; `AckChunk.after` is the same as a value
ACK_SETS = (
    "state = ?, acked = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?, marked = 0, doubt_at = NULL,"
    " transport = NULL, receipts = "
)


def ack_chunk(c: sqlite3.Connection, command: AckChunk) -> Settlement:
    """Handle `AckChunk`."""
    intent, receipt, last = command.intent, _text(command.receipt), command.last
    padded = not last and is_long(intent)
    size = (padded_size(receipt, command.after.acked),) if padded else ()
    _update(c, intent, f"{ACK_SETS}{PADDED if padded else PLAIN}", (*ack_values(command), *size, receipt))
    if command.mirror_due:
        _set_mirror_due(c, intent)
    settled = _mirror(c, intent, command.after.acked, command.mirror, command.now) if last else Settlement(mirror=None)
    if intent.binding is None:
        return settled
    # In the same transaction: a visible message keeps its conversation bound (invariant B2).
    return msgspec.structs.replace(settled, touched=touch(c, intent.binding, command.now))


def _mirror(c: sqlite3.Connection, intent: IntentRow, acked: int, mirror: NewSession | None, now: float) -> Settlement:
    """Put the accepted chunks into the session of the conversation, once."""
    if mirror is None or acked == 0:
        return Settlement(mirror=None)
    row = mirror_session(c, intent, mirror, now)
    # A payload that only its platform understands has no text, and still gets a line.
    text = mirror_text("\n".join(intent.chunks[:acked]), intent.media) or ""
    if not append_mirror(c, row.id, text, intent.id, now, partial=acked < len(intent.chunks)):
        return Settlement(mirror=None)
    return Settlement(mirror=row, mirror_text=text)


def _set_mirror_due(c: sqlite3.Connection, intent: IntentRow) -> None:
    c.execute("UPDATE intents SET mirror_due = 1 WHERE id = ?", (intent.id,))


def store_mirror(c: sqlite3.Connection, command: StoreMirror) -> Settlement:
    """Handle `StoreMirror`."""
    c.execute("UPDATE intents SET mirror_due = 0 WHERE id = ?", (command.intent.id,))
    return _mirror(c, command.intent, command.intent.acked, command.mirror, command.now)


NOTIFIED = "UPDATE intents SET untold = 0 WHERE id = ? AND untold = 1"


def mark_notified(c: sqlite3.Connection, command: MarkNotified) -> bool:
    """Handle `MarkNotified`."""
    return c.execute(NOTIFIED, (command.intent,)).rowcount == 1


def end_unreadable(c: sqlite3.Connection, command: EndUnreadableIntent) -> None:
    """Handle `EndUnreadableIntent`."""
    c.execute(
        "UPDATE intents SET state = ?, reason = ?, updated_at = ?, untold = 0, mirror_due = 0"
        " WHERE id = ? AND state IN ('prepared', 'sending')",
        (command.state.value, command.reason.value, command.now, command.intent),
    )


def own_session(c: sqlite3.Connection, intent: IntentRow) -> SessionRow | None:
    """The session that an intent belongs to, whatever its key leads to today; none when it names none."""
    if intent.session is None or intent.mirror_key is None:
        return None
    # After a reset the text still belongs to the transcript of the old session.
    return find_by_id(c, intent.session) or find_ended(c, intent.session)


def mirror_session(c: sqlite3.Connection, intent: IntentRow, mirror: NewSession, now: float) -> SessionRow:
    """The session that mirrors an intent. A place that has left that session has another one, where people see it."""
    row = own_session(c, intent) or session_for(c, mirror, now)
    if mirror.address is None or not has_left(c, row.id, mirror.address):
        return row
    return find_tied(c, mirror.agent, mirror.address) or row


def misplace(c: sqlite3.Connection, command: Misplace) -> Settlement:
    """Handle `Misplace`."""
    intent, after = command.intent, command.after
    assert after.reason is not None
    _update(
        c,
        intent,
        f"state = ?, acked = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?, receipts = {PLAIN}",
        (after.state.value, after.acked, after.attempts, after.reason.value, command.now, _text(command.receipt)),
    )
    # People see it elsewhere, so the session it was meant for does not remember it.
    return _mirror(c, msgspec.structs.replace(intent, session=None), after.acked, command.mirror, command.now)


def defer(c: sqlite3.Connection, command: Defer) -> None:
    """Handle `Defer`."""
    after = command.after
    _update(
        c,
        command.intent,
        "state = ?, attempts = ?, next_at = ?, reason = ?, updated_at = ?, marked = ?, doubt_at = ?, transport = ?,"
        " bound = ?",
        (
            after.state.value,
            after.attempts,
            after.next_at,
            command.reason.value,
            command.now,
            after.marked,
            after.doubt_at,
            None if after.transport is None else after.transport.value,
            None if after.bound is None else _text(after.bound),
        ),
    )


def end_intent(c: sqlite3.Connection, command: EndIntent) -> Settlement:
    """Handle `EndIntent`."""
    intent, state = command.intent, command.state
    if not may_end(intent.state, state, accepted_chunks=intent.acked, in_doubt=intent.doubt_at is not None):
        raise IllegalTransition(f"an intent that is {intent.state.value!r} cannot end as {state.value!r}")
    _update(
        c,
        intent,
        "state = ?, attempts = ?, reason = ?, next_at = NULL, updated_at = ?",
        (state.value, intent.attempts, command.reason.value, command.now),
    )
    if command.notice is not None:
        insert_intent(c, command.notice, command.now)
    if command.mirror_due:
        _set_mirror_due(c, intent)
    return _mirror(c, intent, intent.acked, command.mirror, command.now)


# -------------------------------------------------------------------- clients' sends


def begin_send(c: sqlite3.Connection, command: BeginSend) -> SendAdmission:
    """Handle `BeginSend`."""
    send, intent, now = command.send, command.intent, command.now
    # Look at the keys that were retried first: the first intent of such a key may have been removed already.
    if c.execute("SELECT 1 FROM sends WHERE key = ?", (send.key,)).fetchone() is None and insert_intent(c, intent, now):
        if send.tries > 1:
            _note_send(c, send, now)
    else:
        latest, fate = _latest(c, send)
        tries = latest.tries + 1
        # An intent that hooks have seen is stored under the id that they have seen, or not at all.
        if not command.again(fate.state) or (intent.hooks_pending and intent.id != send_intent(send.key, tries)):
            return SendAdmission(new=False, send=latest, fate=fate)
        while not insert_intent(c, msgspec.structs.replace(intent, id=send_intent(send.key, tries)), now):
            tries += 1
        intent = msgspec.structs.replace(intent, id=send_intent(send.key, tries))
        send = msgspec.structs.replace(send, intent=intent.id, tries=tries)
        _note_send(c, send, now)
    session = None if command.entry is None else session_for(c, command.entry, now)
    return SendAdmission(new=True, send=send, intent=intent, session=session)


_NOTE_SEND = (
    "INSERT OR REPLACE INTO sends (key, intent_id, tries, session_key, channel, asked_at) VALUES (?, ?, ?, ?, ?, ?)"
)


def _note_send(c: sqlite3.Connection, send: SendRow, now: float) -> None:
    """Remember the latest try of a send. The first try needs no row: its intent is named by the key."""
    c.execute(_NOTE_SEND, (send.key, send.intent, send.tries, send.session_key, send.channel, now))


def _latest(c: sqlite3.Connection, send: SendRow) -> tuple[SendRow, IntentFate]:
    """The latest try of a send, and its fate."""
    row = latest_send(c, send.key)
    fate = None if row is None else fate_of(c, row.intent)
    if row is None or fate is None:
        raise IllegalTransition(f"send {send.key!r}: its intent {(row or send).intent} is gone")
    return row, fate
