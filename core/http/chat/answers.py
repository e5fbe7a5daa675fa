"""Outcomes of inbound messages, as the API answers them."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from trunkline.core.decisions import BOUND_TIER
from trunkline.core.delivery.mirror_text import said
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import InboundReceipt, InboundStatus, RouteNote
from trunkline.core.store.mailbox import CausedMessage, DueDelegation, Outcome, StoredInbound
from trunkline.core.values import Address, InboundId, IntentId, IntentKind, IntentState, Peer, Poll, Receipt, SessionId


class RouteAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a message went to its agent and session."""

    #: the tier that decided, e.g. ``binding.peer``, or ``default``
    matched_by: str
    #: the route rule or session binding that decided; none: no rule matched
    rule: str | None = None
    #: who shares the session, e.g. ``per-account-channel-peer``
    scope: str = ""
    #: number of the deciding configuration
    revision: int = 1
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
    """The answer to an inbound message."""
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


def later_answer(stored: StoredInbound, outcome: Outcome) -> ReceivedAnswer:
    """The answer to a client that asks again by the id."""
    receipt = InboundReceipt(
        status=InboundStatus.ADMITTED,
        inbound=stored.work.id,
        agent=stored.work.agent,
        session_key=stored.work.session_key,
        session_id=stored.session,
        route=stored.work.route,
    )
    return answer_of(receipt, outcome)


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
    return RouteAnswer(
        matched_by=note.matched_by,
        rule=note.rule,
        scope=note.scope,
        revision=note.revision,
        reason=reason,
        detail=detail,
    )


def _why(note: RouteNote) -> tuple[Reason, str]:
    if note.rule is None:
        return Reason.DEFAULT_AGENT, "no route rule matched, so it went to the default agent"
    if note.matched_by == BOUND_TIER:
        return Reason.BOUND_SESSION, f"the conversation is bound to the session by {note.rule}"
    return Reason.MATCHED, f"the route rule {note.rule} matched, in the tier {note.matched_by}"


def _payload(message: CausedMessage) -> OutboundPayload:
    content, extra = message.content, message.extra
    chunks = content.chunks
    return OutboundPayload(
        intent_id=message.intent,
        kind=message.kind,
        state=message.state,
        reason=message.reason,
        address=message.address,
        text=said(chunks),
        chunks=chunks if len(chunks) > 1 else (),
        media=content.media,
        reply_to=content.reply_to,
        poll=content.poll,
        payload=content.payload,
        parts=extra.parts,
        action="" if extra.action is None else extra.action.action.value,
        recipient=extra.recipient,
        receipts=message.receipts,
    )
