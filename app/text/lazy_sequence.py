"""A sequence whose items are computed on access: a screen shows ten of a thousand rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Source = TypeVar("Source")
Made = TypeVar("Made")


class LazySequence(Sequence[Made], Generic[Source, Made]):
    """Maps `make` over a sequence, lazily; `keep`: once per item, of a sequence that does not change."""

    def __init__(self, things: Sequence[Source], make: Callable[[Source], Made], *, keep: bool = True) -> None:
        self._things = things
        self._make = make
        self._made: dict[int, Made] | None = {} if keep else None

    def __len__(self) -> int:
        return len(self._things)

    def __iter__(self) -> Iterator[Made]:
        return map(self._make, self._things) if self._made is None else super().__iter__()

    @overload
    def __getitem__(self, index: int) -> Made: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Made]: ...

    def __getitem__(self, index: int | slice) -> Made | Sequence[Made]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if self._made is None:
            return self._make(self._things[index])
        place = range(len(self._things))[index]
        if place not in self._made:
            self._made[place] = self._make(self._things[place])
        return self._made[place]
