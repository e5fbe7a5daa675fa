"""Time, ids and randomness as parameters: the only module of `core` with the system's clock and randomness.

The simulator passes its own `Env`. Sleeping and timeouts go through anyio, which follows the event loop's clock.
"""

import os
import random
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

#: threads that read files
_READERS = 4
#: random bytes of an id, and the ids for which random bytes are read at once
_ID_BYTES, _IDS_AT_ONCE = 16, 128


class Ids(Protocol):
    """Creates identifiers. `parts` describe the purpose; an implementation may derive the id from the parts."""

    def new(self, kind: str, *parts: str) -> str:
        """A new id of a kind, e.g. ``inbound`` or ``session``."""
        ...


class Files(Protocol):
    """Reads files written by people for the gateway."""

    async def read(self, path: str, limit: int) -> bytes | None:
        """The first `limit` bytes of a file; None if there is none. Raises `OSError`."""
        ...


class Env:
    """The clocks, time zone, files, id source and random number source of a gateway.

    What is stored for another process has the time of the wall clock, `now`. What a process waits for, and how old
    something is for it, goes by the steady clock, which nobody sets: otherwise a clock that is set back by an hour
    would hold every retry for an hour.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        ids: Ids,
        seed: str,
        steady: Callable[[], float] | None = None,
        timezone: str = "UTC",
        files: Files | None = None,
    ) -> None:
        #: the wall clock: seconds since the epoch, or virtual seconds
        self.now = now
        #: the steady clock: begins as the wall clock, and is never set; by default the system's
        self.steady = _steady_from(now()) if steady is None else steady
        self.ids = ids
        self._seed = seed
        #: IANA name of the machine's time zone
        self.timezone = timezone
        self.files: Files = _SystemFiles() if files is None else files

    def steady_of(self, wall: float) -> float:
        """A stored time on the steady clock."""
        return wall + (self.steady() - self.now())

    def wall_of(self, steady: float) -> float:
        """A time of the steady clock as a time of the wall clock, for storing."""
        return steady + (self.now() - self.steady())

    def random(self, label: str) -> "random.Random":
        """A generator keyed by a purpose. Purposes share no stream, and so do not disturb each other."""
        return random.Random(f"{self._seed}/{label}")


class _SystemFiles:
    def __init__(self) -> None:
        self._threads: anyio.CapacityLimiter | None = None

    async def read(self, path: str, limit: int) -> bytes | None:
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_READERS)
        # A file on a dead network drive blocks its thread, and in time the others here, but none of the program's own.
        return await anyio.to_thread.run_sync(_read, path, limit, abandon_on_cancel=True, limiter=self._threads)


def _read(path: str, limit: int) -> bytes | None:
    try:
        with Path(path).open("rb") as file:
            return file.read(limit)
    except FileNotFoundError:
        return None


def _system_timezone() -> str:
    """The IANA name of the machine's time zone, as far as the system has one."""
    named = os.environ.get("TZ", "").removeprefix(":")
    return named or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2] or "UTC"


class _SystemIds:
    """Random ids. Random bytes come from the system for many ids at once: a system call costs more than all else."""

    def __init__(self) -> None:
        self._process = 0
        self._random: list[str] = []

    def new(self, kind: str, *parts: str) -> str:
        if self._process != os.getpid():
            # A copy of this process must not make the same ids.
            self._process, self._random = os.getpid(), []
        try:
            return f"{kind}-{self._random.pop()}"
        except IndexError:
            digits = os.urandom(_ID_BYTES * _IDS_AT_ONCE).hex()
            size = 2 * _ID_BYTES
            first, *others = (digits[at : at + size] for at in range(0, len(digits), size))
            self._random = others
            return f"{kind}-{first}"


def _steady_from(start: float) -> Callable[[], float]:
    """A clock from a start time on. Where possible, the clock also counts while the machine sleeps."""
    boot_time: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    if boot_time is None:
        offset = start - time.monotonic()
        return lambda: offset + time.monotonic()
    # One call per look: every event is stamped by this clock.
    read = time.clock_gettime
    offset = start - read(boot_time)
    return lambda: offset + read(boot_time)


def system_env() -> Env:
    """The real clock and time zone, random ids and a random seed."""
    return Env(now=time.time, ids=_SystemIds(), seed=uuid.uuid4().hex, timezone=_system_timezone())
