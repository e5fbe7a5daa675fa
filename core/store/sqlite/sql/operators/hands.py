"""The SQL of delegations for operators."""

import sqlite3

import msgspec

from trunkline.core.errors import ExpiredCursor, StoreError
from trunkline.core.hands.callback_fold import can_discard, can_retry
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.states.delegation import OPEN_WORK
from trunkline.core.store import delegations
from trunkline.core.store.operators.hands import HandInspection, HandsOverview, InspectDelegation, ReadHandsOverview
from trunkline.core.store.sqlite.lease import holder_of
from trunkline.core.store.sqlite.sql.callbacks import posts, results
from trunkline.core.store.sqlite.sql.hands import reads
from trunkline.core.values import DelegationId


def read_overview(c: sqlite3.Connection, query: ReadHandsOverview) -> HandsOverview:
    which, before = query.which, query.before
    if before is not None and c.execute("SELECT 1 FROM delegations WHERE id = ?", (before,)).fetchone() is None:
        raise ExpiredCursor(f"there is no delegation {before!r}")
    page = reads.list_delegations(c, delegations.ListDelegations(which=which, before=before, limit=query.limit))
    shown = len(page.rows) + len(page.broken)
    last, more = (_last_of(c, page), 0) if shown == query.limit else (None, 0)
    if last is not None:
        more = reads.count_older(c, which, last)
    return HandsOverview(
        counts=reads.count_delegations(c, delegations.CountDelegations(which=delegations.DelegationFilter())),
        page=delegations.ListedDelegations(rows=tuple(map(_without_ticket, page.rows)), broken=page.broken),
        more=more,
        holder=holder_of(c, query.now),
        at=query.now,
        next=last if more else None,
    )


def _last_of(c: sqlite3.Connection, page: delegations.ListedDelegations) -> DelegationId | None:
    """The oldest delegation of a page, which may be one that cannot be read."""
    ids = [row.id for row in page.rows[-1:]] + [DelegationId(row.id) for row in page.broken[-1:]]
    marks = ", ".join("?" * len(ids))
    found = c.execute(f"SELECT id FROM delegations WHERE id IN ({marks}) ORDER BY n LIMIT 1", ids).fetchone()  # noqa: S608 -- marks only
    return None if found is None else DelegationId(found[0])


def inspect(c: sqlite3.Connection, query: InspectDelegation) -> HandInspection:
    holder, now = holder_of(c, query.now), query.now
    try:
        details = reads.show_delegation(c, delegations.ShowDelegation(delegation=query.delegation))
    except StoreError as error:
        return HandInspection(id=query.delegation, details=None, problem=error.facts, holder=holder, at=now)
    row = details.row
    result = (
        row.result if row.result_ref is None else results.read_result(c, delegations.ReadResult(ref=row.result_ref))
    )
    found = posts.read_posts(c, delegations.ReadPosts(delegation=row.id))
    return HandInspection(
        id=row.id,
        details=msgspec.structs.replace(details, row=_without_ticket(row)),
        result=result,
        can=possible(details),
        holder=holder,
        # That its task was taken is in the row already.
        left=tuple(without_ticket(post) for post in found if post.verb is not delegations.PostVerb.TAKEN),
        at=now,
    )


def possible(shown: delegations.DelegationDetails) -> tuple[delegations.PostVerb, ...]:
    """The verbs that the state tables allow an operator."""
    row = shown.row
    found: list[delegations.PostVerb] = []
    if row.state in OPEN_WORK:
        found.append(delegations.PostVerb.CANCEL)
    if can_retry(row.callback, row.callback_reason, {intent.state for intent in shown.intents}):
        found.append(delegations.PostVerb.RETRY_CALLBACK)
    if can_discard(row.callback):
        found.append(delegations.PostVerb.DISCARD)
    return tuple(found)


def without_ticket(post: delegations.HandPost) -> delegations.HandPost:
    return msgspec.structs.replace(post, ticket=None)


def _without_ticket(row: DelegationRow) -> DelegationRow:
    return msgspec.structs.replace(row, ticket=None)
