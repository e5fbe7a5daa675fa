"""The SQL of mailboxes: messages for people who are reached through the API."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from trunkline.core.store.mailbox import MailboxMessage, MailboxPage, PostToMailbox, ReadMailbox

_json = msgspec.json.Encoder().encode
_message = msgspec.json.Decoder(MailboxMessage).decode
_POST = (
    "INSERT INTO mailbox (key, channel, account, conversation, message, at) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO NOTHING RETURNING n"
)
#: the largest number that was given, and the smallest that is still kept
_BOUNDS = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'mailbox'), 0), (SELECT min(n) FROM mailbox)"
#: the oldest message is from before a time
_SOME_OLD = "SELECT at < ? FROM mailbox ORDER BY n LIMIT 1"
#: the first message whose intent is open: its chunk may be sent again, and must be found by its key then
_FIRST_OPEN = (
    "SELECT min(mailbox.n) FROM intents CROSS JOIN mailbox ON mailbox.key >= intents.id || '/'"
    " AND mailbox.key < intents.id || '0' WHERE intents.state IN ('prepared', 'sending')"
)
_PRUNE = (
    "DELETE FROM mailbox WHERE n IN (SELECT n FROM mailbox WHERE n < coalesce((SELECT n FROM mailbox WHERE at >= ?"
    " ORDER BY n LIMIT 1), (SELECT max(n) + 1 FROM mailbox)) AND n < ? ORDER BY n LIMIT ?)"
)
#: no message has this number
_NONE = 2**62


def post(c: sqlite3.Connection, command: PostToMailbox) -> int:
    """Handle `PostToMailbox`."""
    message, place = command.message, command.message.address
    values = (message.key, place.channel, place.account, place.conversation, _json(message).decode(), command.now)
    row = c.execute(_POST, values).fetchone()
    if row is None:
        row = c.execute("SELECT n FROM mailbox WHERE key = ?", (message.key,)).fetchone()
    return int(row[0])


def post_all(c: sqlite3.Connection, many: Sequence[PostToMailbox]) -> list[int]:
    """Handle many `PostToMailbox`."""
    return [post(c, command) for command in many]


def read_mailbox(c: sqlite3.Connection, query: ReadMailbox) -> MailboxPage:
    """Handle `ReadMailbox`."""
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


def prune_mailbox(c: sqlite3.Connection, cutoff: float, most: int) -> int:
    """Remove some of the messages from before a time, the oldest first; how many.

    They go in their order, so that the oldest that is kept says which cursors have a gap.
    """
    found = c.execute(_SOME_OLD, (cutoff,)).fetchone()
    if found is None or not found[0]:
        return 0
    (first_open,) = c.execute(_FIRST_OPEN).fetchone()
    return c.execute(_PRUNE, (cutoff, _NONE if first_open is None else first_open, most)).rowcount
