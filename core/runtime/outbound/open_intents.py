"""The open intents of a process: in the lanes of their conversations, counted, and a window of them in memory."""

from collections.abc import Awaitable

import anyio
import msgspec

from trunkline.core.delivery.recovery import RecoveryAction
from trunkline.core.events.delivery import BacklogWaiting
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import BrokenIntent, IntentRow
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.live_bindings import Hold
from trunkline.core.runtime.outbound.hook_runner import HookRunner
from trunkline.core.states.intent import is_final
from trunkline.core.store.queries import LoadIntents, OpenIntent
from trunkline.core.values import Address, IntentId, Receipt

IntentLane = tuple[str, str, str, str]


class QueuedIntent(msgspec.Struct, frozen=True, kw_only=True):
    id: IntentId
    #: None: it is loaded when it reaches the head of its lane
    row: IntentRow | None
    #: seq of the event that queued it
    cause: int | None
    #: an earlier process left it open; recovery is decided when it reaches the head. `head`: it was the first open one
    left: bool = False
    head: bool = False
    #: it was left, and is to be sent at the rate of recovered messages; `has_slot`: it has its time already
    unpaced: bool = False
    has_slot: bool = False
    #: the first step at the head of the lane
    action: RecoveryAction = RecoveryAction.SEND
    #: why it ends, if recovery ends it
    ending: Reason | None = None
    #: the times below are on the steady clock; the row has those of the wall clock
    not_before: float | None = None
    #: when the intent was created; None: it is set when the row is loaded
    born: float | None = None
    #: when the first attempt left that may have been accepted unnoticed
    doubt: float | None = None
    #: it counts as an intent that is held in memory with its texts
    held: bool = False
    #: receipt, reason and event of the last chunk, which the platform accepted; the store refused it with `error`
    accepted: tuple[Receipt, Reason, int] | None = None
    error: Exception | None = None
    #: why it waits for its adapter; recorded once
    waiting: Reason | None = None
    #: the report that it belongs to may be parked, because it has waited
    parked: bool = False


class OpenIntents:
    """Queues intents, limits how many are open and how many of these are in memory, and says when one has ended."""

    def __init__(self, context: Context, hooks: HookRunner) -> None:
        self._ctx = context
        self.hooks = hooks
        self.lanes: Lanes[IntentLane, QueuedIntent] = Lanes(
            "delivery", workers=context.config.delivery.lanes, now=context.env.steady
        )
        #: number of open intents, in total and by conversation
        self.count = 0
        self.by_lane: dict[IntentLane, int] = {}
        #: number of intents held with their texts
        self.held = 0
        self._freed: anyio.Event | None = None
        #: intents whose texts are to be loaded, and those that are
        self._wanted: dict[IntentId, anyio.Event] = {}
        self._loaded: dict[IntentId, IntentRow | BrokenIntent | None] = {}
        self._loading = False
        #: events that are set when an intent has ended
        self._waiters: dict[IntentId, list[anyio.Event]] = {}
        #: holds of the bindings that intents belong to
        self._holds: dict[IntentId, Hold] = {}

    def enqueue(self, row: IntentRow, cause: int | None) -> None:
        """Queue a durable intent in the conversation; a cancelled intent is over."""
        if is_final(row.progress.state):
            self.finish(row, row.progress.reason or Reason.CANCELLED_BY_HOOK, (), cause)
            return
        self._hold_binding(row)
        held, born = self.held < self._ctx.config.delivery.window, self._ctx.env.steady_of(row.created_at)
        item = QueuedIntent(id=row.id, row=row if held else None, cause=cause, held=held, born=born)
        self.put_in_lane(row.address.lane, item)

    def enqueue_reopened(self, row: IntentRow, cause: int | None) -> None:
        self._hold_binding(row)
        self.put_in_lane(row.address.lane, QueuedIntent(id=row.id, row=None, cause=cause))

    def enqueue_left(self, intent: OpenIntent, cause: int, *, head: bool) -> None:
        """Queue an intent that an earlier process left open. `head`: the first one of its conversation."""
        self.put_in_lane(intent.address.lane, QueuedIntent(id=intent.id, row=None, cause=cause, left=True, head=head))

    def put_in_lane(self, lane: IntentLane, item: QueuedIntent) -> None:
        self.count += 1
        self.by_lane[lane] = self.by_lane.get(lane, 0) + 1
        self.held += item.held
        self.lanes.put(lane, item)

    def remove(self, lane: IntentLane, item: QueuedIntent) -> None:
        """Count an intent that is no longer open; its lane goes on by itself."""
        self.count -= 1
        left = self.by_lane[lane] - 1
        if left:
            self.by_lane[lane] = left
        else:
            del self.by_lane[lane]
        self.held -= item.held
        if self._freed is not None:
            self._freed.set()
            self._freed = None

    def sends_as(self, account: tuple[str, str]) -> bool:
        return any(lane[:2] == account for lane in self.by_lane)

    def room(self, address: Address) -> Awaitable[None] | None:
        """An awaitable until the conversation and the gateway are below their limits; None: they are."""
        lane = address.lane
        return None if self._full(lane) is None else self._wait_for_room(lane)

    async def _wait_for_room(self, lane: IntentLane) -> None:
        recorded = False
        while (full := self._full(lane)) is not None:
            if not recorded:
                recorded = True
                self._ctx.events.record(BacklogWaiting(open=full[0], limit=full[1]))
            if self._freed is None:
                self._freed = anyio.Event()
            await self._freed.wait()

    def _full(self, lane: IntentLane) -> tuple[int, int] | None:
        """The number of open intents and the reached limit; None: there is room."""
        limits = self._ctx.config.delivery
        if self.count >= limits.max_backlog:
            return self.count, limits.max_backlog
        here = self.by_lane.get(lane, 0)
        return (here, limits.max_backlog_per_conversation) if here >= limits.max_backlog_per_conversation else None

    async def load(self, intent: IntentId) -> IntentRow | BrokenIntent | None:
        """An intent with its texts; what is left of a broken one; None if it is gone.

        Concurrent calls share one query.
        """
        called = self._wanted[intent] = anyio.Event()
        if self._loading:
            await called.wait()
        if intent not in self._loaded:
            await self._load_wanted()
        return self._loaded.pop(intent)

    async def _load_wanted(self) -> None:
        """Read the requested intents; then wake one of the callers that came during the query to do the next one."""
        self._loading = True
        wanted, self._wanted = self._wanted, {}
        loaded = await self._ctx.store.read(LoadIntents(ids=tuple(wanted)))
        rows: dict[IntentId, IntentRow | BrokenIntent] = {row.id: row for row in loaded.rows}
        rows.update(loaded.broken)
        for intent, called in wanted.items():
            self._loaded[intent] = rows.get(intent)
            called.set()
        self._loading = bool(self._wanted)
        if self._loading:
            next(iter(self._wanted.values())).set()

    def finish(self, row: IntentRow, reason: Reason, receipts: tuple[Receipt, ...], cause: int | None) -> None:
        self.hooks.notify_soon(row, reason, receipts, cause)
        self.release(row.id, cause)

    def release(self, intent: IntentId, cause: int | None) -> None:
        """Release the binding of an ended intent and wake its waiters, also if another process ended it."""
        hold = self._holds.pop(intent, None)
        if hold is not None:
            hold.release(cause)
        for waiter in self._waiters.pop(intent, ()):
            waiter.set()

    def wait_for(self, intent: IntentId) -> anyio.Event:
        """An event that is set when an intent has ended; `forget` it if that is no longer of interest."""
        waiter = anyio.Event()
        self._waiters.setdefault(intent, []).append(waiter)
        return waiter

    def forget(self, intent: IntentId, waiter: anyio.Event) -> None:
        waiters = self._waiters.get(intent, [])
        if waiter in waiters:
            waiters.remove(waiter)
        if not waiters:
            self._waiters.pop(intent, None)

    def _hold_binding(self, row: IntentRow) -> None:
        binding = row.bound.binding
        if binding is not None and row.id not in self._holds:
            self._holds[row.id] = self._ctx.bindings.hold(binding)

    def adopt_binding(self, row: IntentRow) -> None:
        """Keep the binding of a recovered intent, whose hold was counted at the start."""
        binding = row.bound.binding
        if binding is not None and row.id not in self._holds:
            self._holds[row.id] = self._ctx.bindings.adopt(binding)
