"""Garbage collector settings for a process that serves a gateway."""

import gc

#: allocations between two collections of the youngest generation; Python's default is 700
_YOUNG = 200_000


def fewer_collections() -> None:
    """Collect garbage less often, and never objects that exist now. Call it when the process starts.

    A busy gateway holds many objects for as long as a delivery takes. Scanning them again and again frees nothing and
    costs a fifth of the CPU time. The gateway creates no reference cycles that would need the collector.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
