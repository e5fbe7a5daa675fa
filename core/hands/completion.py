"""Who is told of a hand's result, and how: the destination is decided here, apart from the content (seed 002, 004).

By default the result becomes one turn of the requester's agent, in the requester's session, whose answer goes to the
origin that was frozen when the agent delegated. It is told by exactly one path (invariant D2).
"""

from __future__ import annotations

import msgspec

from core.config import HandsConfig
from core.events.bodies import CompletionStep
from core.reasons import Reason
from core.values import Address, DelegationId, HandResult

TURN = "turn"
DIRECT = "direct"


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """A hand that has just ended: what the decision may look at."""

    delegation: DelegationId
    hand: str
    agent: str
    session_key: str
    #: frozen at the tool call
    origin: Address | None
    result: HandResult
    #: a turn of the requester's session is running
    requester_busy: bool
    #: that session was reset since: it is not the one that delegated any more (S5)
    requester_replaced: bool = False


class CompletionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps by which a result is told."""

    steps: tuple[CompletionStep, ...]


def plan_completion(done: Completed, config: HandsConfig) -> CompletionPlan:
    """Decide how a result is told. A busy requester changes nothing: its turns run one after another.

    A result that comes after its session was reset starts no turn in the new one. Its origin gets it as it is, once.
    """
    if done.requester_replaced:
        step = CompletionStep(mode=DIRECT, reason=Reason.REQUESTER_REPLACED, address=done.origin)
    elif config.announce == DIRECT and done.origin is not None:
        step = CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.origin)
    else:
        step = CompletionStep(mode=TURN, reason=Reason.CALLBACK_TURN, address=done.origin)
    return CompletionPlan(steps=(step,))
