"""Defects of doubt: attempts that may have been accepted, or were never made, and are taken for something else."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, RecoveryDecision, recover
from trunkline.core.env import Env
from trunkline.core.gateway import Gateway
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.interrupted import Interrupted
from trunkline.core.runtime.outbound.open_intents import QueuedIntent
from trunkline.core.values import Capabilities
from trunkline.sim.bugs.base import bug, deciding, gateway_part, making


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


@bug("counts-unmade-attempts", deciding("recover"), caught_by=("L4",))
def _count_each_start(left: InterruptedIntent, *, now: float, can: Capabilities, **known: Any) -> RecoveryDecision:
    """Each start counts an attempt for what may have been sent before it, and puts off the look-up that is due."""
    decision = recover(left, now=now, can=can, **known)
    if decision.action not in (RecoveryAction.RESEND, RecoveryAction.LOOKUP):
        return decision
    at = now + can.in_flight_seconds if decision.action is RecoveryAction.LOOKUP else decision.at
    return msgspec.structs.replace(decision, counts=True, at=at)
