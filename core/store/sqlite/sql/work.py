"""The SQL that writes inbound work and delegations: one function per command, inside a transaction."""

import sqlite3

import msgspec

from trunkline.core.records.rows import Admission, LastTurn, SessionRow, Work
from trunkline.core.store.commands import Admit, BeginRun, CountRuns, Enqueue, FinishTurn, TurnFinish
from trunkline.core.store.schedule import Fire
from trunkline.core.store.sqlite.sql.bindings import touch
from trunkline.core.store.sqlite.sql.callbacks.callback_states import after_turn
from trunkline.core.store.sqlite.sql.intents import insert_intent
from trunkline.core.store.sqlite.sql.schedule import add_event, note_text, store_timer
from trunkline.core.store.sqlite.sql.session_moves import tie_nowhere
from trunkline.core.store.sqlite.sql.sessions import known_as, look_up, session_for
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.values import InboundId, WorkKind

_json = msgspec.json.Encoder().encode
_work = msgspec.json.Decoder(Work).decode
#: the role of a hand's result in a transcript
HAND_ROLE = "hand"
_ROLES = {kind: HAND_ROLE if kind is WorkKind.CALLBACK else "user" for kind in WorkKind}
#: rows among which the last turn of a session is looked for
_NEWEST = 10_000
_LAST_TURN = (
    "SELECT work, admitted_at FROM inbox WHERE n > (SELECT coalesce(max(n), 0) FROM inbox) - ? AND session_id = ?"
    " AND kind IN ('message', 'control', 'callback') ORDER BY n DESC LIMIT 1"
)
_BY_PEOPLE = (WorkKind.MESSAGE, WorkKind.CONTROL)
#: work that comes from no place
_FROM_NOWHERE = (WorkKind.WAKE, WorkKind.HEARTBEAT, WorkKind.CRON)


def admit(c: sqlite3.Connection, command: Admit, own: SessionRow | None = None) -> Admission:
    """Handle `Admit`. `own`: the session that the work belongs to by its id."""
    work, now = command.work, command.now
    lookup = look_up(c, command.session, command.identity)
    known = lookup.known
    if command.also:
        known = known or known_as(c, (command.identity, *command.also))
        _note_aliases(c, command, known)
    if known is not None:
        return Admission(session=None, first=InboundId(known))
    row = own or session_for(c, command.session, now, lookup)
    if command.chain is not None:
        last = _last_turn(c, row)
        work = msgspec.structs.replace(work, chain=command.chain.place_after(last, now))
        if last is not None and work.chain > command.chain.longest:
            return Admission(session=None, over=last)
    if work.kind in _FROM_NOWHERE and own is None:
        tie_nowhere(c, work.agent, row.key)
    c.execute(
        "INSERT INTO inbox (id, identity, kind, session_key, session_id, agent_id, state, work, admitted_at)"
        " VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
        (work.id, command.identity, work.kind.value, work.session_key, row.id, work.agent, _json(work), now),
    )
    by_person = work.kind in _BY_PEOPLE and work.place is not None
    author = f"{work.place.channel}:{work.peer.id}" if by_person and work.place is not None else None
    append(c, row.id, _ROLES[work.kind], work.text, work.id, now, author)
    by_peer = work.binding is not None and work.kind is WorkKind.MESSAGE
    touched = touch(c, work.binding, now) if by_peer and work.binding is not None else None
    return Admission(session=row, touched=touched, chain=work.chain)


def _last_turn(c: sqlite3.Connection, session: SessionRow) -> LastTurn | None:
    """The last turn of a session. No more rows are looked at than a bot's message is worth."""
    row = c.execute(_LAST_TURN, (_NEWEST, session.id)).fetchone()
    if row is None:
        return None
    work = _work(row[0])
    return LastTurn(id=work.id, session=session.id, chain=work.chain, at=row[1])


def _note_aliases(c: sqlite3.Connection, command: Admit, known: str | None) -> None:
    """Note the identities that do not stand in `inbox` itself, under the message that they belong to."""
    identities = command.also if known is None else (command.identity, *command.also)
    c.executemany(
        "INSERT INTO inbox_aliases (identity, inbound_id, at) SELECT ?, ?, ?"
        " WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE identity = ?) ON CONFLICT DO NOTHING",
        [(identity, known or command.work.id, command.now, identity) for identity in identities],
    )


def begin_run(c: sqlite3.Connection, command: BeginRun) -> None:
    if command.outlived:
        c.execute("UPDATE inbox SET begun = 2 WHERE id = ? AND state = 'pending' AND begun = 1", (command.work,))
    else:
        c.execute("UPDATE inbox SET begun = 1 WHERE id = ?", (command.work,))


def count_runs(c: sqlite3.Connection, command: CountRuns) -> None:
    charged = sorted(command.charged)
    c.executemany("UPDATE inbox SET charged = charged + 1 WHERE id = ? AND begun > 0", [(work,) for work in charged])
    c.execute("UPDATE inbox SET runs = runs + 1, begun = 0 WHERE state = 'pending' AND begun > 0")
    c.execute("UPDATE delegations SET runs = runs + 1, begun = 0 WHERE state = 'running' AND begun = 1")


def forget_begun(c: sqlite3.Connection, token: int) -> None:
    """The holder of a token stops in order: no run in progress has taken it down."""
    mine = "begun > 0 AND (SELECT token FROM lease) = ?"
    c.execute(f"UPDATE inbox SET begun = 0 WHERE state = 'pending' AND {mine}", (token,))  # noqa: S608 -- fixed text
    c.execute(f"UPDATE delegations SET begun = 0 WHERE state = 'running' AND {mine}", (token,))  # noqa: S608 -- fixed text


def enqueue(c: sqlite3.Connection, command: Enqueue) -> bool:
    new = insert_intent(c, command.intent, command.now)
    if new and command.said is not None:
        note_text(c, command.said, command.now)
    return new


def finish_turn(c: sqlite3.Connection, command: FinishTurn) -> TurnFinish:
    ended = None if command.ended is None else _json(command.ended).decode()
    c.execute("UPDATE inbox SET state = 'done', ended = ? WHERE id = ?", (ended, command.work.id))
    new = tuple(intent.id for intent in command.intents if insert_intent(c, intent, command.now))
    if command.said is not None and command.said.intent in new:
        note_text(c, command.said, command.now)
    callback = None
    if command.callback is not None and command.work.callback is not None:
        delegation = command.work.callback.delegation
        callback = after_turn(c, delegation, command.callback, command.callback_reason)
    return TurnFinish(new=new, callback=callback)


def fire(c: sqlite3.Connection, command: Fire) -> Admission | None:
    if command.timer is not None:
        store_timer(c, command.timer)
    if command.event is not None:
        add_event(c, command.event, command.now)
    if command.admit is None:
        return None
    admission = admit(c, command.admit)
    if admission.session is not None and command.taken:
        agent = command.admit.work.agent
        c.execute("DELETE FROM system_events WHERE agent_id = ? AND n <= ?", (agent, command.taken))
    return admission
