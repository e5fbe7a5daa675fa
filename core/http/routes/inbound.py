"""Inbound messages over HTTP: taken durably, answered with what they caused."""

from urllib.parse import quote

import msgspec

from trunkline.core.decisions import BOUND_TIER
from trunkline.core.declared import filled
from trunkline.core.http.auth import check_place
from trunkline.core.http.chat.bodies import USUAL_WAIT, InboundBody, Seconds, envelope_of, mailbox_of
from trunkline.core.http.clients import Caller, Reach, Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.problems import Problem
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import InboundReceipt, InboundStatus, RouteNote
from trunkline.core.store.mailbox import CausedMessage, DueDelegation, FindInbound, Outcome, StoredInbound
from trunkline.core.text.mirror_text import said
from trunkline.core.values import (
    Address,
    Envelope,
    InboundId,
    IntentId,
    IntentKind,
    IntentState,
    Peer,
    Poll,
    Receipt,
    SessionId,
)

# Outcomes of inbound messages, as the API answers them.


class RouteAnswer(RouteNote, frozen=True, kw_only=True, omit_defaults=True):
    """Why a message went to its agent and session."""

    #: ``matched``, ``bound-session``, or ``default-agent`` where no rule matched
    reason: Reason
    #: the same in a sentence
    detail: str


class TurnAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The turn of a message."""

    over: bool
    #: ``replied``, ``silent`` or ``failed``
    outcome: str = ""
    #: why it is silent, or has failed
    reason: Reason | None = None
    detail: str = ""


class OutboundPayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that an inbound message caused."""

    intent_id: IntentId
    kind: IntentKind
    state: IntentState
    reason: Reason | None = None
    #: where it goes
    address: Address
    text: str
    #: the texts of its chunks, if there are several
    chunks: tuple[str, ...] = ()
    #: addresses of files
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    poll: Poll | None = None
    #: JSON that only the platform understands
    payload: str | None = None
    #: buttons, a card, silence, ...
    parts: MessageParts | None = None
    #: it changes a message instead of sending one, e.g. ``edit``
    action: str = ""
    #: the person for whom a report of delegated work is
    recipient: Peer | None = None
    #: of the chunks that were accepted
    receipts: tuple[Receipt, ...] = ()


class ReceivedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an inbound message, and what it has caused so far."""

    #: id of the stored message; none: nothing is stored
    id: InboundId | None
    status: InboundStatus
    #: the message id came before: this is the answer to the first message
    duplicate: bool
    #: why it was dropped
    reason: Reason | None = None
    detail: str = ""
    session_id: SessionId | None = None
    session_key: str = ""
    agent_id: str = ""
    route: RouteAnswer | None = None
    turn: TurnAnswer | None = None
    outbound_payloads: tuple[OutboundPayload, ...] = ()
    #: work that was delegated, and whose result is still to come
    delegations: tuple[DueDelegation, ...] = ()
    #: nothing more can come of it
    complete: bool = False
    #: where to ask for what comes later; none: nothing does
    rest: str | None = None


def answer_of(receipt: InboundReceipt, outcome: Outcome | None) -> ReceivedAnswer:
    route = receipt.route
    answer = ReceivedAnswer(
        id=receipt.inbound,
        status=receipt.status,
        duplicate=receipt.status is InboundStatus.DUPLICATE,
        reason=receipt.reason if receipt.status is InboundStatus.DROPPED else None,
        detail=receipt.detail,
        session_id=receipt.session_id,
        session_key=receipt.session_key,
        agent_id=receipt.agent,
        route=None if route is None else _route(route),
        complete=receipt.status is InboundStatus.DROPPED,
        rest=None if receipt.inbound is None else f"/v1/chat/inbound/{quote(receipt.inbound, safe='')}",
    )
    return answer if outcome is None else _with(answer, outcome)


def receipt_of(stored: StoredInbound) -> InboundReceipt:
    """The receipt for a client that asks again by the id."""
    return InboundReceipt(
        status=InboundStatus.ADMITTED,
        inbound=stored.work.id,
        agent=stored.work.agent,
        session_key=stored.work.session_key,
        session_id=stored.session,
        route=stored.work.route,
    )


def _with(answer: ReceivedAnswer, outcome: Outcome) -> ReceivedAnswer:
    turn = TurnAnswer(over=outcome.over)
    if outcome.ended is not None:
        ended = outcome.ended
        turn = TurnAnswer(over=outcome.over, outcome=ended.outcome, reason=ended.reason, detail=ended.detail)
    return msgspec.structs.replace(
        answer,
        turn=turn,
        outbound_payloads=tuple(_payload(message) for message in outcome.messages),
        delegations=outcome.delegations,
        complete=outcome.complete,
        rest=None if outcome.complete else answer.rest,
    )


def _route(note: RouteNote) -> RouteAnswer:
    reason, detail = _why(note)
    return RouteAnswer(**msgspec.structs.asdict(note), reason=reason, detail=detail)


def _why(note: RouteNote) -> tuple[Reason, str]:
    if note.rule is None:
        return Reason.DEFAULT_AGENT, "no route rule matched, so it went to the default agent"
    if note.matched_by == BOUND_TIER:
        return Reason.BOUND_SESSION, f"the conversation is bound to the session by {note.rule}"
    return Reason.MATCHED, f"the route rule {note.rule} matched, in the tier {note.matched_by}"


def _payload(message: CausedMessage) -> OutboundPayload:
    content, extra = message.content, message.extra
    chunks = content.chunks
    return filled(
        OutboundPayload,
        message,
        content,
        extra,
        intent_id=message.intent,
        text=said(chunks),
        chunks=chunks if len(chunks) > 1 else (),
        action="" if extra.action is None else extra.action.action.value,
    )


class OutcomeQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to wait until nothing more can come of a message, in seconds."""

    wait: Seconds = 0


@Endpoint(
    "POST",
    "/v1/chat/inbound",
    Scope.SEND,
    Reach.PLACE,
    body=InboundBody,
    answer=ReceivedAnswer,
    problems=(404, 409, 422),
)
async def post_inbound(call: Call) -> ReceivedAnswer:
    """Hand over a message that a person wrote, and get what it caused.

    Take a message; with `wait`, until nothing more can come of it.
    """
    body: InboundBody = call.body
    served = call.served
    mailbox_of(served.gateway, body.channel, body.account)
    envelope = _envelope(call.caller, body, served.env.now())
    seconds = USUAL_WAIT if body.wait is True else float(body.wait)
    inbound = InboundId(served.env.ids.new("inbound", *envelope.address.lane, body.message_id))
    if not seconds:
        receipt = await _receive(call, envelope, inbound)
        first = receipt.status is InboundStatus.DUPLICATE and receipt.inbound is not None
        return _shown(
            call, receipt, await served.outcomes.read_outcome(receipt.inbound) if first and receipt.inbound else None
        )
    with served.outcomes.watching(inbound, call.disconnect) as watch:
        receipt = await _receive(call, envelope, inbound)
        if receipt.status is InboundStatus.ADMITTED:
            return _shown(call, receipt, await served.outcomes.wait(inbound, watch, seconds, before=False))
    if receipt.inbound is None:
        return _shown(call, receipt, None)
    with served.outcomes.watching(receipt.inbound, call.disconnect) as watch:
        return _shown(call, receipt, await served.outcomes.wait(receipt.inbound, watch, seconds, before=True))


@Endpoint(
    "GET",
    "/v1/chat/inbound/{inbound}",
    Scope.SEND,
    Reach.PLACE,
    summary="What has an inbound message caused so far?",
    query=OutcomeQuery,
    answer=ReceivedAnswer,
    problems=(404, 422),
)
async def show_inbound(call: Call) -> ReceivedAnswer:
    """What a message has caused so far; with `wait`, until nothing more can come."""
    inbound, served, query = InboundId(call.path["inbound"]), call.served, call.query
    stored, outcome = await served.store.read(FindInbound(inbound=inbound)), None
    # A bound token learns nothing of the messages of others, not even that they are there.
    if stored is not None and _is_own(call.caller, stored.work.place):
        if query.wait:
            with served.outcomes.watching(inbound, call.disconnect) as watch:
                outcome = await served.outcomes.wait(inbound, watch, query.wait, before=True)
        else:
            outcome = await served.outcomes.read_outcome(inbound)
    if outcome is None or stored is None:
        detail = f"There is no inbound message {inbound!r}, or it is no longer kept."
        raise Problem(404, "unknown-inbound", detail)
    return _shown(call, receipt_of(stored), outcome)


def _is_own(caller: Caller, place: Address | None) -> bool:
    """Whether a caller may read what is said in a place: one that is not bound, anywhere."""
    return caller.bound is None or (place is not None and caller.bound.holds(place))


def _shown(call: Call, receipt: InboundReceipt, outcome: Outcome | None) -> ReceivedAnswer:
    """The answer, without messages to places of others, to whom the agent may have written."""
    if outcome is not None:
        own = tuple(message for message in outcome.messages if _is_own(call.caller, message.address))
        outcome = msgspec.structs.replace(outcome, messages=own)
    return answer_of(receipt, outcome)


def _envelope(caller: Caller, body: InboundBody, now: float) -> Envelope:
    """The message as the caller may hand it over. Raises `Problem` 403 for another place."""
    envelope = envelope_of(body, now)
    check_place(caller, envelope.address)
    if caller.bound is not None and (body.channel, body.account) not in caller.bound.accounts:
        # They decide the route, and a person or room does not say of itself where it belongs.
        given = [name for name in ("guild_id", "team_id", "roles", "parent_id") if getattr(body, name)]
        if given:
            detail = f"The token {caller.name!r} is not bound to the whole account: leave `{given[0]}` out."
            raise Problem(403, "bound-token", detail, field=f"$.{given[0]}")
    return msgspec.structs.replace(envelope, claimed=not caller.proves(body.channel, envelope.peer.id))


async def _receive(call: Call, envelope: Envelope, inbound: InboundId) -> InboundReceipt:
    """Hand a message to the gateway. Raises `Problem` for one that is no message, or whose id is taken."""
    receipt = await call.served.gateway.receive(envelope, inbound)
    if receipt.differs:
        detail = (
            f"The message id {envelope.message_id!r} is that of another message in {envelope.address}, with another"
            f" text or author: {receipt.inbound}. Nothing was stored. Give each message an id of its own."
        )
        raise Problem(409, "message-id-reused", detail)
    if receipt.reason is Reason.EMPTY_MESSAGE:
        raise Problem(422, "empty-message", "The message has neither text nor media.", reason=receipt.reason)
    if receipt.reason is Reason.BAD_ENVELOPE:
        raise Problem(422, "bad-message", f"The message cannot be stored: {receipt.detail}.", reason=receipt.reason)
    if receipt.reason is Reason.UNDECIDABLE:
        detail = f"Deciding on the message failed, and nothing was stored: {receipt.detail}"
        raise Problem(500, "undecidable", detail, reason=receipt.reason)
    return receipt
