"""Decides whether a task may be delegated: all refusals are made here, before any work starts."""

import math
from collections.abc import Sequence

import msgspec

from trunkline.core.config import HandsConfig
from trunkline.core.errors import DelegationRefused
from trunkline.core.hands.port import DelegationRequest
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind

#: a name for a delegation, not a text
LONGEST_LABEL = 200


class AdmissionFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The facts for judging a request to delegate, in addition to the request."""

    #: the agent that asks
    agent: str
    #: what works under the name of the hand; none: nothing
    kind: HandKind | None
    #: every hand that the agent may use
    known: Sequence[str] = ()
    #: how many delegations stand above the turn
    depth: int = 0
    #: open delegations of the session, and of the gateway
    in_session: int = 0
    in_all: int = 0
    #: how many turns lead to the turn from the last message of a person, and whether that is as many as there may be
    chain: int = 0
    chain_over: bool = False
    #: the turn has a place, to which the answer goes
    has_place: bool = True
    #: the turn works on a delegation itself: the result goes to that work
    serves: bool = False
    #: and that delegation has ended
    over: bool = False


def admit_delegation(asked: DelegationRequest, facts: AdmissionFacts, config: HandsConfig) -> DelegationRefused | None:
    """The refusal of a task, with its reason and what helps; None for an allowed task."""
    try:
        _check(asked, facts, config)
    except DelegationRefused as error:
        return error
    return None


def _check(asked: DelegationRequest, facts: AdmissionFacts, config: HandsConfig) -> None:
    _check_hand(asked, facts, config)
    _check_request(asked, config)
    _check_place(asked, facts)
    if facts.over:
        raise DelegationRefused("the task that this turn works on has ended", Reason.PARENT_ENDED)
    limits = config.limits
    if facts.depth + 1 > limits.depth:
        detail = f"{facts.depth} delegations stand above this turn already, and hands.limits.depth is {limits.depth}"
        raise DelegationRefused(detail, Reason.DEPTH_EXCEEDED)
    if facts.chain_over:
        detail = f"{facts.chain} turns have followed each other without a message of a person: answer without a hand"
        raise DelegationRefused(detail, Reason.CHAIN_EXCEEDED)
    if facts.in_session >= limits.open_per_session:
        detail = f"this session has {facts.in_session} open delegations; wait for one, or cancel one"
        raise DelegationRefused(detail, Reason.SESSION_CAP)
    if facts.in_all >= limits.open:
        raise DelegationRefused(f"the gateway has {facts.in_all} open delegations; try again later", Reason.GATEWAY_CAP)


def _check_hand(asked: DelegationRequest, facts: AdmissionFacts, config: HandsConfig) -> None:
    there = f"there are: {', '.join(facts.known)}" if facts.known else "this agent has none"
    if asked.hand == facts.agent:
        raise DelegationRefused(f"{asked.hand} cannot delegate to itself; {there}", Reason.SELF_DELEGATION)
    if facts.kind is None:
        raise DelegationRefused(f"no hand {asked.hand!r}; {there}", Reason.UNKNOWN_HAND)
    callers = config.of(asked.hand).callers
    if callers is not None and facts.agent not in callers:
        detail = f"{facts.agent} may not use {asked.hand} (hands.each.{asked.hand}.callers); {there}"
        raise DelegationRefused(detail, Reason.HAND_NOT_ALLOWED)


def _check_request(asked: DelegationRequest, config: HandsConfig) -> None:
    if not asked.task.strip():
        raise DelegationRefused("the task is empty; say what is to be done", Reason.BAD_ARGUMENT)
    longest = config.limits.max_task
    if len(asked.task) > longest:
        detail = f"the task has {len(asked.task)} characters, and hands.limits.max_task is {longest}; shorten it"
        raise DelegationRefused(detail, Reason.TEXT_TOO_LONG)
    seconds = asked.timeout
    if seconds is not None and not (0 < seconds < math.inf):
        detail = f"timeout is {seconds!r}; give a number of seconds above 0, or none"
        raise DelegationRefused(detail, Reason.BAD_ARGUMENT)
    if len(asked.label) > LONGEST_LABEL:
        detail = f"label has {len(asked.label)} characters, and may have {LONGEST_LABEL}"
        raise DelegationRefused(detail, Reason.BAD_ARGUMENT)


def _check_place(asked: DelegationRequest, facts: AdmissionFacts) -> None:
    if asked.reply_to is not None and (facts.has_place or facts.serves):
        where = "the place of this turn" if facts.has_place else "the task that this turn works on"
        raise DelegationRefused(f"reply_to cannot be chosen: the result goes to {where}", Reason.BAD_ARGUMENT)
    if asked.reply_to is None and not facts.has_place and not facts.serves:
        detail = "the turn has no place, so the result could go nowhere; name one with reply_to"
        raise DelegationRefused(detail, Reason.NO_ORIGIN)
