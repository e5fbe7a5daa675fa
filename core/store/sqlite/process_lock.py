"""Proof of death: a lock that a process keeps while it works a store, and that the system frees when it dies.

Who gets the lock of a holder knows that the holder is dead, and need not wait for its lease to expire. Without such a
lock (another machine, a system that has none) only the expiry tells.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Protocol


class Presence(Protocol):
    """A lock of one process."""

    @property
    def name(self) -> str:
        """What people call the process."""
        ...

    def take(self) -> str:
        """Have the lock: what identifies it, or an empty text while somebody else has it. Never waits."""
        ...

    def drop(self) -> None:
        """Give the lock up; nothing happens without it."""
        ...


class NoPresence:
    """Where death cannot be proven."""

    name = "nobody"

    def take(self) -> str:
        """Never."""
        return ""

    def drop(self) -> None:
        """There is nothing to give up."""


class FilePresence:
    """The lock of a store file: a file beside it, locked as long as its descriptor is open.

    It is not the store file itself: SQLite loses its own locks when a process closes another descriptor of its file.
    """

    def __init__(self, store: Path) -> None:
        # Resolved, so that every way to the store leads to one lock.
        store = store.resolve()
        self._path = store.with_name(f"{store.name}.lock")
        self._descriptor: int | None = None

    @property
    def name(self) -> str:
        """Machine and process id."""
        return f"{platform.node()}:{os.getpid()}"

    def take(self) -> str:
        """See `Presence.take`. The machine and the lock file's inode identify it: another file proves nothing."""
        if self._descriptor is None:
            self._descriptor = _lock(self._path)
        return "" if self._descriptor is None else f"{platform.node()}/{os.fstat(self._descriptor).st_ino}"

    def drop(self) -> None:
        """See `Presence.drop`. The file stays: were it removed, two processes could lock two files of one name."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


if sys.platform == "win32":

    def _lock(path: Path) -> int | None:
        """Windows has no lock that a crash frees at once: leases expire there."""
        del path
        return None

else:
    import fcntl

    def _lock(path: Path) -> int | None:
        """The descriptor of a locked file; none while somebody else has locked it, or it cannot be made."""
        try:
            # Closed in programs that the process starts, or they would keep the lock when it dies.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            # Of this descriptor, not of the process: two gateways in one process are two as well.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor
