"""Making what stays without the garbage collector looking on: nothing that it is made of is garbage."""

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


def release() -> None:
    """What was taken out of the rounds is looked at again: a run that nobody holds any more would stay for ever."""
    gc.unfreeze()


@contextmanager
def loading() -> Generator[None]:
    """Collect nothing while modules are imported, and never look at what they defined: it stays as long as the process.

    Without this, a tenth of the time to the first picture is spent on finding that none of it is garbage.
    """
    with calm(LARGE):
        yield
