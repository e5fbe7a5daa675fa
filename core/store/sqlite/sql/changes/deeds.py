"""The SQL of deeds, inside one transaction."""

import sqlite3

import msgspec

from trunkline.core.records.deeds import DeedSubject
from trunkline.core.records.inbound import TurnNote
from trunkline.core.records.messages import NOTE
from trunkline.core.records.rows import ChangedLine, NewSession, Work
from trunkline.core.store.commands import Admit, TakeDeed
from trunkline.core.store.queries import FindMessage, FindSubject
from trunkline.core.store.sqlite.sql.changes.messages import find_message
from trunkline.core.store.sqlite.sql.intent_reads import read_intents
from trunkline.core.store.sqlite.sql.intents import line_of, set_line
from trunkline.core.store.sqlite.sql.session_lookup import find_by_id
from trunkline.core.store.sqlite.sql.sessions import known_as
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.store.sqlite.sql.work import admit

_json = msgspec.json.Encoder().encode
_work = msgspec.json.Decoder(Work).decode
#: newest messages among which one is looked for whose thread is not known
_NEWEST = 10_000
_IN_THREADS = (
    "SELECT id FROM inbox WHERE n > (SELECT coalesce(max(n), 0) FROM inbox) - :newest"
    " AND substr(identity, 1, length(:begin)) = :begin AND instr(identity, :end) ORDER BY n DESC LIMIT 1"
)
_WORK = "SELECT work, session_id FROM inbox WHERE id = ?"
_LINE = "SELECT n, session_id, text, was, deleted FROM transcript WHERE session_id = ? AND ref = ?"


def find_subject(c: sqlite3.Connection, query: FindSubject) -> DeedSubject | None:
    known = known_as(c, (query.deed,)) is not None
    message = FindMessage(name=query.message, place=query.place, identities=(query.identity,), agents=query.agents)
    found = find_message(c, message)
    inbound, ours, line = found.inbound, found.ours, None
    facts = dict[str, object]()
    # An id may be unique in its conversation only.
    here = ours is not None and ours.chunk is not None and ours.receipts[ours.chunk].address
    if ours is not None and here and here.conversation == query.place.conversation:
        own = read_intents(c, (ours.intent,))[0]
        line = line_of(c, own[0][1], own[0][2]) if own else None
        facts |= {"intent": ours.intent, "agent": ours.agent}
    else:
        row = c.execute(_WORK, (inbound or _in_threads(c, query),)).fetchone()
        if row is None:
            return None
        work = _work(row[0])
        line = c.execute(_LINE, (row[1], work.id)).fetchone()
        facts |= {"work": work, "agent": work.agent}
    session = None if line is None else find_by_id(c, line[1])
    if line is None or session is None:
        return None
    facts |= {"session": session, "text": line[2], "deleted": bool(line[4]), "known": known}
    return msgspec.convert(facts, DeedSubject)


def _in_threads(c: sqlite3.Connection, query: FindSubject) -> str | None:
    begin, end = query.in_threads or ("", "")
    row = c.execute(_IN_THREADS, {"newest": _NEWEST, "begin": begin, "end": end}).fetchone() if begin else None
    return None if row is None else row[0]


def take_deed(c: sqlite3.Connection, command: TakeDeed) -> ChangedLine | None:
    session, plan, ref, now = command.subject.session, command.plan, command.subject.ref, command.now
    sql = "INSERT INTO inbox_aliases (identity, inbound_id, at) VALUES (?, ?, ?)"
    c.execute(sql, (command.identity, ref, now))
    if plan.outcome == "changed":
        c.execute("UPDATE inbox SET work = ? WHERE id = ? AND state = 'pending'", (_json(plan.work), ref))
    elif plan.outcome == "withdrawn":
        ended = _json(TurnNote(outcome="silent", reason=plan.reason)).decode()
        c.execute("UPDATE inbox SET state = 'done', ended = ? WHERE id = ? AND state = 'pending'", (ended, ref))
    line = c.execute(_LINE, (session.id, ref)).fetchone() if plan.deletes or plan.text is not None else None
    changed = None if line is None else set_line(c, line, ref, plan.text)
    if plan.note:
        append(c, session.id, NOTE, plan.note, command.identity, now, command.author)
    if command.wake is not None:
        new = NewSession(key=session.key, agent=command.wake.agent, id=session.id, address=None)
        admit(c, Admit(work=command.wake, identity=f"deed/{command.identity}", session=new, now=now), session)
    return changed
