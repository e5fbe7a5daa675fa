"""Agents: wake them, or ask for a heartbeat."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.declared import filled
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.problems import Problem
from trunkline.core.records.inbound import InboundStatus
from trunkline.core.values import InboundId, SessionId


class WakeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the turn hears."""

    text: Annotated[str, Meta(min_length=1, max_length=100_000)]
    #: idempotency key: one turn, however often it comes; without it, each request starts a turn
    key: Annotated[str, Meta(min_length=1, max_length=500)] | None = None


class HeartbeatBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the heartbeat is wanted."""

    reason: Annotated[str, Meta(min_length=1, max_length=200)] = "manual"


class Woken(msgspec.Struct, frozen=True, kw_only=True):
    """The turn that was started, by this request or by the first one with its key."""

    agent: str
    #: what it caused is asked for with this id, as of an inbound message; none: it is no longer kept
    inbound: InboundId | None
    session_key: str
    session_id: SessionId | None
    #: the key came before
    duplicate: bool


class AgentAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The agent whose heartbeat was asked for."""

    agent: str


@Endpoint(
    "POST", "/v1/agents/{agent}/wake", Scope.OPERATE, body=WakeBody, answer=Woken, status=202, problems=(404, 409)
)
async def wake(call: Call) -> Woken:
    """Start a turn of an agent without a message, once per key. It is stored when this answers.

    Start a turn without a message; its answer has no place to go to.
    """
    agent, body = call.served.gateway.config.known_agent(call.path["agent"]), call.body
    receipt = await call.served.gateway.wake(agent, body.text, key=body.key)
    if receipt.differs:
        detail = f"The key {body.key!r} is that of another wake-up, {receipt.inbound}. Nothing was stored."
        raise Problem(409, "key-reused", detail)
    return filled(Woken, receipt, agent=agent, duplicate=receipt.status is InboundStatus.DUPLICATE)


@Endpoint(
    "POST",
    "/v1/agents/{agent}/heartbeat",
    Scope.OPERATE,
    body=HeartbeatBody,
    answer=AgentAsked,
    status=202,
    problems=(404,),
)
async def heartbeat(call: Call) -> AgentAsked:
    """Ask for a heartbeat of an agent.

    Ask for a heartbeat, which the agent's guards may still skip.
    """
    agent, body = call.served.gateway.config.known_agent(call.path["agent"]), call.body
    await call.served.gateway.wake_heartbeat(agent, body.reason)
    return AgentAsked(agent=agent)
