"""A queue in which keys take turns: a key with a thousand items does not keep the others waiting."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Hashable)


class FairQueue(Generic[K, T]):
    """Items of keys, taken round robin by key and in order within a key. Every operation takes constant time."""

    def __init__(self) -> None:
        self._keys: OrderedDict[K, OrderedDict[T, None]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, key: K, item: T) -> None:
        """Add an item as the last of a key. A key without items gets its turn after all others."""
        items = self._keys.setdefault(key, OrderedDict())
        if item not in items:
            items[item] = None
            self._count += 1

    def take(self) -> T | None:
        """Remove and return the next item; None without items. The key has the next turn after all others."""
        if not self._keys:
            return None
        key = next(iter(self._keys))
        items = self._keys[key]
        item, _ = items.popitem(last=False)
        self._count -= 1
        if items:
            self._keys.move_to_end(key)
        else:
            del self._keys[key]
        return item

    def discard(self, key: K, item: T) -> None:
        """Remove an item, if queued."""
        items = self._keys.get(key)
        if items is None or item not in items:
            return
        del items[item]
        self._count -= 1
        if not items:
            del self._keys[key]
