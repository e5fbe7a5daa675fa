"""Delegations of a store file, beside a running gateway or without one.

Workers and operators of other processes take tasks, and leave everything else as posts for the gateway that works the
store: it applies them within its `delivery.watch`, or at its next start.
"""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.errors import StoreError
from trunkline.core.hands.callback_fold import can_discard, can_retry
from trunkline.core.hands.delegation import DelegationRow
from trunkline.core.hands.states import OPEN_WORK
from trunkline.core.store.delegations import (
    CountDelegations,
    DelegationCounts,
    DelegationDetails,
    DelegationFilter,
    HandPost,
    ListDelegations,
    ListedDelegations,
    PostToGateway,
    PostVerb,
    ReadPosts,
    ReadResult,
    ShowDelegation,
    TakeTask,
)
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.offline.queue_file import holder_of, in_transaction
from trunkline.core.values import DelegationId
from trunkline.core.well_formed import well_formed


class HandsOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the delegations, newest first, and the totals."""

    #: all delegations of the store
    counts: DelegationCounts
    page: ListedDelegations
    #: how many matching delegations are not on this page
    more: int
    #: the process that works the store, if any
    holder: str | None


class HandInspection(msgspec.Struct, frozen=True, kw_only=True):
    """One delegation for an operator. `details` none: its row cannot be read, and `problem` says why."""

    id: str
    details: DelegationDetails | None
    problem: str = ""
    #: the whole result, if it is still stored
    result: str | None = None
    #: what an operator can do to it now
    can: tuple[PostVerb, ...] = ()
    holder: str | None = None
    #: what workers and operators have left for the gateway, which has not picked it up yet
    left: tuple[HandPost, ...] = ()


class HandPosted(msgspec.Struct, frozen=True, kw_only=True):
    """What was left for the gateway. `holder`: the process that acts on it; none: the next one to start."""

    post: HandPost
    #: of an answer: no other was there before
    first: bool
    holder: str | None = None


def overview(
    connection: sqlite3.Connection,
    which: DelegationFilter,
    *,
    limit: int,
    now: float,
    before: DelegationId | None = None,
) -> HandsOverview:
    """The newest `limit` matching delegations, older than `before`, and the totals."""
    page = ask(connection, ListDelegations(which=which, before=before, limit=limit))
    shown = len(page.rows) + len(page.broken)
    matching = ask(connection, CountDelegations(which=which)) if shown == limit else None
    return HandsOverview(
        counts=ask(connection, CountDelegations(which=DelegationFilter())),
        page=page,
        more=0 if matching is None or before is not None else max(matching.total - shown, 0),
        holder=holder_of(connection, now),
    )


def inspect(connection: sqlite3.Connection, delegation: str, *, now: float) -> HandInspection:
    """One delegation, and what an operator can do to it. Raises `UnknownName`."""
    holder = holder_of(connection, now)
    try:
        details = ask(connection, ShowDelegation(delegation=delegation))
    except StoreError as error:
        return HandInspection(id=delegation, details=None, problem=error.facts, holder=holder)
    row = details.row
    result = row.result if row.result_ref is None else ask(connection, ReadResult(ref=row.result_ref))
    # That its task was taken is in the row already.
    left = tuple(one for one in ask(connection, ReadPosts(delegation=row.id)) if one.verb is not PostVerb.TAKEN)
    return HandInspection(id=row.id, details=details, result=result, can=possible(details), holder=holder, left=left)


def possible(shown: DelegationDetails) -> tuple[PostVerb, ...]:
    """What the state tables allow an operator."""
    row = shown.row
    found: list[PostVerb] = []
    if row.state in OPEN_WORK:
        found.append(PostVerb.CANCEL)
    if can_retry(row.callback, row.callback_reason, {one.state for one in shown.intents}):
        found.append(PostVerb.RETRY_CALLBACK)
    if can_discard(row.callback):
        found.append(PostVerb.DISCARD)
    return tuple(found)


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
    return HandPosted(post=clean, first=first, holder=holder_of(connection, left.at))
