"""The SQL of mailboxes, and of what came of an inbound message.

All that it caused has an id that begins with its own and a dot: replies, delegations, their callbacks, and so on.
So the unique indexes of the ids find it, and no row needs another column.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core import values
from trunkline.core.declared import filled
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import TurnNote
from trunkline.core.records.rows import ContentPart, ExtraPart, IntentRow, Work
from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.core.states.intent import is_final
from trunkline.core.store import mailbox
from trunkline.core.store.delegations import CountCaused
from trunkline.core.store.mailbox import MailboxMessage, MailboxPage, PostToMailbox, ReadMailbox
from trunkline.core.store.sqlite.sql.intent_reads import read_intents

_json = msgspec.json.Encoder().encode
_message = msgspec.json.Decoder(MailboxMessage).decode
_POST = (
    "INSERT INTO mailbox (key, channel, account, conversation, message, at) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO NOTHING RETURNING n"
)
#: the largest number that was given, and the smallest that is still kept
_BOUNDS = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'mailbox'), 0), (SELECT min(n) FROM mailbox)"
_IS_OPEN = "SELECT 1 FROM intents WHERE id = ? AND state IN ('prepared', 'sending')"


def post(c: sqlite3.Connection, command: PostToMailbox) -> int:
    message, place = command.message, command.message.address
    values = (message.key, place.channel, place.account, place.conversation, _json(message).decode(), command.now)
    row = c.execute(_POST, values).fetchone()
    if row is None:
        row = c.execute("SELECT n FROM mailbox WHERE key = ?", (message.key,)).fetchone()
    return int(row[0])


def read_mailbox(c: sqlite3.Connection, query: ReadMailbox) -> MailboxPage:
    where, values = "channel = ? AND account = ?", [query.channel, query.account]
    if query.conversation is not None:
        where += " AND conversation = ?"
        values.append(query.conversation)
    if query.kind is not None:
        where += " AND json_extract(message, '$.address.kind') = ?"
        values.append(query.kind)
    sql = f"SELECT n, at, message FROM mailbox WHERE {where} AND n > ? ORDER BY n LIMIT ?"  # noqa: S608 -- fixed texts
    rows = c.execute(sql, (*values, query.after, query.limit)).fetchall()
    newest, oldest = c.execute(_BOUNDS).fetchone()
    return MailboxPage(
        messages=tuple(msgspec.structs.replace(_message(text), n=n, at=at) for n, at, text in rows),
        newest=newest,
        pruned=newest if oldest is None else oldest - 1,
    )


def prune_mailbox(c: sqlite3.Connection, span: tuple[int, int]) -> tuple[int, bool]:
    """Remove the messages of a span of numbers, the oldest first; their count, and whether none is left.

    They go in their order, so that the oldest that is kept says which cursors have a gap. The first one whose intent is
    open stays: its chunk may be sent again, and must be found by its key then.
    """
    after, last = span
    keys = c.execute("SELECT n, key FROM mailbox WHERE n > ? AND n <= ? ORDER BY n", span)
    first_open = next((n for n, key in keys if c.execute(_IS_OPEN, (key.rpartition("/")[0],)).fetchone()), None)
    upto = last if first_open is None else first_open - 1
    return c.execute("DELETE FROM mailbox WHERE n > ? AND n <= ?", (after, upto)).rowcount, first_open is None


_work = msgspec.json.Decoder(Work).decode
_note = msgspec.json.Decoder(TurnNote).decode
_address = msgspec.json.Decoder(values.Address).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_poll = msgspec.json.Decoder(values.Poll).decode
_extra = msgspec.json.Decoder(ExtraPart).decode
_receipts = msgspec.json.Decoder(tuple[values.Receipt, ...]).decode
_PLAIN = ExtraPart()
#: the ids of what an inbound message caused: behind ``<id>.`` and before ``<id>/``
_CAUSED = "id > ? AND id < ?"
#: every statement costs a change of threads or two, so that one asks for many messages
_ASKED = "json_each(?) AS asked CROSS JOIN"
_BELOW = "one.id > asked.value || '.' AND one.id < asked.value || '/'"
_STATES = (
    "SELECT asked.key, main.state = 'done', main.ended,"  # noqa: S608 -- fixed texts
    f" EXISTS (SELECT 1 FROM inbox AS one WHERE {_BELOW} AND one.state = 'pending'),"
    f" EXISTS (SELECT 1 FROM delegations AS one WHERE {_BELOW})"
    f" FROM {_ASKED} inbox AS main WHERE main.id = asked.value"
)
_MESSAGES = (
    "SELECT one.id, one.kind, one.state, one.reason, one.address, one.chunks, one.media, one.reply_to, one.poll,"  # noqa: S608 -- fixed texts
    f" one.payload, one.extra, one.receipts, asked.key FROM {_ASKED} intents AS one WHERE {_BELOW} ORDER BY one.n"
)
_DELEGATIONS = (
    f"SELECT id, hand, label, state, callback FROM delegations WHERE {_CAUSED}"  # noqa: S608 -- fixed texts
    " AND (state IN ('accepted', 'running') OR callback IN ('waiting', 'pending_turn', 'in_turn')) ORDER BY n"
)


def find_inbound(c: sqlite3.Connection, query: mailbox.FindInbound) -> mailbox.StoredInbound | None:
    sql = "SELECT work, session_id, state = 'done', ended FROM inbox WHERE id = ?"
    row = c.execute(sql, (query.inbound,)).fetchone()
    if row is None:
        return None
    return mailbox.StoredInbound(
        work=_work(row[0]),
        session=None if row[1] is None else values.SessionId(row[1]),
        over=bool(row[2]),
        ended=None if row[3] is None else _note(row[3]),
    )


def read_outcome(c: sqlite3.Connection, query: mailbox.ReadOutcome) -> mailbox.Outcome | None:
    (found,) = read_outcomes(c, mailbox.ReadOutcomes(inbounds=(query.inbound,)))
    return found


def read_outcomes(c: sqlite3.Connection, query: mailbox.ReadOutcomes) -> tuple[mailbox.Outcome | None, ...]:
    found: list[mailbox.Outcome | None] = [None] * len(query.inbounds)
    asked = msgspec.json.encode(query.inbounds).decode()
    # First the states: what another process adds between the two queries is then at most too much, and never missing.
    states: list[tuple[int, int, str | None, int, int]] = c.execute(_STATES, (asked,)).fetchall()
    caused = _messages(c, asked, query.inbounds)
    for n, over, ended, pending, delegated in states:
        messages = tuple(caused.get(n, ()))
        delegations = _delegations(c, _span(query.inbounds[n])) if delegated else ()
        sent = all(is_final(message.state) for message in messages)
        found[n] = mailbox.Outcome(
            over=bool(over),
            ended=None if ended is None else _note(ended),
            messages=messages,
            delegations=delegations,
            complete=bool(over) and not pending and sent and not delegations,
        )
    return tuple(found)


def count_caused(c: sqlite3.Connection, query: CountCaused) -> int:
    sql = f"SELECT count(*) FROM delegations WHERE {_CAUSED}"  # noqa: S608 -- fixed texts
    return int(c.execute(sql, _span(query.inbound)).fetchone()[0])


def _span(inbound: values.InboundId) -> tuple[str, str]:
    return f"{inbound}.", f"{inbound}/"


def _delegations(c: sqlite3.Connection, span: tuple[str, str]) -> tuple[mailbox.DueDelegation, ...]:
    return tuple(
        mailbox.DueDelegation(
            delegation=values.DelegationId(row[0]),
            hand=row[1],
            label=row[2],
            state=WorkState(row[3]),
            callback=CallbackState(row[4]),
        )
        for row in c.execute(_DELEGATIONS, span)
    )


def _messages(
    c: sqlite3.Connection, asked: str, inbounds: Sequence[values.InboundId]
) -> dict[int, list[mailbox.CausedMessage]]:
    """The messages that inbound messages caused, by the place of these."""
    caused: dict[int, list[mailbox.CausedMessage]] = {}
    try:
        for row in c.execute(_MESSAGES, (asked,)).fetchall():
            caused.setdefault(row[-1], []).append(_caused(row[:-1]))
    except (sqlite3.OperationalError, ValueError, TypeError):
        # A row cannot be read: the others are read one by one, and of that one what is left.
        return {n: _one_by_one(c, _span(inbound)) for n, inbound in enumerate(inbounds)}
    return caused


def _one_by_one(c: sqlite3.Connection, span: tuple[str, str]) -> list[mailbox.CausedMessage]:
    ids = [values.IntentId(row[0]) for row in c.execute(f"SELECT id FROM intents WHERE {_CAUSED}", span)]  # noqa: S608
    found, broken = read_intents(c, ids)
    rows = [
        *((row, receipts) for _, row, receipts in found),
        *((intent.row, intent.receipts) for intent in broken.values()),
    ]
    return [_caused_by(row, receipts) for row, receipts in rows]


def _caused(row: Sequence[Any]) -> mailbox.CausedMessage:
    """A message from its columns. Raises `ValueError` or `TypeError` for a row that cannot be read."""
    name, kind, state, reason, address, chunks, media, reply_to, poll, payload, extra, receipts = row
    return mailbox.CausedMessage(
        intent=values.IntentId(name),
        kind=values.IntentKind(kind),
        state=values.IntentState(state),
        reason=None if reason is None else Reason(reason),
        address=_address(address),
        content=ContentPart(
            chunks=_texts(chunks),
            media=() if media == "[]" else _texts(media),
            poll=None if poll is None else _poll(poll),
            payload=payload,
            reply_to=reply_to,
        ),
        extra=_PLAIN if extra is None else _extra(extra),
        receipts=_receipts(receipts),
    )


def _caused_by(row: IntentRow, receipts: tuple[values.Receipt, ...]) -> mailbox.CausedMessage:
    return filled(mailbox.CausedMessage, row, row.progress, intent=row.id, receipts=receipts)
