"""Defects of the queue: intents sent never, too late, too often or while in doubt, and what is stored of a delivery."""

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import DeliveryConfig, GatewayConfig
from trunkline.core.delivery.notes import AGAIN_SUFFIX
from trunkline.core.delivery.policy import AttemptFacts, AttemptOutcome, DeliveryDecision, NextStep, after_attempt
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, RecoveryDecision, recover
from trunkline.core.env import Env
from trunkline.core.errors import Refused
from trunkline.core.events import Body, delivery
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, SessionRow, Settlement, Unfinished
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.interrupted import Interrupted
from trunkline.core.runtime.outbound.open_intents import IntentLane, OpenIntents, QueuedIntent
from trunkline.core.sends.api import Broadcasted, SendMessage, SendOutcome, SendStatus, Target
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk, EndIntent, Enqueue, FinishTurn, LoseChunk
from trunkline.core.store.delegations import FinishDelegation
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.port import answer
from trunkline.core.store.queries import FindSession, ListOpenIntents, LoadUnfinished, Read, ReadTranscript
from trunkline.core.store.sqlite.connection import PendingWrite
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import (
    Capabilities,
    Capability,
    DeliveryMode,
    Idempotency,
    IntentId,
    IntentState,
    Receipt,
    SendRequest,
    Transport,
)
from trunkline.sim.bugs.base import (
    bug,
    changing_write,
    configured,
    deciding,
    gateway_part,
    making,
    replacing_read,
    replacing_write,
)
from trunkline.sim.bugs.wiring import Wiring
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


@bug("notice-not-repeated", replacing_write(Enqueue), caught_by=("W1",))
async def _say_once(store: RewiredStore, command: Enqueue, story: Any, then: Any) -> Any:
    """A notice that nobody has read is never repeated, so its reader waits for an answer that is lost."""
    repeated = command.intent.id.endswith(AGAIN_SUFFIX)
    return None if repeated else await store.inner.write(command, story, then)


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


@bug("recovery-resends-blindly", deciding("recover"), reports=("B108",), caught_by=("D4",))
def replay_uncounted(_left: Any, **_: Any) -> RecoveryDecision:
    """An entry that was accepted but not acked before a crash is indistinguishable from an unsent one."""
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


@bug("doubt-falls-back", deciding("after_attempt"), reports=("B008",), caught_by=("D1", "D4"))
def _fall_back_in_doubt(
    outcome: AttemptOutcome, *, tried: AttemptFacts, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """A direct send whose answer was lost is repeated by the gateway path, as if it had never arrived."""
    if outcome.ambiguous and can.mode is DeliveryMode.HYBRID and tried.transport is Transport.DIRECT:
        return DeliveryDecision(next=NextStep.FALLBACK, event=DeliveryEvent.DEFER, reason=Reason.GATEWAY_PATH, at=now)
    return after_attempt(outcome, tried=tried, now=now, can=can, config=config)


class _Unresolved:
    """Stands in for an adapter that could not be loaded, and refuses whatever is sent."""

    capabilities = Capabilities()

    def __init__(self, channel: str, account: str) -> None:
        self.channel = channel
        self.account = account

    async def send(self, _request: SendRequest) -> Receipt:
        """Refuse for good, like a platform."""
        raise Refused(f"no adapter for {self.channel}:{self.account}")


class _Resolving(dict[tuple[str, str], ChannelAdapter]):
    """Adapters by channel and account, with a stand-in for missing ones."""

    def get(self, key: tuple[str, str], default: Any = None) -> ChannelAdapter:
        return self[key] if key in self else cast("ChannelAdapter", _Unresolved(*key))


@bug("missing-adapter-is-final", making("gateway"), reports=("B026",), caught_by=("L4",))
class ResolvingGateway(Gateway):
    """Messages whose adapter is missing are refused for good, as if their platform had refused them."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._ctx.adapters = _Resolving(self._ctx.adapters)


@bug("refused-mirror-is-logged", changing_write(AckChunk), reports=("B060",), caught_by=("M1",))
def _forget_refused_mirror(command: AckChunk) -> AckChunk:
    """When the transcript of another session refuses a line, that is logged, and the line never comes."""
    return msgspec.structs.replace(command, mirror_due=False)


@bug("dry-run-sends", making("gateway"), reports=("B152",), caught_by=("P2",))
class UnforwardedGateway(Gateway):
    """The flag of a dry run is not passed on, so the message is sent."""

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Send without the flag."""
        return await super().send(msgspec.structs.replace(message, dry_run=False), cause)

    async def broadcast(
        self, message: SendMessage, targets: Sequence[Target], cause: int | None = None
    ) -> tuple[Broadcasted, ...]:
        """Send without the flag."""
        return await super().broadcast(msgspec.structs.replace(message, dry_run=False), targets, cause)


@bug("dry-run-says-delivered", making("gateway"), reports=("B153",), caught_by=("L3",))
class CheerfulGateway(Gateway):
    """A client gets the answer of a delivery for a dry run."""

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Report success."""
        return _cheerful(await super().send(message, cause))

    async def broadcast(
        self, message: SendMessage, targets: Sequence[Target], cause: int | None = None
    ) -> tuple[Broadcasted, ...]:
        """Report success."""
        results = await super().broadcast(message, targets, cause)
        return tuple(
            result if result.outcome is None else msgspec.structs.replace(result, outcome=_cheerful(result.outcome))
            for result in results
        )


def _cheerful(outcome: SendOutcome) -> SendOutcome:
    """The outcome as delivered: `failed` is never set."""
    failed = getattr(outcome, "failed", False)
    return outcome if failed else msgspec.structs.replace(outcome, status=SendStatus.DELIVERED)


@bug("cancelled-is-not-told", making("gateway"), reports=("B155",), caught_by=("V1",))
class QuietGateway(Gateway):
    """Outcome hooks are not notified of a message that another hook has cancelled."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        notify = self._hooks.notify_soon

        def notify_unless_cancelled(
            row: IntentRow, reason: Reason, receipts: tuple[Receipt, ...], cause: int | None, *, stored: bool = True
        ) -> None:
            if not row.is_cancelled:
                notify(row, reason, receipts, cause, stored=stored)

        self._hooks.notify_soon = notify_unless_cancelled


class _CarelessWriter(Writer):
    """Gives up a receipt that the disk refuses, without an event."""

    async def _commit(self, writes: list[PendingWrite]) -> list[Any]:
        if not all(isinstance(write.command, AckChunk) and write.failed is not None for write in writes):
            return await super()._commit(writes)
        try:
            return await self._db.transact(writes)
        except sqlite3.OperationalError:
            return [0] * len(writes)


class CarelessStore(SqliteStore):
    """Stores receipts when that is no trouble."""

    def _make_writer(self) -> Writer:
        return _CarelessWriter(self._db, self._events)


@bug("late-failure-ignored", replacing_write(LoseChunk), caught_by=("L7",))
async def _keep_delivered(_store: RewiredStore, _command: LoseChunk, story: Any, _then: Any) -> Any:
    """A message that its platform takes back after the receipt stays delivered."""
    return story(None)


@bug("two-writers", replacing_write(FinishTurn), reports=("B063",), caught_by=("M1",))
async def _finish_and_remember(store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
    """The turn and the delivery both write the answer into the transcript, without a common key."""
    answer = await store.inner.write(command, story, then)
    session = await store.inner.read(FindSession(key=command.work.session_key))
    for intent in command.intents if session is not None else ():
        assert session is not None
        await _remember(store, session, intent.content.text, intent.id, command.now)
    return answer


@bug("wake-mirrors-again", replacing_write(FinishDelegation), reports=("B064",), caught_by=("M2",))
async def _callback_remembers_again(store: RewiredStore, command: FinishDelegation, story: Any, then: Any) -> Any:
    """A context that is rebuilt is taken for a delivery: the old answer is remembered as a new one."""
    answer = await store.inner.write(command, story, then)
    callback = command.callback
    session = None if callback is None else await store.inner.read(FindSession(key=callback.work.session_key))
    if session is not None:
        lines = await store.inner.read(ReadTranscript(session=session.id))
        answers = [line for line in lines if line.role == "assistant"]
        if answers:
            await _remember(store, session, answers[-1].text, IntentId(answers[-1].ref), command.now)
    return answer


async def _remember(store: RewiredStore, session: SessionRow, text: str, intent: IntentId, now: float) -> None:
    body = MirrorAppended(session_id=session.id, session_key=session.key, text=text)
    await store.inner.write(
        RunSql(op=lambda c: append(c, session.id, "assistant", text, f"{intent}/again", now)),
        lambda _: store.events.record(body, intent=intent),
    )


@bug("whole-text-remembered", replacing_write(EndIntent), reports=("B066",), caught_by=("M2",))
async def _end_with_whole_text(store: RewiredStore, command: EndIntent, story: Any, then: Any) -> Any:
    """The transcript has the whole text, though the platform refused a part of it."""
    intent = command.intent
    whole = intent.content.text

    def with_whole_text(settled: Settlement) -> Any:
        return story(msgspec.structs.replace(settled, mirror_text=whole))

    answer = await store.inner.write(command, with_whole_text, then)
    await store.inner.write(
        RunSql(op=lambda c: c.execute("UPDATE transcript SET text = ? WHERE ref = ?", (whole, intent.id))),
        lambda _: None,
    )
    return answer


@bug("ack-failure-swallowed", reports=("B109",), caught_by=("D1", "L5", "V1"))
def _install_careless(wiring: Wiring) -> None:
    """A receipt that cannot be stored is given up in silence, and its message is sent at every start."""
    wiring.make_store = CarelessStore
    wiring.replace(recover=replay_uncounted, before_attempt=send_unjudged)


@bug("end-without-a-note", replacing_write(EndIntent), caught_by=("M2",))
async def _end_without_note(store: RewiredStore, command: EndIntent, story: Any, then: Any) -> Any:
    """What did not arrive is forgotten: the agent believes that it was said."""
    return await store.inner.write(msgspec.structs.replace(command, note=None, wake=None), story, then)
