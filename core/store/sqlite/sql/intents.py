"""The SQL that writes intents and clients' sends: one function per command, inside a transaction."""

import sqlite3

import msgspec

from trunkline.core.delivery.line_changes import LineChange, edited_text, line_change
from trunkline.core.errors import IllegalTransition
from trunkline.core.records.rows import (
    ChangedLine,
    IntentFate,
    IntentRow,
    NewSession,
    SendAdmission,
    SendRow,
    SessionRow,
    Settlement,
    send_intent,
)
from trunkline.core.store.commands import AckChunk, BeginSend, Defer, MarkNotified, MarkSending
from trunkline.core.store.sqlite.sql import intent_columns as columns
from trunkline.core.store.sqlite.sql.bindings import touch
from trunkline.core.store.sqlite.sql.callbacks.callback_states import follow
from trunkline.core.store.sqlite.sql.intent_reads import fate_of, latest_send, read_intents
from trunkline.core.store.sqlite.sql.schedule import note_accepted
from trunkline.core.store.sqlite.sql.session_lookup import (
    SESSIONS_OF_KEYS,
    find_by_id,
    find_ended,
    find_tied,
    has_left,
    lane_text,
)
from trunkline.core.store.sqlite.sql.sessions import session_for
from trunkline.core.store.sqlite.sql.transcript import append_mirror, texts
from trunkline.core.text.mirror_text import mirror_text
from trunkline.core.values import IntentKind, IntentState, Receipt, SessionId

# The SQL of edits and deletions in transcripts: the old text is kept with the line.

_Line = tuple[int, str, str, str | None, int]
_KEYS = (
    "SELECT session_key FROM session_places WHERE agent_id = :agent AND lane IN (SELECT value FROM json_each(:lanes))"
    " UNION SELECT new_key FROM session_moves WHERE old_key = :key UNION SELECT :key"
)
_LINE = (
    "SELECT n, session_id, text, was, deleted FROM transcript WHERE ref = :ref AND role = 'assistant'"  # noqa: S608 -- fixed texts
    f" AND session_id IN ({SESSIONS_OF_KEYS} UNION SELECT :own)"
)


def change_line(c: sqlite3.Connection, after: IntentRow) -> ChangedLine | None:
    """Apply an ended change to the line of its message, wherever its session is now; none: nothing changed.

    If the line is still to be stored, the change of it is too.
    """
    change = line_change(after)
    found = None if change is None else read_intents(c, (change.line,))[0]
    if change is None or not found:
        return None
    _, message, receipts = found[0]
    line = line_of(c, message, receipts)
    if line is not None:
        return apply_change(c, change, message, line)
    c.execute(
        "UPDATE intents SET mirror_due = 1 WHERE id = ? AND (SELECT mirror_due FROM intents WHERE id = ?)",
        (after.id, message.id),
    )
    return None


def line_of(c: sqlite3.Connection, message: IntentRow, receipts: tuple[Receipt, ...]) -> _Line | None:
    """The line of a message; the oldest of several."""
    return min(c.execute(_LINE, _where(c, message, receipts)), default=None)


def _where(c: sqlite3.Connection, message: IntentRow, receipts: tuple[Receipt, ...]) -> dict[str, object]:
    """Where the line of a message may be: its session may have another key now, or may have been reset."""
    lanes = [lane_text(place) for place in (message.address, *(receipt.address for receipt in receipts))]
    looked = {"agent": message.agent, "lanes": _json(lanes).decode(), "key": message.mirror_key}
    keys = [key for (key,) in c.execute(_KEYS, looked) if key is not None]
    return {"ref": message.id, "own": message.session, "keys": _json(keys).decode()}


def apply_change(c: sqlite3.Connection, change: LineChange, message: IntentRow, line: _Line) -> ChangedLine | None:
    """Apply a change to the line of a message; none: no difference."""
    text = None if change.text is None else edited_text(change, message.content.media)
    return set_line(c, line, message.id, text)


def set_line(c: sqlite3.Connection, line: _Line, ref: str, text: str | None) -> ChangedLine | None:
    """Give a line another text, or mark it as deleted; none: no difference."""
    n, session, before, was, deleted = line
    if deleted if text is None else text == before:
        return None
    if text is None:
        c.execute("UPDATE transcript SET deleted = 1 WHERE n = ?", (n,))
    else:
        older = () if was is None else texts(was)
        c.execute("UPDATE transcript SET text = ?, was = ? WHERE n = ?", (text, _json((*older, before)).decode(), n))
    row = find_by_id(c, session) or find_ended(c, session)
    return ChangedLine(
        session_id=SessionId(session),
        session_key="" if row is None else row.key,
        line=ref,
        before=before,
        text=text or "",
        deleted=text is None,
    )


_json = msgspec.json.Encoder().encode


def _text(value: object) -> str:
    return _json(value).decode()


_MARKS = ", ".join("?" * len(columns.INTENT_COLUMNS.split(",")))
_INSERT = f"INSERT INTO intents ({columns.INTENT_COLUMNS}) VALUES ({_MARKS}) ON CONFLICT (id) DO NOTHING"  # noqa: S608 -- names only


def insert_intent(c: sqlite3.Connection, intent: IntentRow, now: float) -> bool:
    """Store an intent unless the id is taken; whether the intent is new."""
    return c.execute(_INSERT, columns.values_of(intent, now)).rowcount == 1


def update(
    c: sqlite3.Connection, intent: IntentRow, sets: str, values: tuple[object, ...], receipts: tuple[object, ...] = ()
) -> None:
    """Change an intent that is still as the caller saw it, and whose receipts are readable."""
    was = intent.progress
    done = c.execute(
        f"UPDATE intents SET {sets} WHERE id = ? AND state = ? AND acked = ? AND json_valid(receipts)",  # noqa: S608 -- fixed texts
        (*values, *receipts, intent.id, was.state.value, was.acked),
    )
    if done.rowcount != 1:
        raise IllegalTransition(f"intent {intent.id} is no longer {was.state.value!r} with {was.acked} acked")


def mark_sending(c: sqlite3.Connection, command: MarkSending) -> None:
    padding = columns.WHILE_SENT if columns.is_long(command.intent) else ""
    update(
        c, command.intent, f"{columns.CHANGED_COLUMNS}{padding}", columns.changed_values_of(command.after, command.now)
    )


def defer(c: sqlite3.Connection, command: Defer) -> bool:
    update(c, command.intent, columns.CHANGED_COLUMNS, columns.changed_values_of(command.after, command.now))
    return command.notice is not None and insert_intent(c, command.notice, command.now)


def ack_chunk(c: sqlite3.Connection, command: AckChunk) -> Settlement:
    intent, receipt, last = command.intent, _text(command.receipt), command.intent.is_last
    padded = not last and columns.is_long(intent)
    receipts = (columns.padded_size(receipt, command.after.progress.acked), receipt) if padded else (receipt,)
    sets = f"{columns.ACKED_COLUMNS}, receipts = {columns.RECEIPTS_PADDED if padded else columns.RECEIPTS}"
    update(c, intent, sets, columns.acked_values_of(command.after, command.now), receipts)
    if command.mirror_due:
        set_mirror_due(c, intent)
    if intent.kind is IntentKind.HEARTBEAT:
        note_accepted(c, intent, command.now)
    remembers = last and not command.mirror_due
    settled = add_mirror(c, command.after, command.mirror, command.now) if remembers else Settlement(mirror=None)
    if last and intent.delegation is not None:
        settled = msgspec.structs.replace(settled, callback=follow(c, intent.delegation))
    if intent.bound.binding is None:
        return settled
    # In the same transaction: a visible message keeps its conversation bound (invariant B2).
    return msgspec.structs.replace(settled, touched=touch(c, intent.bound.binding, command.now))


def add_mirror(c: sqlite3.Connection, intent: IntentRow, mirror: NewSession | None, now: float) -> Settlement:
    """Put the accepted chunks of an intent into the session of the conversation, once; a change changes a line."""
    if intent.extra.action is not None:
        return Settlement(mirror=None, changed=change_line(c, intent))
    if mirror is None or intent.progress.acked == 0:
        return Settlement(mirror=None)
    row = mirror_session(c, intent, mirror, now)
    # A payload that only its platform understands has no text, and still gets a line.
    text = mirror_text("\n".join(intent.content.chunks[: intent.progress.acked]), intent.content.media) or ""
    if not append_mirror(c, row.id, text, intent.id, now, partial=intent.progress.acked < len(intent.content.chunks)):
        return Settlement(mirror=None)
    return Settlement(mirror=row, mirror_text=text)


def set_mirror_due(c: sqlite3.Connection, intent: IntentRow) -> None:
    """Note that the transcript lines of an intent are still to be stored."""
    c.execute("UPDATE intents SET mirror_due = 1 WHERE id = ?", (intent.id,))


NOTIFIED = "UPDATE intents SET untold = 0 WHERE id = ? AND untold = 1"


def mark_notified(c: sqlite3.Connection, command: MarkNotified) -> bool:
    return c.execute(NOTIFIED, (command.intent,)).rowcount == 1


def own_session(c: sqlite3.Connection, intent: IntentRow) -> SessionRow | None:
    """The session that an intent belongs to, whatever its key leads to today; none when it names none."""
    if intent.session is None or intent.mirror_key is None:
        return None
    # After a reset the text still belongs to the transcript of the old session.
    return find_by_id(c, intent.session) or find_ended(c, intent.session)


def mirror_session(c: sqlite3.Connection, intent: IntentRow, mirror: NewSession, now: float) -> SessionRow:
    """The session that mirrors an intent. A place that has left that session has another one, where people see it."""
    # What people see elsewhere is not remembered in the session that it was meant for.
    astray = intent.progress.state is IntentState.MISPLACED
    row = (None if astray else own_session(c, intent)) or session_for(c, mirror, now)
    if mirror.address is None or not has_left(c, row.id, mirror.address):
        return row
    return find_tied(c, mirror.agent, mirror.address) or row


def begin_send(c: sqlite3.Connection, command: BeginSend) -> SendAdmission:
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
    row = latest_send(c, send.key)
    fate = None if row is None else fate_of(c, row.intent)
    if row is None or fate is None:
        raise IllegalTransition(f"send {send.key!r}: its intent {(row or send).intent} is gone")
    return row, fate
