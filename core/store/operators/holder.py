"""Who works a store."""

from __future__ import annotations

from trunkline.core.store.queries import Read


class FindHolder(Read[str | None], frozen=True, kw_only=True):
    """The process that works the store, according to its lease; none: none does."""

    now: float
