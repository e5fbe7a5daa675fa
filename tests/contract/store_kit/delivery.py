"""What every store must do. `CHECKS` are run on each store by test_store.py; a new store is one more `Bench`.

More checks are in the other modules whose names begin with ``store_kit``.

A check gets a bench, which opens stores on one storage: whoever opens it again finds what the last one left. Checks use
the port alone, but for what a store can do to show that its disk is full, how much was committed, and what is durable.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import anyio
import msgspec
import pytest

from tests.support.factories import delegation, direct, intent, receipt, room, session, work
from trunkline.core.agent import CallbackFacts
from trunkline.core.delivery.states import TRANSITIONS, DeliveryEvent, next_state
from trunkline.core.errors import IllegalTransition
from trunkline.core.events import EventLog
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.store import Admission, Finish, IntentRow, SessionRow, Settled, Store
from trunkline.core.store.sqlite.sql.queue_admin import Nudge, Verdict
from trunkline.core.values import HandOutcome, HandResult, InboundId, IntentId, IntentState, SessionId, WorkKind

KEY = "main:discord:default:direct:100"
#: a place that a platform may put things to
ELSEWHERE, ELSEWHERE_KEY = room("999"), "main:discord:default:channel:999"
#: longer than what is left on a disk that is full
LONG = "x" * 200_000
REPEATS_M1 = Admission(session=None, first=InboundId("m1"))
OK = HandResult(outcome=HandOutcome.OK, text="three")


@dataclass(frozen=True)
class Opened:
    """A store that is open and whose writer runs."""

    store: Store
    log: EventLog
    #: no more room on the disk / room again
    fill_disk: Callable[[], Awaitable[None]]
    free_disk: Callable[[], Awaitable[None]]
    #: transactions committed so far
    commits: Callable[[], int]
    #: messages that a crash now would leave stored; callable from a story
    durable: Callable[[], int]
    #: as far as other processes can see, this one is dead
    die: Callable[[], None]
    #: the writer has ended, because another process holds the store
    ended: anyio.Event
    #: put something into a column of an intent, or of a row of another table, that no gateway would have put there
    spoil: Callable[..., Awaitable[None]]

    async def open_rows(self) -> tuple[IntentRow, ...]:
        """The open intents in their order, as they were stored."""
        places = await self.store.open_intents(0, 1000)
        loaded = await self.store.load_intents([one.id for one in places])
        assert [row.address for row in loaded.rows] == [one.address for one in places]
        assert loaded.broken == {}
        return tuple(msgspec.structs.replace(row, updated_at=0.0) for row in loaded.rows)

    @property
    def refusals(self) -> int:
        """How often the store told that a write was refused."""
        return sum(isinstance(event.body, StoreFailed) for event in self.log.events)

    async def refused(self) -> None:
        """Wait until the store tells that a write was refused."""
        told = anyio.Event()
        self.log.subscribe(lambda _: told.set(), StoreFailed)
        await told.wait()

    async def lines(self, key: str = KEY) -> list[tuple[str, str, str, bool]]:
        """Role, text, reference and partial of each line of a transcript."""
        return [(line.role, line.text, line.ref, line.partial) for line in await self.store.transcript(key)]

    async def admit(self, name: str, identity: str | None = None, key: str = KEY, **fields: Any) -> Admission:
        """Admit a message called `name`."""
        item = work(name, session_key=key, **fields)
        return await self.store.admit(item, identity or f"id-{name}", session(key, f"s-{name}"), 2.0, same)

    async def enqueue(self, row: IntentRow) -> bool:
        return await self.store.enqueue(row, 2.0, same)

    async def ack(self, row: IntentRow, *, mirror: bool = True) -> Settled:
        """Acknowledge the next chunk; the mirror goes with the last one, as the gateway does it."""
        last = row.acked + 1 == len(row.chunks)
        new = session(name="s-mirror") if mirror and last else None
        return await self.store.ack_chunk(row, receipt(), new, 3.0, same)

    async def misplace(self, row: IntentRow) -> Settled:
        """The next chunk's receipt shows `ELSEWHERE`."""
        there = session(ELSEWHERE_KEY, "s-elsewhere", address=ELSEWHERE)
        return await self.store.misplace(row, receipt(address=ELSEWHERE), there, 3.0, same)

    async def end(self, row: IntentRow, state: IntentState) -> Settled:
        return await self.store.end_intent(row, state, Reason.REFUSED, session(name="s-mirror"), 3.0, same)


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


# ---------------------------------------------------------------- messages and sessions


@check
async def a_new_message_is_stored_with_its_session_and_its_line(bench: Bench) -> None:
    async with bench.opened() as it:
        admission = await it.admit("m1")
        assert admission == Admission(session=row_of("s-m1", created=True))
        assert await it.lines() == [("user", "text of m1", "m1", False)]
        assert await it.store.find_inbound("id-m1") == "m1"


@check
async def a_second_message_joins_the_session(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        admission = await it.admit("m2")
        assert admission == Admission(session=row_of("s-m1", created=False))
        assert [ref for _, _, ref, _ in await it.lines()] == ["m1", "m2"]


@check
async def a_message_that_is_known_stores_nothing_and_gives_the_first(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1", "same")
        assert await it.admit("m2", "same", key="main:other") == REPEATS_M1
        assert await it.lines("main:other") == []
        assert [item.id for item, _ in (await it.store.unfinished()).works] == ["m1"]


@check
async def the_very_same_message_again_gives_the_first(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        assert await it.admit("m1") == REPEATS_M1
        assert len(await it.lines()) == 1


@check
async def of_fifty_copies_at_once_one_is_admitted(bench: Bench) -> None:
    async with bench.opened() as it:
        names = [f"m{number}" for number in range(50)]
        answers = await all_at_once(*(lambda name=name: it.admit(name, "same") for name in names))
        admitted = [name for name, answer in zip(names, answers, strict=True) if answer.session is not None]
        assert len(admitted) == 1
        assert {answer.first for answer in answers if answer.session is None} == set(admitted)
        assert len(await it.lines()) == 1


@check
async def of_fifty_first_messages_at_once_one_creates_the_session(bench: Bench) -> None:
    async with bench.opened() as it:
        answers = await all_at_once(*(lambda number=number: it.admit(f"m{number}") for number in range(50)))
        rows = [answer.session for answer in answers]
        assert sum(row.created for row in rows) == 1
        assert len({row.id for row in rows}) == 1
        assert len(await it.lines()) == 50


@check
async def sessions_of_two_keys_are_two(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.admit("m2", key="main:discord:default:direct:200")
        assert await it.lines() == [("user", "text of m1", "m1", False)]
        assert await it.lines("main:discord:default:direct:200") == [("user", "text of m2", "m2", False)]


@check
async def a_session_keeps_its_id_when_the_store_is_opened_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
    async with bench.opened() as it:
        admission = await it.admit("m2")
        assert admission.session == row_of("s-m1", created=False)
        assert (await it.admit("m1")).first == "m1"


@check
async def a_session_is_ensured_once(bench: Bench) -> None:
    async with bench.opened() as it:
        one = await it.store.ensure_session(session(name="s1"), 1.0, same)
        two = await it.store.ensure_session(session(name="s2"), 2.0, same)
        assert (one.id, one.created, two.id, two.created) == ("s1", True, "s1", False)


@check
async def what_is_not_there_is_none(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.find_inbound("nothing") is None
        assert await it.store.intent_state(IntentId("nothing")) is None
        assert await it.lines() == []
        left = await it.store.unfinished()
        assert (left.works, left.intents, left.delegations) == ((), 0, ())


@check
async def texts_are_kept_as_they_are(bench: Bench) -> None:
    odd = "é ñ 😀 \x00 \u2028 '; DROP TABLE inbox; -- \r\n\t"
    async with bench.opened() as it:
        await it.admit("m1", text=odd)
        await it.enqueue(intent("i1", odd, address=room("ÄÖ", parent="'")))
    async with bench.opened() as it:
        left = await it.store.unfinished()
        assert left.works[0][0].text == odd
        assert (await it.open_rows())[0] == intent("i1", odd, address=room("ÄÖ", parent="'"))
        assert [text for _, text, _, _ in await it.lines()] == [odd]


# ---------------------------------------------------------------- turns and intents


@check
async def a_turn_ends_together_with_what_it_says(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        new = await it.store.finish_turn(work("m1"), [intent("i1"), intent("i2")], 2.0, same)
        assert new == ("i1", "i2")
        left = await it.store.unfinished()
        assert left.works == ()
        assert [row.id for row in await it.open_rows()] == ["i1", "i2"]


@check
async def a_turn_that_is_run_again_says_nothing_twice(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.enqueue(intent("tool", "said by the tool"))
        assert await it.store.finish_turn(work("m1"), [intent("i1", "first")], 2.0, same) == ("i1",)
        again = [intent("i1", "other words"), intent("i2", "new")]
        assert await it.store.finish_turn(work("m1"), again, 3.0, same) == ("i2",)
        assert [row.chunks for row in await it.open_rows()] == [
            ("said by the tool",),
            ("first",),
            ("new",),
        ]


@check
async def an_intent_is_enqueued_once_and_its_first_bytes_count(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.enqueue(intent("i1", "first")) is True
        assert await it.enqueue(intent("i1", "second")) is False
        assert [row.chunks for row in await it.open_rows()] == [("first",)]


@check
async def an_intent_that_is_done_is_not_enqueued_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        await it.ack(intent("i1"))
        assert await it.enqueue(intent("i1")) is False
        assert await it.store.intent_state(IntentId("i1")) is IntentState.DELIVERED


@check
async def the_last_receipt_settles_and_mirrors_in_one(bench: Bench) -> None:
    row = intent("i1", "one", "two")
    async with bench.opened() as it:
        await it.enqueue(row)
        assert await it.ack(row) == Settled(mirror=None)
        assert await it.lines() == []
        settled = await it.ack(msgspec.structs.replace(row, acked=1))
        mirror = row_of("s-mirror", created=True)
        assert settled == Settled(mirror=mirror, mirror_text="one\ntwo")
        assert await it.store.intent_state(row.id) is IntentState.DELIVERED
        assert await it.lines() == [("assistant", "one\ntwo", "i1", False)]
        assert await it.open_rows() == ()


@check
async def a_mirror_joins_the_session_that_is_there(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.enqueue(intent("i1"))
        settled = await it.ack(intent("i1"))
        assert settled.mirror == row_of("s-m1", created=False)
        assert [(role, ref) for role, _, ref, _ in await it.lines()] == [("user", "m1"), ("assistant", "i1")]


@check
async def without_a_mirror_nothing_is_mirrored(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        assert await it.ack(intent("i1"), mirror=False) == Settled(mirror=None)
        assert await it.lines() == []


@check
async def a_receipt_counts_once(bench: Bench) -> None:
    row = intent("i1", "one", "two", "three")
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.ack(row)
        with pytest.raises(IllegalTransition):
            await it.ack(row)
        assert [row.acked for row in await it.open_rows()] == [1]


@check
async def a_last_receipt_counts_once(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        answers = await all_at_once(*[lambda: it.ack(intent("i1"))] * 5)
        assert sum(isinstance(answer, Settled) for answer in answers) == 1
        assert sum(isinstance(answer, IllegalTransition) for answer in answers) == 4
        assert len(await it.lines()) == 1


@check
async def an_attempt_that_is_marked_and_put_off_is_found_as_such(bench: Bench) -> None:
    row = intent("i1", attempts=1)
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        await it.store.mark_sending(row, 2.0)
        [found] = await it.open_rows()
        assert (found.state, found.attempts) == (IntentState.SENDING, 1)
        await it.store.defer(msgspec.structs.replace(found, attempts=2), 60.0, Reason.RATE_LIMITED, 3.0, same)
    async with bench.opened() as it:
        [found] = await it.open_rows()
        assert (found.state, found.attempts) == (IntentState.PREPARED, 2)


@check
async def a_new_chunk_begins_with_no_attempts(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1", "one", "two"))
        await it.ack(intent("i1", "one", "two", attempts=4))
        assert [(row.acked, row.attempts) for row in await it.open_rows()] == [(1, 0)]


@check
async def what_was_accepted_of_a_broken_off_intent_is_mirrored_as_partial(bench: Bench) -> None:
    row = intent("i1", "one", "two", "three")
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.ack(row)
        settled = await it.end(msgspec.structs.replace(row, acked=1), IntentState.PARTIAL)
        assert settled.mirror_text == "one"
        assert await it.lines() == [("assistant", "one", "i1", True)]
        assert await it.store.intent_state(row.id) is IntentState.PARTIAL
        assert await it.open_rows() == ()


@check
async def an_intent_that_ends_without_any_receipt_is_not_mirrored(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        assert await it.end(intent("i1"), IntentState.FAILED) == Settled(mirror=None)
        assert await it.lines() == []


# ---------------------------------------------------------------- the table, through the store


#: events that happen to an intent by an operator's word: what is stored counts, not what the operator has seen
BY_OPERATORS = {
    DeliveryEvent.RETRY: None,
    DeliveryEvent.RESOLVE_CHUNK: Verdict.SENT,
    DeliveryEvent.RESOLVE_LAST: Verdict.SENT,
    DeliveryEvent.RESOLVE_UNSENT: Verdict.UNSENT,
    DeliveryEvent.ABANDON: Verdict.ABANDON,
}
#: events of the last chunk
LAST = (DeliveryEvent.ACK_LAST, DeliveryEvent.RESOLVE_LAST)


async def bring(it: Opened, name: str, state: IntentState, *chunks: str) -> IntentRow:
    """An intent of three chunks in a state; where the state allows it, none has a receipt."""
    row = intent(name, *(chunks or ("one", "two", "three")))
    await it.enqueue(row)
    replace = msgspec.structs.replace
    if state is IntentState.SENDING:
        await it.store.mark_sending(row, 2.0)
    elif state is IntentState.DELIVERED:
        for acked in range(len(row.chunks)):
            await it.ack(replace(row, acked=acked))
        row = replace(row, acked=len(row.chunks))
    elif state is IntentState.PARTIAL:
        await it.ack(row)
        row = replace(row, acked=1)
        await it.end(row, IntentState.PARTIAL)
    elif state is IntentState.MISPLACED:
        await it.misplace(row)
        row = replace(row, acked=1)
    elif state is not IntentState.PREPARED:
        await it.end(row, state)
    return replace(row, state=state)


async def nudges(it: Opened) -> tuple[Nudge, ...]:
    """What operators have changed since this was asked last."""
    return await it.store.nudged(same)


async def apply(it: Opened, row: IntentRow, event: DeliveryEvent) -> None:
    """Have an event happen to an intent, through the verb that stands for it."""
    match event:
        case DeliveryEvent.MARK:
            await it.store.mark_sending(row, 3.0)
        case DeliveryEvent.ACK_CHUNK | DeliveryEvent.ACK_LAST:
            await it.ack(row)
        case DeliveryEvent.DEFER:
            await it.store.defer(row, 60.0, Reason.RATE_LIMITED, 3.0, same)
        case DeliveryEvent.MISPLACE:
            await it.misplace(row)
        case DeliveryEvent.RETRY:
            await it.store.retry_intent(row.id, 3.0)
        case _ if (verdict := BY_OPERATORS.get(event)) is not None:
            await it.store.resolve_intent(row.id, verdict, 3.0)
        case _:
            # The caller says the end: for a state without such an event, the end that it has from the beginning.
            start = row.state if event in TRANSITIONS[row.state] else IntentState.PREPARED
            await it.end(row, next_state(start, event, accepted_chunks=row.acked))


@check
async def every_event_does_what_the_table_says_or_is_refused_and_changes_nothing(bench: Bench) -> None:
    async with bench.opened() as it:
        for state, event in product(IntentState, DeliveryEvent):
            after = TRANSITIONS[state].get(event)
            row = await bring(it, f"{state}-{event}", state, *(["one"] if after and event in LAST else []))
            lines, shown = await it.lines(), await it.store.show_intent(row.id)
            if after is None:
                with pytest.raises(IllegalTransition):
                    await apply(it, row, event)
                assert await it.lines() == lines
                assert await it.store.show_intent(row.id) == shown
                assert not [one for one in await nudges(it) if one.intent == row.id]
            else:
                await apply(it, row, event)
            assert await it.store.intent_state(row.id) is (after or state), (state, event)


@check
async def a_caller_with_an_old_view_of_an_intent_is_refused(bench: Bench) -> None:
    async with bench.opened() as it:
        for event in [event for event in DeliveryEvent if event not in BY_OPERATORS]:
            row = await bring(it, f"seen prepared, {event}", IntentState.UNKNOWN)
            with pytest.raises(IllegalTransition, match="is no longer 'prepared'"):
                await apply(it, msgspec.structs.replace(row, state=IntentState.PREPARED), event)
            assert await it.store.intent_state(row.id) is IntentState.UNKNOWN


@check
async def an_intent_cannot_end_as_delivered_or_as_still_open(bench: Bench) -> None:
    async with bench.opened() as it:
        row = await bring(it, "i1", IntentState.PREPARED)
        for state in (
            IntentState.DELIVERED,
            IntentState.PREPARED,
            IntentState.SENDING,
            IntentState.PARTIAL,
            IntentState.MISPLACED,
        ):
            with pytest.raises(IllegalTransition):
                await it.end(row, state)
        assert await it.store.intent_state(row.id) is IntentState.PREPARED


# ---------------------------------------------------------------- delegations

BACK = work(
    "m1.hand1.back",
    kind=WorkKind.CALLBACK,
    text="three",
    callback=CallbackFacts(delegation=delegation().id, hand="clerk", outcome=HandOutcome.OK),
)


async def finish(it: Opened, *intents: IntentRow, callback: bool = True, result: HandResult = OK) -> Finish:
    told = (BACK, "callback/m1.hand1", session(name="s-back")) if callback else None
    return await it.store.finish_delegation(delegation().id, result, told, intents, 3.0, same)


@check
async def a_delegation_is_accepted_once(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.accept_delegation(delegation(), same) is True
        assert await it.store.accept_delegation(delegation(task="something else"), same) is False
        assert (await it.store.unfinished()).delegations == (delegation(),)


@check
async def a_delegation_without_an_origin_keeps_none(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.accept_delegation(delegation(origin=None), same)
        assert (await it.store.unfinished()).delegations == (delegation(origin=None),)


@check
async def the_first_result_counts_and_sets_its_turn_going(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.accept_delegation(delegation(), same)
        await it.store.start_delegation(delegation().id)
        assert (await finish(it)).first
        late = HandResult(outcome=HandOutcome.ERROR, text="late")
        assert await finish(it, intent("late"), result=late) == Finish(first=False)
        left = await it.store.unfinished()
        assert left.delegations == ()
        assert left.intents == 0
        assert left.works == ((BACK, "s-back"),)
        assert await it.lines() == [("hand", "three", "m1.hand1.back", False)]


@check
async def of_two_results_at_once_one_counts(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.accept_delegation(delegation(), same)
        answers = await all_at_once(*[lambda: finish(it)] * 5)
        assert [answer.first for answer in answers].count(True) == 1
        assert len(await it.lines()) == 1


@check
async def a_result_that_is_posted_directly_starts_no_turn(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.accept_delegation(delegation(), same)
        assert await finish(it, intent("post"), callback=False) == Finish(first=True)
        left = await it.store.unfinished()
        assert (left.works, [row.id for row in await it.open_rows()]) == ((), ["post"])
        assert await finish(it) == Finish(first=False)


@check
async def a_delegation_may_end_before_it_starts_but_not_start_after_its_end(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.accept_delegation(delegation(), same)
        assert (await finish(it)).first
        with pytest.raises(IllegalTransition, match="'start' on a delegation that is 'finished'"):
            await it.store.start_delegation(delegation().id)


@check
async def a_delegation_that_was_told_cannot_start_either(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.accept_delegation(delegation(), same)
        await finish(it)
        await it.store.finish_turn(BACK, [], 4.0, same)
        with pytest.raises(IllegalTransition, match="'start' on a delegation that is 'told'"):
            await it.store.start_delegation(delegation().id)


@check
async def a_delegation_that_is_not_there_cannot_start(bench: Bench) -> None:
    async with bench.opened() as it:
        with pytest.raises(IllegalTransition, match="there is no delegation"):
            await it.store.start_delegation(delegation().id)


# ---------------------------------------------------------------- what is left open


@check
async def what_was_open_is_found_in_its_order_when_the_store_is_opened_again(bench: Bench) -> None:
    names = ["zeta", "alpha", "mid", "beta"]
    async with bench.opened() as it:
        for name in names:
            await it.admit(name, key=f"main:discord:default:direct:{name}")
            await it.enqueue(intent(f"{name}.i", name))
            await it.store.accept_delegation(delegation(f"{name}.d"), same)
        # What is done, and what changed, is not found and does not change the order.
        await it.store.finish_turn(work("mid"), [], 3.0, same)
        await it.ack(intent("mid.i", "mid"))
        await it.store.mark_sending(intent("zeta.i", "zeta", attempts=1), 3.0)
        await it.store.start_delegation(delegation("zeta.d").id)
    async with bench.opened() as it:
        left = await it.store.unfinished()
        assert [(item.id, found) for item, found in left.works] == [
            ("zeta", "s-zeta"),
            ("alpha", "s-alpha"),
            ("beta", "s-beta"),
        ]
        assert [(row.id, row.state.value) for row in await it.open_rows()] == [
            ("zeta.i", "sending"),
            ("alpha.i", "prepared"),
            ("beta.i", "prepared"),
        ]
        assert [(row.id, row.state.value) for row in left.delegations] == [
            ("zeta.d", "running"),
            ("alpha.d", "accepted"),
            ("mid.d", "accepted"),
            ("beta.d", "accepted"),
        ]


@check
async def an_open_intent_is_found_with_everything_it_was_prepared_with(bench: Bench) -> None:
    row = intent(
        "i1",
        "one",
        "two",
        address=room("777", parent="500"),
        delegation=delegation().id,
        reply_to="m1",
        open_on="m1",
        mirror_key=None,
        turn=None,
        inbound=None,
    )
    item = work("m1", place=None, reply_to=room("777", parent="500"), open_on="m1", reply_reason=Reason.CALLBACK_TURN)
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.store.admit(item, "id-m1", session(address=None), 1.0, same)
    async with bench.opened() as it:
        left = await it.store.unfinished()
        assert await it.open_rows() == (row,)
        assert left.works == ((item, "s1"),)


# ---------------------------------------------------------------- stories


@check
async def a_story_is_told_after_the_commit_and_before_its_writer_goes_on(bench: Bench) -> None:
    told: list[str] = []
    seen: list[int] = []
    returned: list[str] = []

    async with bench.opened() as it:

        async def write(name: str) -> None:
            def story(admission: Admission) -> str:
                told.append(name)
                seen.append(it.durable())
                assert admission.session is not None
                return name.upper()

            answer = await it.store.admit(work(name), f"id-{name}", session(), 1.0, story)
            assert name in told
            returned.append(answer)

        names = [f"m{number}" for number in range(20)]
        await all_at_once(*(lambda name=name: write(name) for name in names))
    # In the order of the commits, which is the order in which the writes were asked for.
    assert told == names
    assert sorted(returned) == sorted(name.upper() for name in names)
    assert all(durable > index for index, durable in enumerate(seen))


@check
async def stories_of_different_verbs_are_told_in_one_order(bench: Bench) -> None:
    told: list[str] = []

    def story(name: str) -> Callable[[Any], None]:
        return lambda _: told.append(name)

    async with bench.opened() as it:
        await all_at_once(
            lambda: it.store.admit(work("m1"), "id-m1", session(), 1.0, story("admit")),
            lambda: it.store.enqueue(intent("i1"), 1.0, story("enqueue")),
            lambda: it.store.ack_chunk(intent("i1"), receipt(), session(), 1.0, story("ack")),
            lambda: it.store.accept_delegation(delegation(), story("accept")),
            lambda: it.store.finish_delegation(delegation().id, OK, None, [], 1.0, story("finish")),
            lambda: it.store.finish_turn(work("m1"), [], 1.0, story("done")),
        )
    assert told == ["admit", "enqueue", "ack", "accept", "finish", "done"]


@check
async def the_story_of_a_refused_write_is_not_told(bench: Bench) -> None:
    told: list[Any] = []
    async with bench.opened() as it:
        with pytest.raises(IllegalTransition):
            await it.store.ack_chunk(intent("nowhere"), receipt(), None, 1.0, told.append)
    assert told == []


@check
async def a_story_that_raises_ends_the_store_and_its_write_stands_once(bench: Bench) -> None:
    told: list[Admission] = []

    def story(admission: Admission) -> None:
        told.append(admission)
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as group:
        async with bench.opened() as it:
            await it.store.admit(work("m1"), "id-m1", session(), 1.0, story)
    assert group.group_contains(ZeroDivisionError)
    assert [admission.first for admission in told] == [None]
    async with bench.opened() as it:
        assert len(await it.lines()) == 1


# ---------------------------------------------------------------- batches


@check
async def an_illegal_write_is_refused_to_its_caller_alone(bench: Bench) -> None:
    async with bench.opened() as it:
        answers = await all_at_once(
            lambda: it.admit("m1"),
            lambda: it.enqueue(intent("i1")),
            lambda: it.ack(intent("not there")),
            lambda: it.store.start_delegation(delegation().id),
            lambda: it.ack(intent("i1")),
            lambda: it.admit("m2"),
        )
        assert [type(answer) for answer in answers] == [
            Admission,
            bool,
            IllegalTransition,
            IllegalTransition,
            Settled,
            Admission,
        ]
        assert [ref for _, _, ref, _ in await it.lines()] == ["m1", "i1", "m2"]


@check
async def a_write_that_is_refused_halfway_leaves_nothing(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.enqueue(intent("m1"))
        # Its line has the reference of a line that is there: the receipt must not stand without its mirror.
        [answer] = await all_at_once(lambda: it.ack(intent("m1")))
        assert isinstance(answer, Exception)
        assert await it.store.intent_state(IntentId("m1")) is IntentState.PREPARED
        assert [role for role, _, _, _ in await it.lines()] == ["user"]


@check
async def many_writes_at_once_share_a_few_commits(bench: Bench) -> None:
    async with bench.opened() as it:
        before = it.commits()
        await all_at_once(*(lambda number=number: it.admit(f"m{number}") for number in range(100)))
        assert len(await it.lines()) == 100
        assert 1 <= it.commits() - before <= 10


@check
async def a_write_alone_is_committed_alone(bench: Bench) -> None:
    async with bench.opened() as it:
        before = it.commits()
        for number in range(3):
            await it.admit(f"m{number}")
        assert it.commits() - before == 3


# ---------------------------------------------------------------- a disk that is full


@check
async def a_write_to_a_full_disk_is_tried_again_until_it_fits(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.fill_disk()
        answers: list[Any] = []
        async with anyio.create_task_group() as group:

            async def write() -> None:
                answers.extend(
                    await all_at_once(lambda: it.admit("m1"), lambda: it.admit("m2", text=LONG), lambda: it.admit("m3"))
                )

            group.start_soon(write)
            await it.refused()
            # The write fills a batch of its own with nothing: neither the long one nor its small neighbours.
            assert answers == []
            assert it.durable() == 0
            await it.free_disk()
        assert [answer.session.created for answer in answers] == [True, False, False]
        assert [ref for _, _, ref, _ in await it.lines()] == ["m1", "m2", "m3"]
        assert it.refusals >= 1


@check
async def a_disk_that_fills_up_between_the_writes_of_a_batch_repeats_none_of_them(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        await it.fill_disk()
        answers: list[Any] = []
        async with anyio.create_task_group() as group:

            async def write() -> None:
                answers.extend(
                    await all_at_once(
                        lambda: it.store.mark_sending(intent("i1"), 2.0),
                        # Sinks the batch, so that its writes are made one by one.
                        lambda: it.ack(intent("not there")),
                        lambda: it.admit("long", text=LONG),
                        lambda: it.store.defer(
                            intent("i1", state=IntentState.SENDING), 9.0, Reason.NOT_SENT, 3.0, same
                        ),
                    )
                )

            group.start_soon(write)
            await it.refused()
            assert await it.store.intent_state(IntentId("i1")) is IntentState.SENDING
            await it.free_disk()
        assert [type(answer) for answer in answers] == [type(None), IllegalTransition, Admission, type(None)]
        assert await it.store.intent_state(IntentId("i1")) is IntentState.PREPARED
        assert [ref for _, _, ref, _ in await it.lines()] == ["long"]


@check
async def each_refusal_is_told_with_the_wait_until_the_next_try(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.fill_disk()
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: it.admit("m1", text=LONG))
            while it.refusals < 3:
                await it.refused()
            await it.free_disk()
        bodies = [event.body for event in it.log.events if isinstance(event.body, StoreFailed)]
        assert [body.retry_in for body in bodies[:3]] == [0.05, 0.1, 0.2]
        assert {body.reason for body in bodies} == {Reason.STORE_ERROR}
        assert all("full" in body.error for body in bodies)
        assert await it.lines() == [("user", LONG, "m1", False)]


@check
async def the_place_of_a_session_may_be_none(bench: Bench) -> None:
    async with bench.opened() as it:
        one = await it.store.ensure_session(session("main:main", "s-main", address=None), 1.0, same)
        two = await it.store.ensure_session(session("main:main", "s-two", address=direct()), 1.0, same)
        assert (one.id, two.id) == ("s-main", "s-main")
