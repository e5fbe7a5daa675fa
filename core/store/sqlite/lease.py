"""The SQL of the lease, see `trunkline.core.store.lease`."""

import sqlite3

from trunkline.core.errors import LeaseLost
from trunkline.core.reasons import Reason
from trunkline.core.store.lease import Lease, LeaseClaim, is_dead, plan_claim
from trunkline.core.store.sqlite.process_lock import ProcessLock


def read(c: sqlite3.Connection) -> Lease:
    owner, token, lock, until = c.execute("SELECT owner, token, lock, until FROM lease").fetchone()
    return Lease(owner=owner, token=token, lock=lock, until=until)


def is_held(c: sqlite3.Connection) -> bool:
    """Whether the row names a holder, dead or alive. False for a store from before there were leases."""
    found = c.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'lease'").fetchone()
    return bool(found[0]) and read(c).owner != ""


def try_claim(c: sqlite3.Connection, process: ProcessLock, now: float, lasts: float) -> LeaseClaim:
    """Plan a claim. Writes nothing, and keeps the process's file lock only where it proves the holder dead.

    Two processes may plan at once. If the one that loses kept the lock until then, the holder would work without a
    lock, and its death could not be proven before the lease expires.
    """
    row = read(c)
    lock = process.take() if row.owner else ""
    found = _plan(row, process, lock, now, lasts)
    if found.reason is not Reason.HOLDER_DEAD:
        process.drop()
    return found


def claim(c: sqlite3.Connection, process: ProcessLock, now: float, lasts: float) -> LeaseClaim:
    """Take the store and lock the process's file, if that is allowed. The new token shuts out the holder before."""
    found = _plan(read(c), process, process.take(), now, lasts)
    if found.taken:
        new = found.lease
        values = (new.owner, new.token, new.lock, new.until)
        c.execute("UPDATE lease SET owner = ?, token = ?, lock = ?, until = ?", values)
    else:
        # The lock proves that its owner works the store, so a waiting process must not keep it.
        process.drop()
    return found


def _plan(row: Lease, process: ProcessLock, lock: str, now: float, lasts: float) -> LeaseClaim:
    reason = plan_claim(row, now, holder_dead=is_dead(row, lock))
    if reason is Reason.LEASE_HELD:
        return LeaseClaim(taken=False, lease=row, reason=reason, before=row.owner)
    lease = Lease(owner=process.name, token=row.token + 1, lock=lock, until=now + lasts)
    return LeaseClaim(taken=True, lease=lease, reason=reason, before=row.owner or None)


def renew(c: sqlite3.Connection, process: ProcessLock, token: int, until: float) -> bool:
    """Extend the lease; false when another process has taken the store.

    A holder that took an expired lease has no lock while the frozen holder before it lives: it tries again each time.
    """
    held = c.execute("UPDATE lease SET until = ?, lock = ? WHERE token = ?", (until, process.take(), token))
    return held.rowcount == 1


def release(c: sqlite3.Connection, token: int) -> None:
    """Free the store; does nothing when another process has taken it already."""
    c.execute("UPDATE lease SET owner = '', lock = '', until = 0 WHERE token = ?", (token,))


def forget_holder(c: sqlite3.Connection) -> None:
    """Free the store in a copy, which no process holds."""
    if is_held(c):
        c.execute("UPDATE lease SET owner = '', lock = '', until = 0")


def check(c: sqlite3.Connection, token: int) -> None:
    """Raise `LeaseLost` inside a transaction of a process that is no longer the holder."""
    (current,) = c.execute("SELECT token FROM lease").fetchone()
    if current != token:
        raise LeaseLost(f"its token is {token}, the store's is {current}")


def holder_of(c: sqlite3.Connection, now: float) -> str | None:
    """The process that works the store, according to the lease; none: none does."""
    row = read(c)
    return row.owner if row.owner and now < row.until else None
