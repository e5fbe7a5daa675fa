"""The SQL of ends that are no delivery: what they leave in the queue and in transcripts, inside one transaction."""

import sqlite3

import msgspec

from trunkline.core.delivery.line_changes import lost
from trunkline.core.delivery.notes import delivery_note, work_about
from trunkline.core.records.rows import IntentRow, NewSession, Noted, SessionRow, Settlement, Work
from trunkline.core.store.commands import Admit, EndIntent, EndUnreadableIntent, LoseChunk, Misplace, StoreMirror
from trunkline.core.store.queries import ShowIntent
from trunkline.core.store.sqlite.sql import intents
from trunkline.core.store.sqlite.sql.callbacks.callback_states import follow
from trunkline.core.store.sqlite.sql.intent_columns import CHANGED_COLUMNS, RECEIPTS, changed_values_of
from trunkline.core.store.sqlite.sql.intents import add_mirror, insert_intent, own_session, set_mirror_due, update
from trunkline.core.store.sqlite.sql.queue import show_intent
from trunkline.core.store.sqlite.sql.session_lookup import find_by_id, find_by_key, find_ended
from trunkline.core.store.sqlite.sql.transcript import append_note
from trunkline.core.store.sqlite.sql.work import admit
from trunkline.core.values import IntentId

_json = msgspec.json.Encoder().encode


def misplace(c: sqlite3.Connection, command: Misplace) -> Settlement:
    after, receipt = command.after, _json(command.receipt).decode()
    sets = f"{CHANGED_COLUMNS}, receipts = {RECEIPTS}"
    update(c, command.intent, sets, changed_values_of(after, command.now), (receipt,))
    return _remember(c, after, command)


def end_intent(c: sqlite3.Connection, command: EndIntent) -> Settlement:
    update(c, command.intent, CHANGED_COLUMNS, changed_values_of(command.after, command.now))
    noticed = command.notice is not None and insert_intent(c, command.notice, command.now)
    return msgspec.structs.replace(_remember(c, command.after, command), noticed=noticed)


def _remember(c: sqlite3.Connection, after: IntentRow, command: Misplace | EndIntent) -> Settlement:
    settled = Settlement(mirror=None)
    if command.mirror_due:
        set_mirror_due(c, after)
    else:
        settled = add_mirror(c, after, command.mirror, command.now)
    return msgspec.structs.replace(
        settled, noted=_note(c, after, command.note, command.wake, command.now), callback=follow(c, after.delegation)
    )


def store_mirror(c: sqlite3.Connection, command: StoreMirror) -> Settlement:
    intent = command.intent
    sql = "UPDATE intents SET mirror_due = 0 WHERE id = ? AND id NOT IN (SELECT intent_id FROM nudges)"
    if c.execute(sql, (intent.id,)).rowcount != 1:
        # An operator has changed it since it was read.
        return Settlement(mirror=None)
    settled = add_mirror(c, intent, command.mirror, command.now)
    return msgspec.structs.replace(settled, noted=_note(c, intent, command.note, command.wake, command.now))


def end_unreadable(c: sqlite3.Connection, command: EndUnreadableIntent) -> Settlement:
    done = c.execute(
        "UPDATE intents SET state = ?, reason = ?, updated_at = ?, mirror_due = 0,"
        " untold = CASE WHEN untold = 0 THEN 0 ELSE 1 END WHERE id = ? AND state IN ('prepared', 'sending')",
        (command.state.value, command.reason.value, command.now, command.intent.id),
    )
    if done.rowcount != 1:
        return Settlement(mirror=None)
    return Settlement(
        mirror=None,
        noted=_note(c, command.intent, command.note, command.wake, command.now),
        callback=follow(c, command.intent.delegation),
    )


# Broken JSON would stop the whole statement.
_SOUND = "CASE WHEN json_valid(extra) THEN extra END"
#: changes that take a message away, but for those that surely did nothing
_REMOVAL = (
    "SELECT 1 FROM intents WHERE n > (SELECT n FROM intents WHERE id = ?) AND json_extract(extra, '$.action.of') = ?"
    " AND json_extract(extra, '$.action.action') IN ('unsend', 'delete')"
    " AND state NOT IN ('failed', 'dead', 'expired', 'cancelled') LIMIT 1"
)


def lose_chunk(c: sqlite3.Connection, command: LoseChunk) -> tuple[IntentRow, Settlement] | None:
    """Handle `LoseChunk`, by the stored intent."""
    details, name = show_intent(c, ShowIntent(intent=command.intent)), command.intent
    row, receipts, removed = details.intent, list(details.receipts), c.execute(_REMOVAL, (name, name)).fetchone()
    if removed is not None or any(receipt.lost for receipt in receipts[command.chunk : command.chunk + 1]):
        return None
    if command.chunk < len(receipts):
        receipts[command.chunk] = msgspec.structs.replace(receipts[command.chunk], lost=True)
    after, change = lost(row, receipts, command.reason)
    values = changed_values_of(after, command.now)
    update(c, row, f"{CHANGED_COLUMNS}, receipts = ?", values, (_json(receipts).decode(),))
    line = intents.line_of(c, row, details.receipts)
    changed = None if line is None else intents.apply_change(c, change, row, line)
    note = delivery_note(after, after.progress.state, command.reason)
    wake = work_about(after, note) if note is not None and command.wake else None
    noted = _note(c, after, note, wake, command.now)
    return after, Settlement(mirror=None, changed=changed, noted=noted)


def _note(c: sqlite3.Connection, intent: IntentRow, note: str | None, wake: Work | None, now: float) -> Noted | None:
    """Append the line about a bad end to the session that sent the message, and admit the work that it starts."""
    session = None if note is None else _sender(c, intent)
    if note is None or session is None or not append_note(c, session.id, note, intent.id, now):
        return None
    woken = None if wake is None else _wake(c, session, wake, intent.id, now)
    return Noted(session=session, text=note, woken=woken)


def _sender(c: sqlite3.Connection, intent: IntentRow) -> SessionRow | None:
    """The session whose work sent a message, else the one that would remember it; none is created for this."""
    if intent.inbound is not None:
        row = c.execute("SELECT session_id FROM inbox WHERE id = ?", (intent.inbound,)).fetchone()
        if row is not None and row[0] is not None:
            return find_by_id(c, row[0]) or find_ended(c, row[0])
    own = own_session(c, intent)
    return own if own is not None or intent.mirror_key is None else find_by_key(c, intent.mirror_key)


def _wake(c: sqlite3.Connection, session: SessionRow, wake: Work, intent: IntentId, now: float) -> Work | None:
    """Admit work to a session, once for an intent; none for a session that has ended."""
    if find_by_id(c, session.id) is None:
        return None
    work = msgspec.structs.replace(wake, session_key=session.key)
    new = NewSession(key=session.key, agent=work.agent, id=session.id, address=None)
    admitted = admit(c, Admit(work=work, identity=f"undelivered/{intent}", session=new, now=now), session)
    return None if admitted.session is None else work
