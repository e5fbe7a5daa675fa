"""Delegations of a store file, beside a running gateway or without one.

Workers and operators of other processes take tasks, and leave everything else as posts for the gateway that works the
store: it applies them within its `delivery.watch`, or at its next start.
"""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.records.delegations import DelegationRow
from trunkline.core.store.delegations import HandPost, PostToGateway, TakeTask
from trunkline.core.store.operators.hands import HandPosted
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.offline.queue_file import in_transaction
from trunkline.core.store.sqlite.sql.operators.hands import without_ticket
from trunkline.core.store.sqlite.sql.operators.holder import holder_of
from trunkline.core.well_formed import well_formed


def take(
    connection: sqlite3.Connection, hand: str, *, worker: str, ticket: str, now: float
) -> tuple[DelegationRow | None, str | None]:
    """Take a task of a hand; and the process that works the store, if any."""
    command = TakeTask(hand=hand, worker=well_formed(worker), ticket=ticket, now=now)
    with in_transaction(connection):
        row = execute(connection, command)
    return row, holder_of(connection, now)


def post(connection: sqlite3.Connection, left: HandPost) -> HandPosted:
    """Leave something for the gateway. Raises as `PostToGateway`; then nothing is stored."""
    clean = msgspec.structs.replace(left, text=well_formed(left.text), by=well_formed(left.by))
    with in_transaction(connection):
        first = execute(connection, PostToGateway(post=clean))
    return HandPosted(post=without_ticket(clean), first=first, holder=holder_of(connection, left.at))
