"""Time, ids and randomness, as parameters: the only place in `core` that touches the system's own.

The simulator gives an `Env` of its own. Sleeping and timeouts go through anyio, which follows the loop's clock.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from typing import Protocol


class Ids(Protocol):
    """Mints identifiers. `parts` say what the id is for; an implementation may derive the id from them."""

    def new(self, kind: str, *parts: str) -> str:
        """A fresh id of a kind, e.g. ``inbound`` or ``session``."""
        ...


class Env:
    """What a gateway knows of the world without asking it: the clock, the ids, the dice."""

    def __init__(self, *, now: Callable[[], float], ids: Ids, seed: str) -> None:
        #: seconds since the epoch, or virtual seconds
        self.now = now
        self.ids = ids
        self._seed = seed

    def random(self, label: str) -> random.Random:
        """A generator keyed by what it is for, never a shared stream (DESIGN section 6)."""
        return random.Random(f"{self._seed}/{label}")


class _SystemIds:
    def new(self, kind: str, *parts: str) -> str:
        return f"{kind}-{uuid.uuid4().hex}"


def system_env() -> Env:
    """The real clock, random ids, a fresh seed."""
    return Env(now=time.time, ids=_SystemIds(), seed=uuid.uuid4().hex)
