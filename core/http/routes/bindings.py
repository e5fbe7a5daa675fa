"""Session bindings: list, bind, unbind."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.bindings.bind_request import BindRequest
from trunkline.core.errors import IllegalTransition, UnknownName
from trunkline.core.http.endpoint import Call, Endpoint, Scope
from trunkline.core.http.routes.pages import Name, Seconds
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement, SessionBindingRecord, TargetKind
from trunkline.core.states.binding import BindingStatus
from trunkline.core.store.operators.bindings import BindingsOverview, ReadBindingsOverview
from trunkline.core.store.queries import FindBinding

TAG = "Bindings"


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


async def list_bindings(call: Call) -> BindingsOverview:
    """The bindings, oldest first."""
    asked: BindingsQuery = call.query
    return await call.served.store.read(ReadBindingsOverview(ended=asked.ended, now=call.served.env.now()))


async def bind(call: Call) -> SessionBindingRecord:
    """Bind a conversation to a session."""
    body: BindBody = call.body
    fields = {name: getattr(body, name) for name in body.__struct_fields__}
    fields["conversation"] = ConversationRef(**msgspec.structs.asdict(body.conversation))
    return await call.served.gateway.bindings.bind(BindRequest(**fields))


async def unbind(call: Call) -> SessionBindingRecord:
    """End a binding; work in progress for it is finished first."""
    binding, asked = call.path["binding"], call.query
    ended = (
        await call.served.gateway.bindings.unbind(binding_id=binding, reason=asked.reason) if binding.strip() else ()
    )
    if ended:
        return ended[0]
    try:
        record = await call.served.store.read(FindBinding(binding=binding))
    except (ValueError, TypeError) as error:
        raise IllegalTransition(f"the row of binding {binding} cannot be read; it binds nothing") from error
    if record is None:
        raise UnknownName(f"no binding {binding!r}; `trunkline bindings list --ended` lists all")
    has = "has ended already" if record.status is BindingStatus.ENDED else "ends already, once its work is finished"
    raise IllegalTransition(f"{binding} {has}")


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/v1/bindings",
        scope=Scope.READ,
        summary="List the conversations that are bound to sessions, oldest first.",
        run=list_bindings,
        query=BindingsQuery,
        answer=BindingsOverview,
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/bindings",
        scope=Scope.OPERATE,
        summary="Bind a conversation to a session. What is bound to it already is answered unchanged.",
        run=bind,
        body=BindBody,
        answer=SessionBindingRecord,
        problems=(409,),
        tag=TAG,
    ),
    Endpoint(
        method="DELETE",
        path="/v1/bindings/{binding}",
        scope=Scope.OPERATE,
        summary="End a binding: its conversation takes its default route again.",
        run=unbind,
        query=UnbindQuery,
        answer=SessionBindingRecord,
        problems=(404, 409),
        tag=TAG,
    ),
)
