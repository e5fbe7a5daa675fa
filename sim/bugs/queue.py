"""Defects of the queue: what is never picked up, what comes too early, too late, too often or in the wrong order."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.policy import (
    AttemptOutcome,
    DeliveryDecision,
    NextStep,
    RecoveryAction,
    RecoveryDecision,
    after_attempt,
)
from trunkline.core.delivery.states import DeliveryEvent
from trunkline.core.events import Body, EventSink
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.runtime.context import Queued
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.store import SqliteStore
from trunkline.core.store.records import IntentRow, OpenIntent, Unfinished
from trunkline.core.store.sqlite.lease import Claim
from trunkline.core.values import IntentState
from trunkline.sim.bugs.base import Bug, deciding, making
from trunkline.sim.bugs.store import keeping
from trunkline.sim.bugs.wrappers import DeafSink
from trunkline.sim.run.wiring import Wiring

T = TypeVar("T")
_Lane = tuple[str, str, str, str]
#: longer than any run
_NEVER = 1e6
#: seconds that a recovery at the start takes, whatever there is to do
_BUDGET = 60.0


def _timeout_is_the_end(outcome: AttemptOutcome, *, now: float, **known: Any) -> DeliveryDecision:
    """A timeout is not retried; that more chunks follow is not looked at."""
    if not outcome.ambiguous:
        return after_attempt(outcome, now=now, **known)
    return DeliveryDecision(next=NextStep.RETRY, event=DeliveryEvent.DEFER, reason=outcome.reason, at=now + _NEVER)


class ColdQueueStore(SqliteStore):
    """What the tool says is stored, and nobody is told: the queue is read at the start."""

    async def enqueue(
        self, intent: IntentRow, now: float, story: Callable[[bool], T], *, then: Callable[[T], None] | None = None
    ) -> T:
        """Without waking anybody."""
        del then
        return await super().enqueue(intent, now, story)


class ImpatientStore(SqliteStore):
    """Reads what an earlier process left, and stops at the first entry that has to wait longer than it may take."""

    _now = 0.0

    async def claim(self, now: float, lasts: float) -> Claim:
        """As usual; it is the time of the start."""
        self._now = now
        return await super().claim(now, lasts)

    async def open_intents(self, after: int, limit: int) -> tuple[OpenIntent, ...]:
        """Those before it."""
        found = await super().open_intents(after, limit)
        late = await self._rows("SELECT min(n) FROM intents WHERE next_at > ?", self._now + _BUDGET)
        first = late[0][0]
        return tuple(one for one in found if first is None or one.n < first)


class RollbackStore(SqliteStore):
    """A process that is killed after its work was done is taken for one that failed: the last message is new again."""

    async def unfinished(self) -> Unfinished:
        """After the cursor was set back."""
        await self._writer.write(_roll_back, lambda _: None)
        return await super().unfinished()


def _roll_back(c: sqlite3.Connection) -> None:
    last = c.execute("SELECT id FROM inbox WHERE state = 'done' ORDER BY n DESC LIMIT 1").fetchone()
    if last is not None:
        c.execute("DELETE FROM intents WHERE inbound_id = ?", last)
        c.execute("DELETE FROM transcript WHERE ref LIKE ? || '.%'", last)
        c.execute("UPDATE inbox SET state = 'pending' WHERE id = ?", last)


def replay_uncounted(_left: Any, **_: Any) -> RecoveryDecision:
    """Whatever is found at the start was not sent, and is as young as on its first day."""
    return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED)


class _EachByItself(Delivery):
    """Each message is a task of its own."""

    def _put(self, lane: _Lane, item: Queued) -> None:
        super()._put((*lane, item.id), item)  # pyright: ignore[reportArgumentType] -- a queue of its own is the defect


class _ToolsApart(Delivery):
    """What the tool says goes by another queue than answers."""

    def _put(self, lane: _Lane, item: Queued) -> None:
        kind = "tool" if ".send" in item.id else "reply"
        super()._put((*lane, kind), item)  # pyright: ignore[reportArgumentType] -- a queue of its own is the defect


def _delivering(delivery: type[Delivery]) -> Callable[[Wiring], None]:
    """An installer that has messages delivered like this."""

    class Delivering(Gateway):
        def __init__(self, **parts: Any) -> None:
            super().__init__(**parts)
            # Others hold it already, so it is changed in its place.
            self._delivery.__class__ = delivery

    return making(Delivering)


def _ageless(*, config: GatewayConfig, **parts: Any) -> Gateway:
    """Neither age nor pace is looked at."""
    delivery = config.delivery.model_copy(update={"max_age": _NEVER, "recovery_rate": None})
    return Gateway(config=config.model_copy(update={"delivery": delivery}), **parts)


class _SilentExpiry(DeafSink):
    """Swallows that something got too old."""

    def __init__(self, inner: EventSink) -> None:
        super().__init__(inner, (IntentSettled,))

    def swallows(self, body: Body) -> bool:
        """Only that."""
        return isinstance(body, IntentSettled) and body.state is IntentState.EXPIRED


def _install_silent_expiry(wiring: Wiring) -> None:
    before = wiring.wrap_events
    wiring.wrap_events = lambda sink: _SilentExpiry(before(sink))


QUEUE_BUGS = (
    Bug(
        name="cursor-rolls-back",
        reports=("B019",),
        sentence="A worker that is killed when it is idle failed: the message that it had answered is read again.",
        caught_by=("D1", "D7"),
        install=keeping(RollbackStore),
    ),
    Bug(
        name="timeout-drops-the-rest",
        reports=("B032",),
        sentence="A timeout is never retried, and the chunks after it are dropped with it, without a word.",
        caught_by=("D6", "L1"),
        install=deciding(after_attempt=_timeout_is_the_end),
    ),
    Bug(
        name="queue-runs-at-start-only",
        reports=("B034",),
        sentence="The queue is worked off when the process starts, and what comes later waits for the next start.",
        caught_by=("L6",),
        install=keeping(ColdQueueStore),
    ),
    Bug(
        name="parts-in-parallel",
        reports=("B098",),
        sentence="Each part of an answer is sent by a task of its own, and they arrive as they like.",
        caught_by=("O1",),
        install=_delivering(_EachByItself),
    ),
    Bug(
        name="tool-sends-bypass-the-queue",
        reports=("B099",),
        sentence="Tool sends and replies have queues of their own, and change places.",
        caught_by=("O1",),
        install=_delivering(_ToolsApart),
    ),
    Bug(
        name="long-backoff-stops-recovery",
        reports=("B103",),
        sentence="The recovery ends at the first entry whose backoff is longer than its budget.",
        caught_by=("L6",),
        install=keeping(ImpatientStore),
    ),
    Bug(
        name="no-age-at-recovery",
        reports=("B114",),
        sentence="A restart sends everything that is in the queue, however old, at once.",
        caught_by=("L5",),
        install=making(_ageless),
    ),
    Bug(
        name="expires-in-silence",
        reports=("B114",),
        sentence="What is too old to be sent disappears without an event.",
        caught_by=("L1", "V1"),
        install=_install_silent_expiry,
    ),
)
