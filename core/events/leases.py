"""Events of a process that keeps itself and its store in order: leases, retention, adapters that come later."""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason


class LeaseTaken(Body, frozen=True, kw_only=True):
    """Committed: this process holds the store, and no other sends or acknowledges (invariant D5)."""

    kind: ClassVar[str] = "lease.taken"
    owner: str
    #: counts the holders; a write with an older one is refused
    token: int
    #: who held it before
    before: str | None
    #: it ends then, unless it is renewed; renewals are not told
    until: float
    reason: Reason


class LeaseAwaited(Body, frozen=True, kw_only=True):
    """Another process holds the store: this one stands by, and does nothing before it holds the store itself."""

    kind: ClassVar[str] = "lease.awaited"
    holder: str
    #: the holder's lease ends then, unless it is renewed
    until: float
    reason: Reason


class LeaseGone(Body, frozen=True, kw_only=True):
    """Another process holds the store now: this one ends, and none of its writes is stored any more."""

    kind: ClassVar[str] = "lease.lost"
    owner: str
    token: int
    reason: Reason


class StorePruned(Body, frozen=True, kw_only=True):
    """Committed: what ended longer ago than it is kept was removed; how many rows of each kind."""

    kind: ClassVar[str] = "store.pruned"
    intents: int
    inbounds: int
    sends: int
    reason: Reason
    #: session bindings that have ended
    bindings: int = 0


class AdapterInstalled(Body, frozen=True, kw_only=True):
    """An adapter came to a gateway that runs: what waited for it goes on."""

    kind: ClassVar[str] = "adapter.installed"
    channel: str
    account: str
