"""Proof of death: a file lock that a process holds while it works a store, and that the system frees when it dies.

A process that gets the lock of a lease's holder knows that the holder is dead, and takes over before the lease expires.
Without such a lock (another machine, a system that has none) it waits for the expiry.
"""

import os
import platform
import sys
from pathlib import Path
from typing import Protocol


class ProcessLock(Protocol):
    @property
    def name(self) -> str:
        """The process, for people."""
        ...

    def take(self) -> str:
        """Take the lock, or keep it. Returns its identity; an empty text while another process has it. Never waits."""
        ...

    def drop(self) -> None: ...


class NoLock:
    """For stores without a file: death cannot be proven."""

    name = "nobody"

    def take(self) -> str:
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


#: SQLite's shared lock on the file of an open database, and on its -shm: first byte, number of bytes
_SHARED = (0x40000002, 510)
_SHM = (128, 1)


class DescriptorLocks:
    """The locks of other processes on a store file with several names, seen by further descriptors.

    They are kept until SQLite has closed the file: closing one drops all locks of this process on the file.
    """

    def __init__(self, store: Path) -> None:
        self._descriptors = [os.open(store, os.O_RDONLY)]

    def other_name_in_use(self, shm: Path) -> bool:
        """Whether a process has the file open, and nobody the -shm of this name: under another name, then."""
        if not _is_locked(self._descriptors[0], *_SHARED):
            return False
        self._descriptors.append(os.open(shm, os.O_RDONLY))
        return not _is_locked(self._descriptors[-1], *_SHM)

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)


if sys.platform == "win32":

    def _lock(path: Path) -> int | None:
        """No lock on Windows: none is freed at once by a crash. Leases expire there."""
        del path
        return None

    def _is_locked(descriptor: int, first: int, count: int) -> bool:
        """Never known on Windows."""
        del descriptor, first, count
        return False

else:
    import fcntl
    import struct

    #: the fields of a `struct flock`
    _APPLE = sys.platform == "darwin"
    _FLOCK = "qqihh" if _APPLE else "hhqqi"

    def _is_locked(descriptor: int, first: int, count: int) -> bool:
        kind, start = fcntl.F_WRLCK, os.SEEK_SET
        asked = (first, count, 0, kind, start) if _APPLE else (kind, start, first, count, 0)
        found = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(_FLOCK, *asked)))
        return found[3 if _APPLE else 0] != fcntl.F_UNLCK

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
