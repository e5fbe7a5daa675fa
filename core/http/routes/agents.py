"""Agents: wake them, or ask for a heartbeat."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.errors import UnknownName
from trunkline.core.http.endpoint import Call, Endpoint, Scope

TAG = "Agents"


class WakeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the turn hears. Each request starts a turn: a request that is repeated starts another one."""

    text: Annotated[str, Meta(min_length=1, max_length=100_000)]


class HeartbeatBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the heartbeat is wanted."""

    reason: Annotated[str, Meta(min_length=1, max_length=200)] = "manual"


class AgentAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that was woken, or whose heartbeat was asked for."""

    agent: str


async def wake(call: Call) -> AgentAsked:
    """Start a turn without a message; its answer has no place to go to."""
    agent, body = _agent(call), call.body
    await call.served.gateway.wake(agent, body.text)
    return AgentAsked(agent=agent)


async def heartbeat(call: Call) -> AgentAsked:
    """Ask for a heartbeat, which the agent's guards may still skip."""
    agent, body = _agent(call), call.body
    await call.served.gateway.wake_heartbeat(agent, body.reason)
    return AgentAsked(agent=agent)


def _agent(call: Call) -> str:
    known = [one.id for one in call.served.gateway.config.agents]
    agent = call.path["agent"]
    if agent not in known:
        raise UnknownName(f"no agent {agent!r}; there are: {', '.join(known)}")
    return agent


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path="/v1/agents/{agent}/wake",
        scope=Scope.OPERATE,
        summary="Start a turn of an agent without a message. It is stored when this answers.",
        run=wake,
        body=WakeBody,
        answer=AgentAsked,
        status=202,
        problems=(404,),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/agents/{agent}/heartbeat",
        scope=Scope.OPERATE,
        summary="Ask for a heartbeat of an agent.",
        run=heartbeat,
        body=HeartbeatBody,
        answer=AgentAsked,
        status=202,
        problems=(404,),
        tag=TAG,
    ),
)
