"""Delegations for operators: a page with the totals, one delegation with what can be done to it, and requests.

No answer has the ticket of a worker, which is a secret.
"""

import msgspec

from trunkline.core.records.delegations import repr_without_ticket
from trunkline.core.store import delegations
from trunkline.core.store.queries import Read
from trunkline.core.values import DelegationId, Peer


class HandsOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the delegations, newest first, and the totals."""

    counts: delegations.DelegationCounts
    page: delegations.ListedDelegations
    #: how many matching delegations come after this page
    more: int
    #: the process that works the store, if any
    holder: str | None
    #: when this was read, in seconds on the gateway's clock
    at: float
    #: the id behind which the next page begins; none: this is the last
    next: DelegationId | None = None


class HandInspection(msgspec.Struct, frozen=True, kw_only=True):
    """A delegation for an operator. `details` none: its row cannot be read, and `problem` says why."""

    id: str
    details: delegations.DelegationDetails | None
    problem: str = ""
    #: the whole result, if it is still stored
    result: str | None = None
    #: what an operator can do to it now
    can: tuple[delegations.PostVerb, ...] = ()
    holder: str | None = None
    #: what workers and operators have left for the gateway, which has not picked it up yet
    left: tuple[delegations.HandPost, ...] = ()
    #: when this was read, in seconds on the gateway's clock
    at: float


class HandPosted(msgspec.Struct, frozen=True, kw_only=True):
    """A request to the gateway that was stored, without its ticket.

    `holder`: the process that acts on it; none: the next one to start.
    """

    post: delegations.HandPost
    #: of an answer: no other was there before
    first: bool
    holder: str | None = None


class ReadHandsOverview(Read[HandsOverview], frozen=True, kw_only=True):
    """The newest matching delegations older than `before`, and the totals. Raises `ExpiredCursor` if that is gone."""

    which: delegations.DelegationFilter
    before: DelegationId | None = None
    limit: int = 100
    now: float


class InspectDelegation(Read[HandInspection], frozen=True, kw_only=True):
    """A delegation, and what an operator can do to it. Raises `UnknownName`."""

    delegation: str
    now: float


class TakenTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a worker has taken. The ticket is what lets it be answered."""

    delegation: DelegationId
    ticket: str
    hand: str
    task: str
    label: str = ""
    #: the person for whom it is done
    asked_by: Peer | None = None
    #: seconds until it is ended as timed out
    timeout: float | None = None

    def __repr__(self) -> str:
        return repr_without_ticket(self, self.ticket)
