"""Events of maintenance: leases, retention, and later installed adapters."""

from typing import ClassVar

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason


class LeaseTaken(Body, frozen=True, kw_only=True):
    """Committed: this process holds the store, and no other sends or acknowledges (invariant D5)."""

    owner: str
    #: counts the holders; a write with an older token is refused
    token: int
    #: the previous holder
    before: str | None
    #: expiry unless renewed; renewals are not recorded
    until: float
    reason: Reason


class LeaseAwaited(Body, frozen=True, kw_only=True):
    """Another process holds the store: this process stands by for the lease."""

    holder: str
    #: expiry of the holder's lease unless renewed
    until: float
    reason: Reason


class LeaseGone(Body, frozen=True, kw_only=True):
    """Another process holds the store now: this process stops, and stores nothing any more."""

    kind: ClassVar[str] = "lease.lost"
    owner: str
    token: int
    reason: Reason


class PersonErased(Body, frozen=True, kw_only=True):
    """Committed: what a person wrote and got was removed for a legal request. Nothing says whom."""

    #: the token that asked for it
    by: str
    #: rows that were removed
    rows: int


class StorePruned(Body, frozen=True, kw_only=True):
    """Committed: rows past their retention were removed; the numbers of each kind."""

    intents: int
    inbounds: int
    sends: int
    reason: Reason
    #: ended session bindings
    bindings: int = 0
    #: ended delegations
    delegations: int = 0
    #: messages for people who are reached through the API
    mailbox: int = 0


class StoreWarned(Body, frozen=True, kw_only=True):
    """An operator should look at the store file: new, with several names, gone or damaged."""

    reason: Reason
    detail: str


class AdapterInstalled(Body, frozen=True, kw_only=True):
    """An adapter was installed in a running gateway; waiting messages continue."""

    channel: str
    account: str
