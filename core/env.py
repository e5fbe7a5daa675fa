"""Time, ids and randomness as parameters: the only module of `core` that reads the system clock or system randomness.

The simulator passes its own `Env`. Sleeping and timeouts go through anyio, which follows the event loop's clock.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from typing import Protocol


class Ids(Protocol):
    """Creates identifiers. `parts` describe what the id is for; an implementation may derive the id from them."""

    def new(self, kind: str, *parts: str) -> str:
        """A new id of a kind, e.g. ``inbound`` or ``session``."""
        ...


class Env:
    """The clock, id source and random number source of a gateway."""

    def __init__(self, *, now: Callable[[], float], ids: Ids, seed: str) -> None:
        #: seconds since the epoch, or virtual seconds
        self.now = now
        self.ids = ids
        self._seed = seed

    def random(self, label: str) -> random.Random:
        """A generator keyed by its purpose. Purposes share no stream, so that one does not disturb another."""
        return random.Random(f"{self._seed}/{label}")


class _SystemIds:
    def new(self, kind: str, *parts: str) -> str:
        return f"{kind}-{uuid.uuid4().hex}"


def system_env() -> Env:
    """The real clock, random ids and a random seed."""
    return Env(now=time.time, ids=_SystemIds(), seed=uuid.uuid4().hex)
