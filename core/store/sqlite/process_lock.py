"""Proof of death: a file lock that a process holds while it works a store, and that the system frees when it dies.

A process that gets the lock of a lease's holder knows that the holder is dead, and takes over before the lease expires.
Without such a lock (another machine, a system that has none) it waits for the expiry.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Protocol


class ProcessLock(Protocol):
    """The lock of one process on a store."""

    @property
    def name(self) -> str:
        """The process, for people."""
        ...

    def take(self) -> str:
        """Take the lock, or keep it. Returns its identity; an empty text while another process has it. Never waits."""
        ...

    def drop(self) -> None:
        """Release the lock, if it is held."""
        ...


class NoLock:
    """For stores without a file: death cannot be proven."""

    name = "nobody"

    def take(self) -> str:
        """Never succeeds."""
        return ""

    def drop(self) -> None:
        """Does nothing."""


class FileLock:
    """Locks a file beside the store file, for as long as its descriptor is open.

    Not the store file itself: SQLite loses its own locks when a process closes another descriptor of its file.
    """

    def __init__(self, store: Path) -> None:
        # Resolved, so that every path to the store leads to one lock.
        store = store.resolve()
        self._path = store.with_name(f"{store.name}.lock")
        self._descriptor: int | None = None

    @property
    def name(self) -> str:
        """Machine and process id."""
        return f"{platform.node()}:{os.getpid()}"

    def take(self) -> str:
        """See `ProcessLock.take`. The machine and the lock file's inode identify it: another file proves nothing."""
        if self._descriptor is None:
            self._descriptor = _lock(self._path)
        return "" if self._descriptor is None else f"{platform.node()}/{os.fstat(self._descriptor).st_ino}"

    def drop(self) -> None:
        """See `ProcessLock.drop`. The file stays: after a removal two processes could lock two files of one name."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


if sys.platform == "win32":

    def _lock(path: Path) -> int | None:
        """No lock on Windows: none is freed at once by a crash. Leases expire there."""
        del path
        return None

else:
    import fcntl

    def _lock(path: Path) -> int | None:
        """The descriptor of the locked file; none while another process has it, or the file cannot be created."""
        try:
            # Closed on exec: a child process would keep the lock when its parent dies.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            # flock locks per descriptor, not per process: it also separates two gateways in one process.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor
