"""The lease of a store: one process at a time works it (DESIGN section 5.5, invariant D5).

One row says who holds the store, until when, and how many have held it: the token. Every transaction of a holder finds
its own token there, or is undone, so a process that lost the store without knowing can neither send nor acknowledge.
Who may take the store over is a decision without I/O; the functions below it are the SQL, given a connection.
"""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.errors import LeaseLost
from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite.process_lock import Presence


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The row. `owner` empty: nobody holds the store."""

    #: the holder's name, for people; it proves nothing
    owner: str = ""
    #: counts the holders; a write with an older one is refused
    token: int = 0
    #: the lock that the holder keeps while it lives; empty while it has none
    lock: str = ""
    #: it ends then, unless it is renewed (seconds on the clock of the machine)
    until: float = 0.0


class ClaimDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a process may take the store; if not, who holds it is looked at again before `until`."""

    take: bool
    reason: Reason
    until: float = 0.0


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking for the store: the lease that was taken, or that of the holder."""

    taken: bool
    lease: Lease
    reason: Reason
    #: who held it before, if anybody ever did
    before: str | None = None


def plan_claim(row: Lease, now: float, *, holder_dead: bool) -> ClaimDecision:
    """Free, or its holder proven dead, or expired: it may be taken. Otherwise it is waited for."""
    if not row.owner:
        return ClaimDecision(take=True, reason=Reason.LEASE_FREE)
    if holder_dead:
        return ClaimDecision(take=True, reason=Reason.HOLDER_DEAD)
    if now >= row.until:
        return ClaimDecision(take=True, reason=Reason.LEASE_EXPIRED)
    return ClaimDecision(take=False, reason=Reason.LEASE_HELD, until=row.until)


def is_dead(row: Lease, lock: str) -> bool:
    """Whether having a lock proves that the holder is dead: it is the one that the holder keeps while it lives."""
    return bool(lock) and lock == row.lock


# ---------------------------------------------------------------- SQL


def read(c: sqlite3.Connection) -> Lease:
    """The row as it is."""
    owner, token, lock, until = c.execute("SELECT owner, token, lock, until FROM lease").fetchone()
    return Lease(owner=owner, token=token, lock=lock, until=until)


def is_held(c: sqlite3.Connection) -> bool:
    """Whether a process has the store, dead or alive, as far as its row tells. Before there were leases, none has."""
    found = c.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'lease'").fetchone()
    return bool(found[0]) and read(c).owner != ""


def look(c: sqlite3.Connection, presence: Presence, now: float, lasts: float) -> Claim:
    """What would come of a claim now. Nothing is written."""
    row, lock = read(c), presence.take()
    decided = plan_claim(row, now, holder_dead=is_dead(row, lock))
    if decided.take:
        lease = Lease(owner=presence.name, token=row.token + 1, lock=lock, until=now + lasts)
        return Claim(taken=True, lease=lease, reason=decided.reason, before=row.owner or None)
    # A lock means that its owner works the store, so one that waits must not keep it.
    presence.drop()
    return Claim(taken=False, lease=row, reason=decided.reason, before=row.owner)


def claim(c: sqlite3.Connection, presence: Presence, now: float, lasts: float) -> Claim:
    """Take the store if that is allowed. The new token shuts out whoever held it before."""
    found = look(c, presence, now, lasts)
    if found.taken:
        new = found.lease
        values = (new.owner, new.token, new.lock, new.until)
        c.execute("UPDATE lease SET owner = ?, token = ?, lock = ?, until = ?", values)
    return found


def renew(c: sqlite3.Connection, presence: Presence, token: int, until: float) -> bool:
    """Keep the store for longer; false when another process has taken it.

    A holder that took an expired lease has no lock while the frozen one before it lives: it tries again each time.
    """
    held = c.execute("UPDATE lease SET until = ?, lock = ? WHERE token = ?", (until, presence.take(), token))
    return held.rowcount == 1


def release(c: sqlite3.Connection, token: int) -> None:
    """Free the store for whoever comes next; nothing happens when another process has it already."""
    c.execute("UPDATE lease SET owner = '', lock = '', until = 0 WHERE token = ?", (token,))


def check(c: sqlite3.Connection, token: int) -> None:
    """Raise `LeaseLost` inside a transaction of a process that is not the holder any more."""
    (current,) = c.execute("SELECT token FROM lease").fetchone()
    if current != token:
        raise LeaseLost(f"its token is {token}, the store's is {current}")
