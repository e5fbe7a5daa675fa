"""The lease of a store: one process at a time works it (`docs/delivery.md`, invariant D5).

One row says who holds the store, until when, and how many have held it: the fencing token. Every transaction of a
holder checks its own token, so a process that lost the store without noticing can neither send nor acknowledge.
"""

import msgspec

from trunkline.core.reasons import Reason


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The stored lease. An empty `owner`: the store is free."""

    #: the holder's name, for people; it proves nothing
    owner: str = ""
    #: fencing token: counts the holders, and a write with an older one is refused
    token: int = 0
    #: the lock that the holder keeps while it lives; empty while it has none
    lock: str = ""
    #: it expires then, unless it is renewed (seconds on the clock of the machine)
    until: float = 0.0


class LeaseClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a claim: the taken lease, or the holder's."""

    taken: bool
    lease: Lease
    reason: Reason
    #: the holder before; none: the store was free
    before: str | None = None


def plan_claim(row: Lease, now: float, *, holder_dead: bool) -> Reason:
    """Why to take a store: it is free, its holder is proven dead, or its lease has expired; else `LEASE_HELD`: wait."""
    if not row.owner:
        return Reason.LEASE_FREE
    if holder_dead:
        return Reason.HOLDER_DEAD
    return Reason.LEASE_EXPIRED if now >= row.until else Reason.LEASE_HELD


def is_dead(row: Lease, lock: str) -> bool:
    """Whether holding `lock` proves the holder dead: it is the lock that the holder keeps while it lives."""
    return bool(lock) and lock == row.lock
