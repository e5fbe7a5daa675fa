"""Session bindings: list, bind, unbind."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint, Name, Seconds, Verb, VerbCall
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement, SessionBindingRecord, TargetKind
from trunkline.core.store.operators.bindings import BindingsOverview, ReadBindingsOverview


class BindingsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which bindings."""

    #: also those that have ended
    ended: bool = False


class UnbindQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why it ends: a reason code, or a text, which is kept beside the code ``unbound``."""

    reason: Annotated[str, Meta(max_length=2000)] = Reason.UNBOUND.value


class Conversation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conversation: a raw id or a target with its prefix; on Telegram with its topic, ``-100:topic:7``."""

    channel: Name
    account_id: Name
    conversation_id: Name
    parent_conversation_id: Name | None = None


class BindBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to bind a conversation to a session. Times are seconds; none: as configured for the channel."""

    target_session_key: Name
    conversation: Conversation
    target_kind: TargetKind = TargetKind.SESSION
    placement: Placement | None = None
    idle_timeout: Seconds | None = None
    max_age: Seconds | None = None
    ttl: Seconds | None = None
    label: str = ""
    #: name of the new thread; empty: the label
    title: str = ""
    metadata: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    #: replace a binding that another user made
    rebind: bool = False
    #: the same request makes only one binding, however often it comes
    request: Name | None = None
    #: create the session together with the binding
    new_session: bool = False


@Verb("GET", "/v1/bindings", Scope.READ, query=BindingsQuery, answer=BindingsOverview)
async def list_bindings(call: VerbCall) -> BindingsOverview:
    """List the conversations that are bound to sessions, oldest first."""
    asked: BindingsQuery = call.query
    return await call.operated.read(ReadBindingsOverview(ended=asked.ended, now=call.operated.now()))


@Endpoint("POST", "/v1/bindings", Scope.OPERATE, body=BindBody, answer=SessionBindingRecord, problems=(409,))
async def bind(call: Call) -> SessionBindingRecord:
    """Bind a conversation to a session. What is bound to it already is answered unchanged."""
    body: BindBody = call.body
    fields = msgspec.structs.asdict(body)
    fields["conversation"] = ConversationRef(**msgspec.structs.asdict(body.conversation))
    from trunkline.core.bindings.bind_request import BindRequest  # operators' commands have no use for its rules

    return await call.served.gateway.bindings.bind(BindRequest(**fields))


@Verb(
    "DELETE",
    "/v1/bindings/{binding}",
    Scope.OPERATE,
    query=UnbindQuery,
    answer=SessionBindingRecord,
    problems=(404, 409),
)
async def unbind(call: VerbCall) -> SessionBindingRecord:
    """End a binding: its conversation takes its default route again.

    End a binding; work in progress for it is finished first.
    """
    asked: UnbindQuery = call.query
    return await call.operated.unbind(call.path["binding"], asked.reason)
