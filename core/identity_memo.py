"""Caches keyed by object identity, for arguments that never change and are costly or impossible to hash."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

G = TypeVar("G")
M = TypeVar("M")
#: size of a cache of objects that do not support weak references
_FEW = 16


def while_it_lives(make: Callable[[G], M]) -> Callable[[G], M]:
    """Cache `make` per object for the lifetime of the object. The result must not refer to the object."""
    kept: dict[int, tuple[weakref.ref[G], M]] = {}

    @wraps(make)
    def remembered(given: G) -> M:
        number = id(given)
        found = kept.get(number)
        # The id of a collected object may be reused.
        if found is not None and found[0]() is given:
            return found[1]
        made = make(given)
        kept[number] = (weakref.ref(given, lambda gone: forget(number, gone)), made)
        return made

    def forget(number: int, gone: weakref.ref[G]) -> None:
        if number in kept and kept[number][0] is gone:
            del kept[number]

    return remembered


def for_a_few(make: Callable[[G], M]) -> Callable[[G], M]:
    """Cache `make` for the last few objects, for types without weak references, such as dict."""
    kept: dict[int, tuple[G, M]] = {}

    @wraps(make)
    def remembered(given: G) -> M:
        found = kept.get(id(given))
        # The cache keeps its objects alive, so that no other object has the same id.
        if found is not None:
            return found[1]
        made = make(given)
        if len(kept) >= _FEW:
            kept.pop(next(iter(kept)), None)
        kept[id(given)] = (given, made)
        return made

    return remembered
