"""Defects of doubt: attempts that may have been accepted, or were never made, and are taken for something else."""

from typing import Any

import msgspec

from trunkline.core.delivery.policy import AttemptOutcome, DeliveryDecision, after_attempt
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, RecoveryDecision, recover
from trunkline.core.env import Env
from trunkline.core.gateway import Gateway
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.interrupted import Interrupted
from trunkline.core.runtime.outbound.open_intents import QueuedIntent
from trunkline.core.values import Capabilities, Capability, Idempotency
from trunkline.sim.bugs.base import bug, deciding, gateway_part, making
from trunkline.sim.bugs.wiring import Wiring


@bug("key-judged-when-planned", deciding("before_attempt"), caught_by=("D1",))
def _never_again(**_: Any) -> None:
    """Whether the platform still knows a key is judged when a retry is planned, and not when it is made."""


class _Forgetful(Interrupted):
    def doubt(self, item: QueuedIntent, row: IntentRow) -> float | None:
        return None


@bug("doubt-forgotten-at-max-age", gateway_part("delivery_type"), caught_by=("L3",))
class _EndsInCertainty(Delivery):
    """What reaches the age limit while its adapter is missing has expired, though it may have been accepted."""

    def __init__(self, context: Context, **parts: Any) -> None:
        super().__init__(context, **parts)
        self._interrupted = _Forgetful(context)


@bug("waits-by-the-wall-clock", making("gateway"), caught_by=("L5",))
def _by_wall_clock(*, env: Env, **parts: Any) -> Gateway:
    """A process waits until the wall clock shows a time: who sets it makes retries come at once, or hours late."""
    return Gateway(env=Env(now=env.now, steady=env.now, ids=env.ids, seed=""), **parts)


@bug("counts-unmade-attempts", deciding("recover"), reports=("B110",), caught_by=("L4",))
def _count_each_start(left: InterruptedIntent, *, now: float, can: Capabilities, **known: Any) -> RecoveryDecision:
    """Each start counts an attempt for what may have been sent before it, and puts off the look-up that is due."""
    decision = recover(left, now=now, can=can, **known)
    if decision.action not in (RecoveryAction.RESEND, RecoveryAction.LOOKUP):
        return decision
    at = now + can.in_flight_seconds if decision.action is RecoveryAction.LOOKUP else decision.at
    return msgspec.structs.replace(decision, counts=True, at=at)


@bug("notice-repeated-for-ever", caught_by=("D1",))
def _install_repeats_notices(wiring: Wiring) -> None:
    """A notice in doubt is sent again as often as any message with a key, so a person reads five copies."""

    def with_key(can: Capabilities) -> Capabilities:
        # Only of a notice that has been sent again the core says that its adapter can send no text.
        lasting = Capability.TEXT not in can.can and can.idempotency is Idempotency.NONE
        return msgspec.structs.replace(can, idempotency=Idempotency.KEY, key_seconds=None) if lasting else can

    def after(outcome: AttemptOutcome, *, can: Capabilities, **facts: Any) -> DeliveryDecision:
        return after_attempt(outcome, can=with_key(can), **facts)

    def again(intent: InterruptedIntent, *, can: Capabilities, **facts: Any) -> RecoveryDecision:
        return recover(intent, can=with_key(can), **facts)

    wiring.replace(after_attempt=after, recover=again)
