"""The SQL to read transcripts, and to append lines."""

import sqlite3

import msgspec

from trunkline.core.records.messages import NOTE
from trunkline.core.records.reserved_sender import as_person
from trunkline.core.store.queries import ReadTranscript
from trunkline.core.values import IntentId, Peer, SessionId, TranscriptLine, WorkKind

texts = msgspec.json.Decoder(tuple[str, ...]).decode
_APPEND = "INSERT INTO transcript (session_id, role, text, ref, partial, at) VALUES (?, ?, ?, ?, ?, ?)"
_APPEND_LINE = "INSERT INTO transcript (session_id, role, text, ref, partial, at, author) VALUES (?, ?, ?, ?, ?, ?, ?)"
_APPEND_MIRROR = (
    f"{_APPEND} ON CONFLICT (session_id, ref) DO UPDATE SET text = excluded.text, partial = excluded.partial"
    " WHERE role = excluded.role AND transcript.partial"
    " AND (transcript.text, transcript.partial) <> (excluded.text, excluded.partial)"
)
_APPEND_NOTE = (
    f"{_APPEND} ON CONFLICT (session_id, ref) DO UPDATE SET text = excluded.text, at = excluded.at"
    " WHERE transcript.text <> excluded.text"
)


def append(  # noqa: PLR0917 -- the columns of a line
    c: sqlite3.Connection, session: SessionId, role: str, text: str, ref: str, now: float, author: str | None = None
) -> None:
    """Append a line to a transcript; the table refuses the same reference twice (invariant M1).

    `author`: the person who wrote it, as ``<channel>:<id>``.
    """
    c.execute(_APPEND_LINE, (session, role, text, ref, False, now, author))


def append_mirror(
    c: sqlite3.Connection, session: SessionId, text: str, intent: IntentId, now: float, *, partial: bool
) -> bool:
    """Append a mirror to a transcript, once for an intent; whether that changed anything.

    A repeated mirror changes nothing. A partial line grows in place when more was accepted: an operator may have the
    rest sent. The reference of a line that is not a mirror is refused.
    """
    if c.execute(_APPEND_MIRROR, (session, "assistant", text, intent, partial, now)).rowcount == 1:
        return True
    sql = "SELECT role FROM transcript WHERE session_id = ? AND ref = ?"
    role = c.execute(sql, (session, intent)).fetchone()[0]
    if role != "assistant":
        raise sqlite3.IntegrityError(f"{intent} is the reference of a line of {role!r} in session {session}")
    return False


def append_note(c: sqlite3.Connection, session: SessionId, text: str, intent: IntentId, now: float) -> bool:
    """Append the line about the bad end of an intent; whether that changed anything.

    There is one line for an intent: a later end replaces it.
    """
    # No intent has such an id, so that no mirror has this reference.
    return c.execute(_APPEND_NOTE, (session, NOTE, text, f"{NOTE}/{intent}", False, now)).rowcount == 1


class _Author(msgspec.Struct, frozen=True, gc=False):
    """The part of `Work` that says who wrote a line."""

    kind: WorkKind
    peer: Peer


_author = msgspec.json.Decoder(_Author).decode
_READ = "SELECT role, text, ref, partial, at, was, deleted, {work} FROM transcript t {join} WHERE t.session_id = ?"
_LINES = _READ.format(work="NULL", join="")
_AUTHORED = _READ.format(work="i.work", join="LEFT JOIN inbox i ON i.id = t.ref AND t.role IN ('user', 'hand')")


def read_transcript(c: sqlite3.Connection, query: ReadTranscript) -> tuple[TranscriptLine, ...]:
    # The newest lines are found from the end, and returned in order.
    limit = -1 if query.last is None else query.last
    sql = f"{_AUTHORED if query.authors else _LINES} ORDER BY t.n DESC LIMIT ?"
    rows = c.execute(sql, (query.session, limit)).fetchall()
    rows.reverse()
    return tuple(
        TranscriptLine(
            role=row[0],
            text=row[1],
            ref=row[2],
            partial=bool(row[3]),
            at=row[4],
            was=() if row[5] is None else texts(row[5]),
            deleted=bool(row[6]),
            by=None if row[7] is None else _by(row[7]),
        )
        for row in rows
    )


def _by(work: bytes) -> Peer:
    """The author of a line, as `Work.sender` shows them."""
    author = _author(work)
    return as_person(author.peer) if author.kind in (WorkKind.MESSAGE, WorkKind.CONTROL) else author.peer
