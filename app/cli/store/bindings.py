"""``trunkline bindings``: the session bindings of a gateway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cyclopts import App

from trunkline.app.cli.options import Flag
from trunkline.app.cli.store.files import NOWHERE, Gateway, Id, Json, or_exit
from trunkline.app.report.queue import ago, as_json_of, moment
from trunkline.app.terminal.output import print_json, print_lines
from trunkline.app.text.cells import count
from trunkline.core.bindings.conversation_match import ref_of
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import END_NOTE, SessionBindingRecord
from trunkline.core.store.operators.bindings import BindingsOverview

app = App(
    name="bindings",
    help="List conversations that are bound to sessions, and unbind one. "
    "Exit code: 0 done, 1 not possible and nothing was changed, 2 wrong usage or file.",
)
#: version of the JSON
BINDINGS_VERSION = 1


@app.command(name="list")
def list_(*, gateway: Gateway = NOWHERE, ended: Flag = False, json: Json = False) -> int:
    """List bindings, oldest first.

    Parameters
    ----------
    ended:
        Also those that have ended.
    """
    found = gateway.operator().bindings(ended=ended)
    if json:
        rows = [_row(one) for one in found.rows]
        print_json(_as_json({"bindings": rows, "broken": found.broken, "holder": found.holder}))
        return 0
    for line in _lines(found):
        print_lines(line)
    return 0


@app.command
@or_exit
def unbind(
    binding: Id, /, *, gateway: Gateway = NOWHERE, reason: str = Reason.UNBOUND.value, json: Json = False
) -> int:
    """End a binding: its conversation takes its default route again.

    A gateway that is running is asked itself: with `--url`, or with `/unfocus` in the conversation.

    Parameters
    ----------
    binding:
        Its id, as `trunkline bindings list` prints it.
    reason:
        A reason code, or a text, which is kept beside the code `unbound`.
    """
    after = gateway.operator().unbind(binding, reason)
    if json:
        print_json(_as_json({"unbound": _row(after)}))
    else:
        print_lines(f"{after.binding_id}: {after.conversation} is no longer bound to {after.target_session_key}")
    return 0


def _lines(found: BindingsOverview) -> Iterator[str]:
    now = found.at
    yield count(len(found.rows), "binding")
    for one in found.rows:
        when = ""
        if one.ended_at is not None:
            when = f", ended {ago(one.ended_at, now)}"
        elif one.expires_at is not None:
            when = f", {'over' if one.expires_at <= now else 'ends'} {ago(one.expires_at, now)}"
        note = one.metadata.get(END_NOTE, "")
        why = "" if one.reason is None else f" ({one.reason.value}{note and f': {note}'})"
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
