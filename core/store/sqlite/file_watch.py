"""The identity of an open store file: what lies at the path now, and further names."""

import contextlib
import glob
import os
from pathlib import Path

from trunkline.core.errors import StoreError
from trunkline.core.store.sqlite.process_lock import DescriptorLocks


def beside(store: Path, suffix: str) -> Path:
    """A companion of a store file, such as the ``-wal``."""
    return store.with_name(f"{store.name}{suffix}")


def rescues_of(store: Path) -> list[Path]:
    """The rescue copies beside a store, oldest first."""
    return sorted(path for path in store.parent.glob(f"{glob.escape(store.name)}.rescued-*") if path.suffix != ".part")


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, or none for a missing file. Raises `OSError` if neither is known."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class FileWatch:
    """Compares the files open in SQLite with the files at the paths, only ever by ``stat``.

    To close a descriptor of the file would drop SQLite's locks on it.
    """

    def __init__(self, path: Path) -> None:
        # Resolved, as SQLite does it: the other files lie beside the file, not beside a link to it.
        self.path = path.resolve()
        self.wal = beside(self.path, "-wal")
        self._opened: dict[Path, tuple[int, int] | None] = {}
        self._locks: DescriptorLocks | None = None
        #: what an operator should know of the file
        self.remarks: list[str] = []

    def before_opening(self) -> bool:
        """Whether the process before has closed the file. Raises `StoreError` where people have to decide first.

        Of a new file beside what an earlier one has left there is a remark, and an earlier ``-wal`` is kept: SQLite
        would delete it.
        """
        path = self.path
        found, left = _size(path), _size(self.wal)
        if not found:
            if rescues := rescues_of(path):
                raise StoreError(
                    f"{path}: there is no such file, but its rescue copy {rescues[-1]}: restore it, or move it away"
                )
            if left:
                kept = free_name(beside(path, ".old-wal"))
                self.wal.rename(kept)
                self.remarks.append(
                    f"{path} is a new store, and the -wal of an earlier one is {kept} now: if the store was moved or"
                    " deleted, stop, and bring back both files under their names"
                )
            elif beside(path, ".lock").exists():
                self.remarks.append(
                    f"{path} is a new store, and the .lock of an earlier one is there: if the store was moved or"
                    " deleted, stop, and bring it back or restore a backup"
                )
        elif path.stat().st_nlink > 1:
            self._locks = DescriptorLocks(path)
        return not left

    def opened(self) -> None:
        """Note the open files. Raises `StoreError` while another process uses another name of the file."""
        if self._locks is not None:
            if self._locks.other_name_in_use(beside(self.path, "-shm")):
                raise StoreError(
                    f"{self.path}: the file has several names (hard links), and another process works with it under"
                    " another one, which would damage it: stop that process, or give this one a file of its own"
                )
            self.remarks.append(self._linked())
        self._opened = {path: _identity(path) for path in (self.path, self.wal)}

    def _linked(self) -> str:
        return (
            f"{self.path} has several names (hard links): two processes that work with it under two names would damage"
            " it. Remove the others; copy a store with: trunkline store backup"
        )

    def lost(self) -> str:
        """The loss of a file, in words; empty while all is well."""
        for path, before in self._opened.items():
            try:
                now = _identity(path)
            except OSError:
                continue
            if now != before:
                return f"{path} was {'deleted' if now is None else 'replaced by another file'}"
        return ""

    def linked(self) -> str:
        """A remark about further names of the file, once; else empty."""
        try:
            several = self.path.stat().st_nlink > 1
        except OSError:
            return ""
        text = self._linked()
        if not several or text in self.remarks:
            return ""
        self.remarks.append(text)
        return text

    def remove_leftovers(self) -> None:
        """Remove ``-wal`` and ``-shm`` of a lost file: SQLite would read both into the file of today."""
        with contextlib.suppress(OSError):
            if self._opened.get(self.wal) is not None and _identity(self.wal) == self._opened[self.wal]:
                self.wal.unlink(missing_ok=True)
                beside(self.path, "-shm").unlink(missing_ok=True)

    def closed(self) -> None:
        """Free what was kept open: SQLite has closed the file."""
        locks, self._locks = self._locks, None
        if locks is not None:
            locks.close()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def free_name(path: Path) -> Path:
    """A free path: the given path, else with a number."""
    number, found = 1, path
    while os.path.lexists(found):
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
