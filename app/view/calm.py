"""Building large indexes without the garbage collector looking on: nothing that they are made of is garbage."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

#: from so many events on, what was built is taken out of the collector's rounds
LARGE = 20_000


@contextmanager
def calm(size: int) -> Generator[None]:
    """Collect nothing inside. What a large run left alive is not looked at again by any later round.

    A round over a run of 100,000 events takes several frames; one in the middle of scrolling would be felt.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
        if size >= LARGE:
            gc.freeze()
