"""The SQL of retention: removes old rows in batches, each with rows of its own."""

import sqlite3

from trunkline.core.store.commands import Prune
from trunkline.core.store.queue_admin import BATCH, PruneCounts, SweepProgress
from trunkline.core.store.sqlite.sql.callbacks import results
from trunkline.core.store.sqlite.sql.mailbox import prune_mailbox
from trunkline.core.store.sqlite.sql.queue import NOT_PARKED, remove_intents

#: tables that grow in the order of time, and the column that says so: their first young row ends a sweep
_GROWN_AT = {
    "intents": "created_at",
    "inbox": "admitted_at",
    "inbox_aliases": "at",
    "delegations": "accepted_at",
    "mailbox": "at",
}
_INTENTS = (
    "SELECT id FROM intents WHERE n > ? AND n <= ? AND updated_at < ? AND untold = 0 AND mirror_due = 0"  # noqa: S608 -- fixed texts
    f" AND state NOT IN ('prepared', 'sending') AND {NOT_PARKED} ORDER BY n"
)
_INBOX = "DELETE FROM inbox WHERE n > ? AND n <= ? AND state = 'done'"
_ALIASES = "DELETE FROM inbox_aliases WHERE n > ? AND n <= ?"
_BINDINGS = "DELETE FROM bindings WHERE n > ? AND n <= ? AND status = 'ended' AND last_activity_at < ?"


class _Span:
    """The rows of one batch in a table: the number before the first, and that of the last."""

    def __init__(self, c: sqlite3.Connection, table: str, after: int | None, cutoff: float) -> None:
        self.numbers = 0, 0
        #: where the next batch goes on
        self.progress: int | None = None
        if after is None:
            return
        old = f"{_GROWN_AT[table]} < ?" if table in _GROWN_AT else "? IS NOT NULL"
        sql = f"SELECT n, {old} FROM {table} WHERE n > ? ORDER BY n LIMIT ?"  # noqa: S608 -- fixed texts
        last, visited = after, 0
        for n, is_old in c.execute(sql, (cutoff, after, BATCH)):
            if not is_old:
                break
            last, visited = n, visited + 1
        self.numbers = after, last
        self.progress = last if visited == BATCH else None


def prune(c: sqlite3.Connection, command: Prune) -> PruneCounts:
    cutoff, before = command.cutoff, command.progress
    intents = _Span(c, "intents", before.intents, cutoff)
    inbounds = _Span(c, "inbox", before.inbounds, cutoff)
    aliases = _Span(c, "inbox_aliases", before.aliases, cutoff)
    bindings = _Span(c, "bindings", before.bindings, cutoff)
    delegations = _Span(c, "delegations", before.delegations, cutoff)
    mailbox = _Span(c, "mailbox", before.mailbox, cutoff)
    old = [intent for (intent,) in c.execute(_INTENTS, (*intents.numbers, cutoff)).fetchall()]
    c.execute(_ALIASES, aliases.numbers)
    messages, all_of_them = prune_mailbox(c, mailbox.numbers)
    return PruneCounts(
        intents=len(old),
        sends=remove_intents(c, old),
        inbounds=c.execute(_INBOX, inbounds.numbers).rowcount,
        bindings=c.execute(_BINDINGS, (*bindings.numbers, cutoff)).rowcount,
        delegations=results.prune(c, delegations.numbers, cutoff),
        mailbox=messages,
        progress=SweepProgress(
            intents=intents.progress,
            inbounds=inbounds.progress,
            aliases=aliases.progress,
            bindings=bindings.progress,
            delegations=delegations.progress,
            mailbox=mailbox.progress if all_of_them else None,
        ),
    )
