"""What the commands of ``trunkline bindings`` do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trunkline.app.cli.store.queue import changing, looking, or_nothing
from trunkline.app.report.queue import ago, as_json_of, moment
from trunkline.app.view.text.cells import clean, count
from trunkline.core.bindings.conversation_match import ref_of
from trunkline.core.bindings.records import SessionBindingRecord
from trunkline.core.store.queries import ListBindings
from trunkline.core.store.records import StoredBindings
from trunkline.core.store.sqlite.handlers import ask
from trunkline.core.store.sqlite.offline.bindings_file import unbind
from trunkline.core.store.sqlite.offline.queue_file import holder_of

#: version of the JSON
BINDINGS_VERSION = 1


def print_list(store: Path, *, ended: bool, json: bool) -> int:
    """Print what is bound."""
    now = time.time()
    with looking(store) as connection:
        found, holder = ask(connection, ListBindings(ended=ended)), holder_of(connection, now)
    if json:
        rows = [_row(one) for one in found.rows]
        print(_as_json({"bindings": rows, "broken": found.broken, "holder": holder}))
        return 0
    for line in _lines(found, now):
        print(clean(line))
    return 0


@or_nothing
def unbind_one(store: Path, binding: str, *, json: bool) -> int:
    """End a binding."""
    with changing(store) as connection:
        after = unbind(connection, binding, now=time.time())
    if json:
        print(_as_json({"unbound": _row(after)}))
    else:
        print(clean(f"{after.binding_id}: {after.conversation} is no longer bound to {after.target_session_key}"))
    return 0


def _lines(found: StoredBindings, now: float) -> Iterator[str]:
    yield count(len(found.rows), "binding")
    for one in found.rows:
        ends = one.expires_at
        when = (
            ""
            if ends is None or one.ended_at is not None
            else f", {'over' if ends <= now else 'ends'} {ago(ends, now)}"
        )
        if one.ended_at is not None:
            when = f", ended {ago(one.ended_at, now)}"
        why = "" if one.reason is None else f" ({one.reason.value})"
        who = f"by {one.bound_by}" + (f", {one.label}" if one.label else "")
        yield f"{one.status.value}{why}  {one.binding_id}  {one.conversation} -> {one.target_session_key}  {who}{when}"
    for binding, problem in found.broken.items():
        yield f"broken  {binding}  {problem}"


def _row(one: SessionBindingRecord) -> dict[str, Any]:
    return {
        "id": one.binding_id,
        "status": one.status,
        "conversation": ref_of(one.conversation),
        "session_key": one.target_session_key,
        "target_kind": one.target_kind,
        "bound_by": one.bound_by,
        "label": one.label,
        "identity": None if one.identity is None else str(one.identity),
        "degraded": one.degraded,
        "bound_at": one.bound_at,
        "last_activity_at": one.last_activity_at,
        "expires_at": one.expires_at,
        "expires_time": moment(one.expires_at),
        "reason": one.reason,
        "ended_at": one.ended_at,
        "metadata": one.metadata,
    }


def _as_json(document: dict[str, Any]) -> str:
    return as_json_of({"trunkline_bindings": BINDINGS_VERSION, **document})
