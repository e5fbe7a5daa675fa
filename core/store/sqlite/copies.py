"""Copies of a store: backups, restored backups, and the rescue of a file whose path leads elsewhere.

A copy is written under another name, checked, made durable, and only then given its own; nothing is ever overwritten.
"""

import datetime
import errno
import os
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from trunkline.core.errors import StoreDamaged, StoreError
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.damage import findings
from trunkline.core.store.sqlite.file_watch import beside, free_name
from trunkline.core.store.sqlite.migrate import check_ours, newest
from trunkline.core.store.sqlite.offline.opening import reading
from trunkline.core.store.sqlite.process_lock import FileLock

#: links cannot be made there: another file system, or one without them
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class NotOverwritten(StoreError):
    """Nothing is overwritten, and nothing was changed."""


class StoreFacts(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    bytes: int
    #: number of its newest migration, and of the newest that this version knows
    version: int
    newest: int
    #: what is wrong with it, a sentence each
    findings: tuple[str, ...] = ()


def check_store(path: Path, *, still: bool = False) -> StoreFacts:
    """Check all pages, rows and indexes of a store file, beside a gateway or without one. Raises `StoreError`.

    `still`: as for `reading`.
    """
    with reading(path, still=still) as connection:
        version, found = check_ours(connection), findings(connection, "integrity_check")
    size = path.stat().st_size
    return StoreFacts(path=str(path), bytes=size, version=version, newest=newest(), findings=found)


def back_up(store: Path, to: Path) -> StoreFacts:
    """Copy a store, beside a running gateway or without one. Raises `StoreError`, and then there is no copy."""
    with reading(store) as connection:
        copy_store(connection, to)
    return check_store(to)


def restore(backup: Path, store: Path) -> StoreFacts:
    """Copy a backup to where there is no store. Raises `StoreError`, and then nothing has changed.

    One of an earlier version is migrated by the gateway that starts on it.
    """
    wal = beside(store, "-wal")
    for path in (store, wal):
        if os.path.lexists(path) and (path is store or wal.stat().st_size):
            raise NotOverwritten(f"{path} is there: stop the gateway, and move it away")
    lock = beside(store, ".lock")
    if lock.exists():
        held = FileLock(store)
        if not held.take():
            raise NotOverwritten(f"a gateway still works with a deleted file of this name (it holds {lock}): stop it")
        held.drop()
    made = back_up(backup, store)
    if os.name != "nt" and os.geteuid() == 0:
        # It is the gateway's, whose user could not write one of root.
        os.chown(store, store.parent.stat().st_uid, store.parent.stat().st_gid, follow_symlinks=False)
    return made


def rescue(connection: sqlite3.Connection, store: Path) -> Path:
    """Copy an open store whose path leads elsewhere: to the same folder, else to the folder of temporary files.

    A damaged one is copied, too. Raises `StoreError` if it cannot be written anywhere.
    """
    problems: list[str] = []
    for folder in (store.parent, Path(tempfile.gettempdir())):
        try:
            # The time by which the file system dates a new file.
            with tempfile.NamedTemporaryFile(dir=folder) as new:
                now = datetime.datetime.fromtimestamp(os.fstat(new.fileno()).st_mtime, datetime.UTC)
            to = free_name(folder / f"{store.name}.rescued-{now:%Y%m%dT%H%M%SZ}")
            copy_store(connection, to, only_sound=False)
        except (OSError, sqlite3.Error, StoreError) as error:
            problems.append(f"{folder}: {error}")
        else:
            return to
    raise StoreError("; ".join(problems))


def copy_store(connection: sqlite3.Connection, to: Path, *, only_sound: bool = True) -> None:
    """Copy a store to a new file, readable by the owner alone. Raises `StoreError`; then there is no such file."""
    try:
        with _new_file(to) as part:
            with closing(sqlite3.connect(part, isolation_level=None)) as copy:
                connection.backup(copy)
                if (found := findings(copy, "integrity_check")) and only_sound:
                    raise StoreDamaged(f"it was not copied: {found[0]}")
                if not found:
                    # One file, held by no process.
                    copy.execute("PRAGMA journal_mode=DELETE")
                    lease.forget_holder(copy)
            _sync(part)
            _give_name(part, to)
            _sync(to.parent)
    except (OSError, sqlite3.Error) as error:
        said = error.strerror if isinstance(error, OSError) else None
        raise StoreError(f"{to}: {said or error}") from error


@contextmanager
def _new_file(to: Path) -> Generator[Path]:
    if os.path.lexists(to):
        raise NotOverwritten(f"{to} is there: choose another name")
    part = beside(to, f".{os.getpid()}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        yield part
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            beside(part, suffix).unlink(missing_ok=True)


def _give_name(part: Path, to: Path) -> None:
    try:
        os.link(part, to)
    except FileExistsError:
        raise NotOverwritten(f"{to} is there meanwhile: choose another name") from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        part.rename(to)


def _sync(path: Path) -> None:
    # A folder cannot be opened on Windows, and needs no sync there.
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
