"""What every store must do: `CHECKS`, run on each store by test_store.py. A new store is one more `Bench`.

Importing the modules of this package registers their checks. A check gets a bench, which opens stores on one storage:
each opening finds what the last one left. Checks use the port alone, but for what a store can do to show that its disk
is full, how much was committed, and what is durable.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import msgspec

from tests.support.factories import changed, delegation, intent, receipt, room, session, work
from tests.support.stores import transcript_of
from trunkline.core.events import EventLog
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.records.rows import Admission, CallbackChange, CallbackFacts, IntentRow, SessionRow, Settlement
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store import Store
from trunkline.core.store.commands import AckChunk, Admit, EndIntent, Enqueue, MarkSending, Misplace, TakeNudges
from trunkline.core.store.delegations import FinishDelegation, HandFinish
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListOpenIntents, LoadIntents
from trunkline.core.store.queue_admin import Nudge
from trunkline.core.values import IntentKind, IntentState, SessionId, WorkKind

KEY = "main:discord:default:direct:100"


#: a place that a platform may put things to
ELSEWHERE, ELSEWHERE_KEY = room("999"), "main:discord:default:channel:999"


OK = HandResult(outcome=HandOutcome.OK, text="three")


@dataclass(frozen=True)
class Opened:
    """A store that is open and whose writer runs."""

    store: Store
    log: EventLog
    #: fill the disk / make room again
    fill_disk: Callable[[], Awaitable[None]]
    free_disk: Callable[[], Awaitable[None]]
    #: transactions committed so far
    commits: Callable[[], int]
    #: number of inbounds that would survive a crash now; callable from a story
    durable: Callable[[], int]
    #: drop the process lock: to other processes this one is dead
    die: Callable[[], None]
    #: the writer has ended, because another process holds the store
    ended: anyio.Event
    #: corrupt a column of an intent, or of a row of another table
    spoil: Callable[..., Awaitable[None]]

    async def open_rows(self) -> tuple[IntentRow, ...]:
        """The open intents in their order, as they were stored."""
        places = await self.store.read(ListOpenIntents(after=0, limit=1000))
        loaded = await self.store.read(LoadIntents(ids=[one.id for one in places]))
        assert [row.address for row in loaded.rows] == [one.address for one in places]
        answers = [row.session if row.kind is IntentKind.REPLY else None for row in loaded.rows]
        assert answers == [one.answers for one in places]
        assert loaded.broken == {}
        return tuple(msgspec.structs.replace(row, updated_at=0.0) for row in loaded.rows)

    @property
    def refusals(self) -> int:
        """How often the store recorded a refused write."""
        return sum(isinstance(event.body, StoreFailed) for event in self.log.events)

    async def refused(self) -> None:
        """Wait until the store records a refused write."""
        told = anyio.Event()
        self.log.subscribe(lambda _: told.set(), StoreFailed)
        await told.wait()

    async def lines(self, key: str = KEY) -> list[tuple[str, str, str, bool]]:
        """Role, text, reference and partial of each line of a transcript."""
        return [(line.role, line.text, line.ref, line.partial) for line in await transcript_of(self.store, key)]

    async def admit(
        self, name: str, identity: str | None = None, key: str = KEY, also: tuple[str, ...] = (), **fields: Any
    ) -> Admission:
        """Admit a message called `name`."""
        item, asked = work(name, session_key=key, **fields), session(key, f"s-{name}")
        admit = Admit(work=item, identity=identity or f"id-{name}", also=also, session=asked, now=2.0)
        return await self.store.write(admit, same)

    async def enqueue(self, row: IntentRow) -> bool:
        return await self.store.write(Enqueue(intent=row, now=2.0), same)

    async def ack(self, row: IntentRow, *, mirror: bool = True) -> Settlement:
        """Acknowledge the next chunk; the mirror goes with the last one, as the gateway does it."""
        last = row.progress.acked + 1 == len(row.content.chunks)
        new = session(name="s-mirror") if mirror and last else None
        return await self.store.write(
            AckChunk(intent=row, receipt=receipt(), mirror=new, now=3.0, mirror_due=False), same
        )

    async def misplace(self, row: IntentRow) -> Settlement:
        """The next chunk's receipt shows `ELSEWHERE`."""
        there = session(ELSEWHERE_KEY, "s-elsewhere", address=ELSEWHERE)
        return await self.store.write(
            Misplace(
                intent=row,
                receipt=receipt(address=ELSEWHERE),
                mirror=there,
                now=3.0,
                note=None,
                wake=None,
                mirror_due=False,
            ),
            same,
        )

    async def end(self, row: IntentRow, event: DeliveryEvent, reason: Reason = Reason.REFUSED) -> Settlement:
        return await self.store.write(
            EndIntent(
                intent=row,
                event=event,
                reason=reason,
                mirror=session(name="s-mirror"),
                now=3.0,
                note=None,
                wake=None,
                mirror_due=False,
                notice=None,
            ),
            same,
        )


class Bench(Protocol):
    """One storage, to be opened again and again."""

    def opened(self) -> AbstractAsyncContextManager[Opened]: ...


def row_of(name: str, *, created: bool) -> SessionRow:
    """The session of `KEY`, with the id `name`."""
    return SessionRow(key=KEY, id=SessionId(name), generation=1, created=created)


Check = Callable[[Bench], Awaitable[None]]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


def same(answer: Any) -> Any:
    """The story that changes nothing."""
    return answer


async def all_at_once(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Make calls side by side; their answers, or what they raised, in order."""
    answers: list[Any] = [None] * len(calls)

    async def make(index: int, call: Callable[[], Awaitable[Any]]) -> None:
        try:
            answers[index] = await call()
        except Exception as error:  # noqa: BLE001 -- looked at by the check
            answers[index] = error

    async with anyio.create_task_group() as group:
        for index, call in enumerate(calls):
            group.start_soon(make, index, call)
    return answers


#: states that an intent without receipts ends in, and an event that leads there
ENDS = {
    IntentState.FAILED: DeliveryEvent.REFUSE,
    IntentState.DEAD: DeliveryEvent.EXHAUST,
    IntentState.EXPIRED: DeliveryEvent.EXPIRE,
    IntentState.UNKNOWN: DeliveryEvent.PARK,
    IntentState.CANCELLED: DeliveryEvent.CANCEL,
}


async def bring(it: Opened, name: str, state: IntentState, *chunks: str) -> IntentRow:
    """An intent of three chunks in a state; where the state allows it, none has a receipt."""
    row = intent(name, *(chunks or ("one", "two", "three")))
    await it.enqueue(row)
    if state is IntentState.SENDING:
        await it.store.write(MarkSending(intent=row, now=2.0), answer)
    elif state is IntentState.DELIVERED:
        for acked in range(len(row.content.chunks)):
            await it.ack(changed(row, acked=acked))
        row = changed(row, acked=len(row.content.chunks))
    elif state is IntentState.PARTIAL:
        await it.ack(row)
        row = changed(row, acked=1)
        await it.end(row, DeliveryEvent.REFUSE)
    elif state is IntentState.MISPLACED:
        await it.misplace(row)
        row = changed(row, acked=1)
    elif state is not IntentState.PREPARED:
        await it.end(row, ENDS[state])
    return changed(row, state=state)


async def nudges(it: Opened) -> tuple[Nudge, ...]:
    """What operators have changed since this was asked last."""
    return await it.store.write(TakeNudges(), same)


BACK = work(
    "m1.hand1.back",
    kind=WorkKind.CALLBACK,
    text="three",
    callback=CallbackFacts(delegation=delegation().id, hand="clerk", outcome=HandOutcome.OK),
)


def finished(callback: CallbackState = CallbackState.PENDING_TURN, **fields: Any) -> HandFinish:
    """The answer to the first result of `delegation()`, with what became of its callback."""
    change = CallbackChange(delegation=delegation().id, before=CallbackState.WAITING, state=callback)
    return HandFinish(first=True, change=change, **fields)


def too_late(state: WorkState = WorkState.SUCCEEDED) -> HandFinish:
    """The answer to a later result."""
    return HandFinish(first=False, before=state)


async def finish(it: Opened, *intents: IntentRow, callback: bool = True, result: HandResult = OK) -> HandFinish:
    back = Admit(work=BACK, identity="callback/m1.hand1", session=session(name="s-back"), now=3.0)
    told = back if callback else None
    return await it.store.write(
        FinishDelegation(delegation=delegation().id, result=result, callback=told, intents=intents, now=3.0), same
    )
