"""Inbound messages over HTTP: taken durably, answered with what they caused."""

from __future__ import annotations

import msgspec

from trunkline.core.http.chat.answers import ReceivedAnswer, answer_of, later_answer
from trunkline.core.http.chat.bodies import USUAL_WAIT, InboundBody, Seconds, envelope_of, mailbox_of
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.problems import Problem
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import InboundReceipt, InboundStatus
from trunkline.core.store.mailbox import FindInbound
from trunkline.core.values import Envelope, InboundId


class OutcomeQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to wait until nothing more can come of a message, in seconds."""

    wait: Seconds = 0


@Endpoint("POST", "/v1/chat/inbound", Scope.SEND, body=InboundBody, answer=ReceivedAnswer, problems=(404, 409, 422))
async def post_inbound(call: Call) -> ReceivedAnswer:
    """Hand over a message that a person wrote, and get what it caused.

    Take a message; with `wait`, until nothing more can come of it.
    """
    body: InboundBody = call.body
    served = call.served
    mailbox_of(served.gateway, body.channel, body.account)
    envelope = envelope_of(body, served.env.now())
    seconds = _seconds(body.wait)
    inbound = InboundId(served.env.ids.new("inbound", *envelope.address.lane, body.message_id))
    if not seconds:
        receipt = await _receive(call, envelope, inbound)
        first = receipt.status is InboundStatus.DUPLICATE and receipt.inbound is not None
        return answer_of(
            receipt, await served.outcomes.read_outcome(receipt.inbound) if first and receipt.inbound else None
        )
    with served.outcomes.watching(inbound, call.disconnect) as watch:
        receipt = await _receive(call, envelope, inbound)
        if receipt.status is InboundStatus.ADMITTED:
            return answer_of(receipt, await served.outcomes.wait(inbound, watch, seconds, before=False))
    if receipt.inbound is None:
        return answer_of(receipt, None)
    with served.outcomes.watching(receipt.inbound, call.disconnect) as watch:
        return answer_of(receipt, await served.outcomes.wait(receipt.inbound, watch, seconds, before=True))


@Endpoint(
    "GET",
    "/v1/chat/inbound/{inbound}",
    Scope.SEND,
    summary="What has an inbound message caused so far?",
    query=OutcomeQuery,
    answer=ReceivedAnswer,
    problems=(404, 422),
)
async def show_inbound(call: Call) -> ReceivedAnswer:
    """What a message has caused so far; with `wait`, until nothing more can come."""
    inbound, served, query = InboundId(call.path["inbound"]), call.served, call.query
    if query.wait:
        with served.outcomes.watching(inbound, call.disconnect) as watch:
            outcome = await served.outcomes.wait(inbound, watch, query.wait, before=True)
    else:
        outcome = await served.outcomes.read_outcome(inbound)
    stored = await served.store.read(FindInbound(inbound=inbound))
    if outcome is None or stored is None:
        detail = f"There is no inbound message {inbound!r}, or it is no longer kept."
        raise Problem(404, "unknown-inbound", detail)
    return later_answer(stored, outcome)


def _seconds(wait: bool | float) -> float:
    if wait is True:
        return USUAL_WAIT
    return float(wait)


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


ENDPOINTS: tuple[Endpoint, ...] = (post_inbound, show_inbound)
