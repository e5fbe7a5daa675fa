"""Defects of actions: changes that take effect again, and changes of another message than the one that was meant."""

from typing import Any

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.agent import Agent, Turn
from trunkline.core.delivery.policy import AttemptOutcome, DeliveryDecision, after_attempt
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryDecision, recover
from trunkline.core.message_tool.references import MessageReference
from trunkline.core.records.messages import KnownMessage
from trunkline.core.runtime.inbound.live_turn import LiveTurn
from trunkline.core.values import Address, Capabilities, Idempotency
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.turn_wrappers import taking_turns

#: more calls than a turn of a scenario makes
_CALLS = 100


@bug("change-repeated-at-once", deciding("after_attempt"), caught_by=("A1",))
def _repeat_at_once(outcome: AttemptOutcome, *, can: Capabilities, **known: Any) -> DeliveryDecision:
    """A change without an answer is repeated while its first request may still arrive, and undo the next change."""
    return after_attempt(outcome, can=msgspec.structs.replace(can, repeat_after=0.0), **known)


@bug("recovery-repeats-changes-at-once", deciding("recover"), caught_by=("A1",))
def _repeat_after_start(left: InterruptedIntent, *, can: Capabilities, **known: Any) -> RecoveryDecision:
    """A change that a crash interrupted is repeated at the start, while its first request may still arrive."""
    return recover(left, can=msgspec.structs.replace(can, repeat_after=0.0), **known)


@bug("creation-repeated", deciding("after_attempt"), caught_by=("A1", "D4"))
def _repeat_creation(outcome: AttemptOutcome, *, can: Capabilities, **known: Any) -> DeliveryDecision:
    """What cannot be done twice, such as opening a thread, is done again when its answer was lost."""
    keyed = can
    if can.idempotency is Idempotency.NONE:
        keyed = msgspec.structs.replace(can, idempotency=Idempotency.KEY)
    return after_attempt(outcome, can=keyed, **known)


@bug("calls-renamed-in-a-rerun", taking_turns, caught_by=("A1",))
async def _number_on(agent: Agent, turn: Turn) -> str | None:
    """A turn that runs again after a crash gives its calls new names, so what it did before is done again."""
    if isinstance(turn, LiveTurn) and turn.again:
        turn._calls += _CALLS  # pyright: ignore[reportPrivateUsage] -- the defect is in there
    return await agent.turn(turn)


@bug("message-ids-are-global", deciding("decide_reference"), caught_by=("A2",))
def _by_id_alone(_action: Action, name: str, place: Address, found: KnownMessage, **_: Any) -> MessageReference:
    """A message is looked up by its id alone, as if no two conversations had messages of one id."""
    ours = found.ours
    ids = [receipt.provider_id for receipt in ours.receipts] if ours is not None else []
    return MessageReference(address=place, message_id=ids[-1] if ids else name)
