"""Defects of the queue: intents that are sent never, too early, too late, too often, or in the wrong order."""

import sqlite3
from typing import Any, TypeVar

import msgspec

from trunkline.core.config import DeliveryConfig, GatewayConfig
from trunkline.core.delivery.policy import AttemptOutcome, DeliveryDecision, NextStep, after_attempt
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, RecoveryDecision, recover
from trunkline.core.events import Body, delivery
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Unfinished
from trunkline.core.runtime.outbound.open_intents import IntentLane, OpenIntents, QueuedIntent
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import Enqueue
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListOpenIntents, LoadUnfinished, Read
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import IntentState
from trunkline.sim.bugs.base import bug, configured, deciding, gateway_part, making, replacing_read, replacing_write
from trunkline.sim.bugs.wrappers import swallowing
from trunkline.sim.store.rewired import RewiredStore

A = TypeVar("A")
#: longer than any run
_NEVER = 1e6
#: seconds that a recovery at the start may take
_BUDGET = 60.0


@bug("cursor-rolls-back", replacing_read(LoadUnfinished), reports=("B019",), caught_by=("D1", "D7"))
async def _load_after_rollback(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """A worker that is killed while idle counts as failed: the message it had answered is read again."""
    await store.inner.write(RunSql(op=_roll_back), answer)
    return await store.inner.read(query)


@bug("timeout-drops-the-rest", deciding("after_attempt"), reports=("B032",), caught_by=("L1",))
def _timeout_is_the_end(outcome: AttemptOutcome, *, now: float, **known: Any) -> DeliveryDecision:
    """A timeout is never retried, and the chunks after it are silently dropped with it."""
    if not outcome.ambiguous:
        return after_attempt(outcome, now=now, **known)
    return DeliveryDecision(next=NextStep.RETRY, event=DeliveryEvent.DEFER, reason=outcome.reason, at=now + _NEVER)


@bug("closed-is-gone", deciding("after_attempt"), caught_by=("L5",))
def _closed_is_gone(outcome: AttemptOutcome, **known: Any) -> DeliveryDecision:
    """A topic that is closed for a while counts as deleted: what is for it is given up at the first refusal."""
    if outcome.reason is Reason.PLACE_CLOSED:
        outcome = msgspec.structs.replace(outcome, reason=Reason.PLACE_GONE, retryable=False)
    return after_attempt(outcome, **known)


@bug("interruptions-have-no-limit", deciding("recover"), caught_by=("L5",))
def _recover_for_ever(intent: InterruptedIntent, *, config: DeliveryConfig, **known: Any) -> RecoveryDecision:
    """An attempt that the death of its process interrupted never counts, so a message that kills its sender stays."""
    return recover(intent, config=config.model_copy(update={"max_interrupted": intent.attempts}), **known)


@bug("queue-runs-at-start-only", replacing_write(Enqueue), reports=("B034",), caught_by=("L6",))
async def _enqueue_silently(store: RewiredStore, command: Enqueue, story: Any, then: Any) -> Any:
    """The queue is processed when the process starts, and later messages wait for the next start."""
    return await store.inner.write(command, story)


@bug("parts-in-parallel", gateway_part("intents_type"), reports=("B098",), caught_by=("O1",))
class _EachByItself(OpenIntents):
    """Each part of an answer is sent by its own task, and they arrive in any order."""

    def put_in_lane(self, lane: IntentLane, item: QueuedIntent) -> None:
        super().put_in_lane((*lane, item.id), item)  # pyright: ignore[reportArgumentType] -- a queue of its own is the defect


@bug("tool-sends-bypass-the-queue", gateway_part("intents_type"), reports=("B099",), caught_by=("O1",))
class _ToolsApart(OpenIntents):
    """Tool sends and replies have separate queues, and overtake each other."""

    def put_in_lane(self, lane: IntentLane, item: QueuedIntent) -> None:
        kind = "tool" if ".send" in item.id else "reply"
        super().put_in_lane((*lane, kind), item)  # pyright: ignore[reportArgumentType] -- a queue of its own is the defect


@bug("notice-waits-for-room", making("gateway"), caught_by=("L1", "L6"))
class _PoliteEnds(Gateway):
    """The notice of an end waits for the room that this end would free: with a full queue, everything stands still."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._preparer.prepare_notice = self._preparer.prepare


def _roll_back(c: sqlite3.Connection) -> None:
    last = c.execute("SELECT id FROM inbox WHERE state = 'done' ORDER BY n DESC LIMIT 1").fetchone()
    if last is not None:
        c.execute("DELETE FROM intents WHERE inbound_id = ?", last)
        c.execute("DELETE FROM transcript WHERE ref LIKE ? || '.%'", last)
        c.execute("UPDATE inbox SET state = 'pending' WHERE id = ?", last)


def replay_uncounted(_left: Any, **_: Any) -> RecoveryDecision:
    """Send every intent that is found at the start, whatever its age and its attempts."""
    return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED)


def send_unjudged(**_: Any) -> None:
    """Send every chunk, whatever its age and that of its key."""


@bug("long-backoff-stops-recovery", making("store"), reports=("B103",), caught_by=("L6",))
class ImpatientStore(SqliteStore):
    """The recovery ends at the first entry whose backoff is longer than its budget."""

    _now = 0.0

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """As usual; this is the time of the start."""
        self._now = now
        return await super().claim(now, lasts)

    async def read(self, query: Read[A]) -> A:
        """List only the open intents in front of the one that waits."""
        found: Any = await super().read(query)
        if not isinstance(query, ListOpenIntents):
            return found
        sql, late = "SELECT min(n) FROM intents WHERE next_at > ?", self._now + _BUDGET
        (first,) = await super().read(ReadSql(op=lambda c: c.execute(sql, (late,)).fetchone()))
        intents: Any = tuple(intent for intent in found if first is None or intent.n < first)
        return intents


@bug("no-age-at-recovery", configured, reports=("B114",), caught_by=("L5",))
def _ageless(config: GatewayConfig) -> dict[str, Any]:
    """A restart sends everything that is in the queue, however old, at once."""
    return {"delivery": config.delivery.model_copy(update={"max_age": _NEVER, "recovery_rate": None})}


@bug("expires-in-silence", swallowing, reports=("B114",), caught_by=("L1", "V1"))
def _expiry(body: Body) -> bool:
    """What is too old to be sent disappears without an event."""
    return isinstance(body, delivery.IntentSettled) and body.state is IntentState.EXPIRED
