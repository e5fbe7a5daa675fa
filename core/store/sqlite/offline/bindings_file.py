"""Session bindings of a store file, without a gateway.

A running gateway keeps its bindings in memory, so nothing is changed beside it.
"""

import sqlite3
from typing import Any

from trunkline.core.errors import IllegalTransition, StoreError, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import END_NOTE, SessionBindingRecord, end_reason
from trunkline.core.states.binding import BindingEvent, BindingStatus
from trunkline.core.store.commands import ChangeBinding
from trunkline.core.store.queries import FindBinding
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.lease import holder_of
from trunkline.core.well_formed import well_formed


def unbind(
    connection: sqlite3.Connection, binding: str, *, now: float, reason: Reason | str = Reason.UNBOUND
) -> SessionBindingRecord:
    """End a binding. Work in progress for it finishes without it. A free text as `reason` is kept beside the code.

    Raises `UnknownName`, `StoreError` for a row that cannot be read, and `IllegalTransition` when it has ended already
    or a gateway works the store.
    """
    holder = holder_of(connection, now)
    if holder is not None:
        raise IllegalTransition(
            f"{holder} works the store: have it unbind (`--url` instead of `--store`, `gateway.bindings.unbind`, or"
            " /unfocus in the conversation), or stop it"
        )
    try:
        before = ask(connection, FindBinding(binding=binding))
    except (ValueError, TypeError) as error:
        raise StoreError(f"the row of binding {binding} cannot be read ({error}); it binds nothing") from error
    if before is None:
        raise UnknownName(f"no binding {binding!r}; `trunkline bindings list --ended` lists all")
    if before.status is BindingStatus.ENDED:
        raise IllegalTransition(f"{binding} has ended already")
    code, note = end_reason(reason, "")
    changes: dict[str, Any] = {"reason": code, "ended_at": now}
    if note:
        changes["metadata"] = {**before.metadata, END_NOTE: well_formed(note)}
    after = execute(connection, ChangeBinding(binding=binding, event=BindingEvent.END, changes=changes))
    assert after is not None
    return after
