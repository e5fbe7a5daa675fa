"""Remember what was made of a value by which object it is: for what is not changed, and costly to hash or compare."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

G = TypeVar("G")
M = TypeVar("M")
#: objects that cannot be watched are remembered up to this number
_FEW = 16


def while_it_lives(make: Callable[[G], M]) -> Callable[[G], M]:
    """`make`, called once for each object; the result is kept for as long as the object lives.

    The result must not hold on to the object that it is made of.
    """
    kept: dict[int, tuple[weakref.ref[G], M]] = {}

    @wraps(make)
    def remembered(given: G) -> M:
        number = id(given)
        found = kept.get(number)
        # The number of an object that is gone may be given to another one.
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
    """`make`, called once for each of the last few objects: for those that cannot be watched, such as dicts."""
    kept: dict[int, tuple[G, M]] = {}

    @wraps(make)
    def remembered(given: G) -> M:
        found = kept.get(id(given))
        # What is kept lives, so that no other object has its number.
        if found is not None:
            return found[1]
        made = make(given)
        if len(kept) >= _FEW:
            kept.pop(next(iter(kept)), None)
        kept[id(given)] = (given, made)
        return made

    return remembered
