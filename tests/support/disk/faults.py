"""A disk that fails at chosen calls."""

import threading
from collections import Counter
from random import Random
from typing import Literal

import msgspec

from tests.support.disk.vfs import ERRORS, FULL, DiskFile

Kind = Literal["read", "write", "sync", "truncate", "short", "full"]
KINDS: tuple[Kind, ...] = ("read", "write", "sync", "truncate", "short", "full")


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """From the `at`-th call of an operation on, `times` of them fail. ``short`` writes a half, ``full`` nothing."""

    kind: Kind
    at: int
    times: int = 1

    @property
    def operation(self) -> str:
        return "write" if self.kind in ("short", "full") else self.kind


def draw_fault(dice: Random) -> Fault:
    """A fault at random: most of them early, most of them once, and some for good."""
    return Fault(
        kind=dice.choice(KINDS), at=int(2 ** dice.uniform(0, 9)), times=dice.choice((1, 1, 1, 3, 10, 1_000_000))
    )


class FaultyDisk:
    """See `tests.support.disk.vfs.Disk`."""

    def __init__(self, *faults: Fault) -> None:
        self._faults = faults
        self._lock = threading.Lock()
        #: calls of each operation, and failures of each kind
        self.calls: Counter[str] = Counter()
        self.struck: Counter[Kind] = Counter()

    def _next(self, operation: str) -> Kind | None:
        with self._lock:
            self.calls[operation] += 1
            call = self.calls[operation]
            for fault in self._faults:
                if fault.operation == operation and fault.at <= call < fault.at + fault.times:
                    self.struck[fault.kind] += 1
                    return fault.kind
        return None

    def _answer(self, operation: str) -> int | None:
        return None if self._next(operation) is None else ERRORS[operation]

    def read(self, file: DiskFile, offset: int, size: int) -> int | None:
        return self._answer("read")

    def write(self, file: DiskFile, offset: int, data: bytes) -> int | None:
        kind = self._next("write")
        if kind == "short":
            file.write(offset, data[: len(data) // 2])
        return None if kind is None else ERRORS["write"] if kind == "write" else FULL

    def sync(self, file: DiskFile) -> int | None:
        return self._answer("sync")

    def truncate(self, file: DiskFile, size: int) -> int | None:
        return self._answer("truncate")
