"""The bindings of a store file from outside, as `core.store.sqlite.offline.queue_file` does it for the queue (issue 5).

A gateway that runs follows its own book of bindings: nobody changes them beside it.
"""

from __future__ import annotations

import sqlite3

import msgspec

from trunkline.core.bindings.records import BindingStatus, SessionBindingRecord
from trunkline.core.bindings.states import BindingEvent
from trunkline.core.errors import IllegalTransition, StoreError, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite.offline.queue_file import holder_of, in_transaction
from trunkline.core.store.sqlite.sql import bindings


class BindingsFound(msgspec.Struct, frozen=True, kw_only=True):
    """Bindings in the order in which they were made. `broken`: by id what cannot be read, and why."""

    rows: tuple[SessionBindingRecord, ...]
    broken: dict[str, str]
    #: who works the store; none: nobody does
    holder: str | None


def overview(connection: sqlite3.Connection, *, ended: bool, now: float) -> BindingsFound:
    """What is bound; what has ended too, where asked for."""
    rows, broken = bindings.read_all(connection, ended=ended)
    return BindingsFound(rows=rows, broken=broken, holder=holder_of(connection, now))


def unbind(connection: sqlite3.Connection, binding: str, *, now: float) -> SessionBindingRecord:
    """End a binding. What is under way for it is finished without it.

    Raises `UnknownName`, `StoreError` for a row that cannot be read, and `IllegalTransition` where it has ended already
    or a gateway works the store.
    """
    with in_transaction(connection):
        holder = holder_of(connection, now)
        if holder is not None:
            raise IllegalTransition(
                f"{holder} works the store: stop it, or have it unbind (`gateway.bindings.unbind`, or /unfocus in the"
                " conversation)"
            )
        try:
            before = bindings.find(connection, binding)
        except bindings.BROKEN as error:
            raise StoreError(f"the row of binding {binding} cannot be read ({error}); it binds nothing") from error
        if before is None:
            raise UnknownName(f"no binding {binding!r}; `trunkline bindings list --ended` lists all")
        if before.status is BindingStatus.ENDED:
            raise IllegalTransition(f"{binding} has ended already")
        after = bindings.change(connection, binding, BindingEvent.END, {"reason": Reason.UNBOUND, "ended_at": now})
    assert after is not None
    return after
