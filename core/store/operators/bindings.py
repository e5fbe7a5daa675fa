"""Session bindings for operators."""

import msgspec

from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.store.queries import Read


class BindingsOverview(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[SessionBindingRecord, ...]
    #: by id the rows that cannot be read, and why
    broken: dict[str, str]
    #: the process that works the store, if any
    holder: str | None
    #: when this was read, in seconds on the gateway's clock
    at: float


class ReadBindingsOverview(Read[BindingsOverview], frozen=True, kw_only=True):
    """All bindings; ended ones only with `ended`."""

    ended: bool = False
    now: float
