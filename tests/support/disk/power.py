"""A disk whose power is cut: what was not synced is lost, in part or whole, in any order."""

import threading
from pathlib import Path
from random import Random

import msgspec

from tests.support.disk.vfs import DiskFile

#: what a disk writes at once
SECTOR = 512


class _Change(msgspec.Struct, frozen=True):
    """A write or a truncation that no sync has made durable."""

    offset: int
    #: none: a truncation to `offset`
    data: bytes | None


class PowerDisk:
    """Keeps what is durable of each file, and what is not yet. `lies`: whether a sync does nothing, at this moment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._durable: dict[str, bytearray] = {}
        self._pending: dict[str, list[_Change]] = {}
        self.lies = False
        #: calls that change something
        self.calls = 0

    def _begin(self, file: DiskFile) -> list[_Change]:
        if file.path not in self._durable:
            self._durable[file.path] = bytearray(file.read(0, file.size))
        self.calls += 1
        return self._pending.setdefault(file.path, [])

    def read(self, file: DiskFile, offset: int, size: int) -> None:
        return None

    def write(self, file: DiskFile, offset: int, data: bytes) -> None:
        with self._lock:
            self._begin(file).append(_Change(offset, data))

    def truncate(self, file: DiskFile, size: int) -> None:
        with self._lock:
            self._begin(file).append(_Change(size, None))

    def sync(self, file: DiskFile) -> None:
        with self._lock:
            pending = self._begin(file)
            if not self.lies:
                _apply(self._durable[file.path], pending)
                pending.clear()

    @property
    def waiting(self) -> int:
        """Changes that a cut could take back."""
        with self._lock:
            return sum(map(len, self._pending.values()))

    def cut(self, folder: Path, dice: Random, *, kept: float, torn: float) -> None:
        """Write the files as a cut leaves them now: of what is not synced, some changes, some of them torn."""
        with self._lock:
            images = {path: bytearray(content) for path, content in self._durable.items()}
            pending = {path: list(changes) for path, changes in self._pending.items()}
        folder.mkdir(parents=True)
        for path, image in images.items():
            some = [change for change in pending.get(path, ()) if dice.random() < kept]
            _apply(image, [_torn(change, dice) if dice.random() < torn else change for change in some])
            (folder / Path(path).name).write_bytes(image)


def _torn(change: _Change, dice: Random) -> _Change:
    if change.data is None or len(change.data) <= SECTOR:
        return change
    return _Change(change.offset, change.data[: SECTOR * dice.randrange(1, len(change.data) // SECTOR + 1)])


def _apply(image: bytearray, changes: list[_Change]) -> None:
    for change in changes:
        if change.data is None:
            del image[change.offset :]
            continue
        if len(image) < change.offset:
            image.extend(bytes(change.offset - len(image)))
        image[change.offset : change.offset + len(change.data)] = change.data
