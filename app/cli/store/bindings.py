"""``trunkline bindings``: the session bindings of a gateway."""

from collections.abc import Iterator
from typing import Any

from trunkline.app.cli.options import Flag
from trunkline.app.cli.store.files import NOWHERE, Gateway, Id, Json, operators_app, or_exit, print_answer
from trunkline.app.report.layout import some_fields
from trunkline.app.report.queue import ago, moment
from trunkline.app.text.cells import count
from trunkline.core.http.routes import bindings as verbs
from trunkline.core.http.routes.bindings import BindingsQuery, UnbindQuery
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import END_NOTE, ConversationRef, SessionBindingRecord
from trunkline.core.store.operators.bindings import BindingsOverview

app = operators_app("bindings", "List conversations that are bound to sessions, and unbind one.")


@app.command(name="list")
def list_(*, gateway: Gateway = NOWHERE, ended: Flag = False, json: Json = False) -> int:
    """List bindings, oldest first.

    :param ended: Also those that have ended.
    """
    found = gateway.operator().ask(verbs.list_bindings, BindingsQuery(ended=ended))
    rows = [_row(binding) for binding in found.rows]
    document = {"bindings": rows, "broken": found.broken, "holder": found.holder}
    return print_answer("bindings", document, _lines(found), json=json)


@app.command
@or_exit
def unbind(
    binding: Id, /, *, gateway: Gateway = NOWHERE, reason: str = Reason.UNBOUND.value, json: Json = False
) -> int:
    """End a binding: its conversation takes its default route again.

    A gateway that is running is asked itself: with `--url`, or with `/unfocus` in the conversation.

    :param binding: Its id, as `trunkline bindings list` prints it.
    :param reason: A reason code, or a text, which is kept beside the code `unbound`.
    """
    after = gateway.operator().ask(verbs.unbind, UnbindQuery(reason=reason), binding=binding)
    line = f"{after.binding_id}: {after.conversation} is no longer bound to {after.target_session_key}"
    return print_answer("bindings", {"unbound": _row(after)}, [line], json=json)


def _lines(found: BindingsOverview) -> Iterator[str]:
    now = found.at
    yield count(len(found.rows), "binding")
    for binding in found.rows:
        when = ""
        if binding.ended_at is not None:
            when = f", ended {ago(binding.ended_at, now)}"
        elif binding.expires_at is not None:
            when = f", {'over' if binding.expires_at <= now else 'ends'} {ago(binding.expires_at, now)}"
        note = binding.metadata.get(END_NOTE, "")
        why = "" if binding.reason is None else f" ({binding.reason.value}{note and f': {note}'})"
        who = f"by {binding.bound_by}" + (f", {binding.label}" if binding.label else "")
        bound = f"{binding.conversation} -> {binding.target_session_key}"
        yield f"{binding.status.value}{why}  {binding.binding_id}  {bound}  {who}{when}"
    for binding, problem in found.broken.items():
        yield f"broken  {binding}  {problem}"


def _row(binding: SessionBindingRecord) -> dict[str, Any]:
    return {
        "id": binding.binding_id,
        "status": binding.status,
        "conversation": ConversationRef.of(binding.conversation),
        "session_key": binding.target_session_key,
        **some_fields(binding, "target_kind", "bound_by", "label"),
        "identity": None if binding.identity is None else str(binding.identity),
        **some_fields(binding, "degraded", "bound_at", "last_activity_at", "expires_at"),
        "expires_time": moment(binding.expires_at),
        **some_fields(binding, "reason", "ended_at", "metadata"),
    }
