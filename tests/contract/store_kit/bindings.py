"""What every store must do with session bindings."""

from typing import Any

import msgspec
import pytest

from tests.contract.store_kit.bench import Bench, Opened, all_at_once, check, same
from tests.support.factories import intent, room, session
from trunkline.core.bindings.conversation_match import place_id
from trunkline.core.errors import IllegalTransition
from trunkline.core.keys import Migration
from trunkline.core.keys.canonical import Move
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord, TargetKind
from trunkline.core.records.rows import BindResult, StoredBindings
from trunkline.core.states.binding import BINDING_TRANSITIONS, BindingEvent, BindingStatus
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import Bind, ChangeBinding, EnsureSession, MigrateKeys, Prune, TouchBinding
from trunkline.core.store.queries import (
    CountOpenByBinding,
    FindBinding,
    FindBindingOfRequest,
    FindSession,
    ListBindings,
    LoadIntents,
)
from trunkline.core.values import Address, Identity, IntentId

S, E = BindingStatus, BindingEvent
replace = msgspec.structs.replace
KEY = "ops:main"


def made(name: str, place: Address | None = None, key: str = KEY, **fields: Any) -> SessionBindingRecord:
    given: dict[str, Any] = {"bound_at": 10.0, "last_activity_at": 10.0, **fields}
    return SessionBindingRecord(
        binding_id=name,
        target_session_key=key,
        target_kind=TargetKind.SESSION,
        conversation=place or room("500"),
        **given,
    )


async def bind(it: Opened, record: SessionBindingRecord, now: float = 20.0, **more: Any) -> BindResult:
    return await it.store.write(Bind(record=record, session=more.pop("session", None), now=now), same, **more)


async def change(it: Opened, name: str, event: BindingEvent, **changes: Any) -> SessionBindingRecord | None:
    return await it.store.write(ChangeBinding(binding=name, event=event, changes=changes), same)


async def touch(it: Opened, name: str, at: float) -> list[SessionBindingRecord | None]:
    """Touch a binding; the answer, once it is durable."""
    told: list[SessionBindingRecord | None] = []
    it.store.submit(TouchBinding(binding=name, at=at), same, then=told.append)
    # Writes are stored in their order.
    await it.admit(f"after {name} {at}")
    return told


async def there(it: Opened, *, ended: bool = False) -> list[tuple[str, str]]:
    return [(one.binding_id, one.status.value) for one in (await it.store.read(ListBindings(ended=ended))).rows]


@check
async def a_binding_is_stored_whole_and_found_by_the_next_process(bench: Bench) -> None:
    full = made(
        "b1",
        room("500", thread="7", parent="3"),
        idle_timeout=60.0,
        max_age=600.0,
        bound_by="discord:7",
        label="ops desk",
        identity=Identity(id="w1", name="clerk"),
        fallbacks=2,
        degraded=Reason.IDENTITY_GONE,
        request="r1",
        metadata={"a": "b"},
    )
    async with bench.opened() as it:
        assert await bind(it, full) == BindResult(new=True, record=full)
    async with bench.opened() as it:
        assert await it.store.read(ListBindings()) == StoredBindings(rows=(full,))
        assert await it.store.read(FindBinding(binding="b1")) == full
        assert await it.store.read(FindBindingOfRequest(request="r1")) == full
        assert await it.store.read(FindBinding(binding="b2")) is None
        assert await it.store.read(FindBindingOfRequest(request="r2")) is None


@check
async def its_session_is_made_with_it(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.read(FindSession(key=KEY)) is None
        bound = await bind(it, made("b1"), session=session(KEY, "s-ops", agent="ops", address=None))
        assert bound.session is not None
        assert (bound.session.key, bound.session.created) == (KEY, True)
        again = await bind(it, made("b2", room("501")), session=session(KEY, "s-more", agent="ops", address=None))
        assert again.session is not None
        assert (again.session.id, again.session.created) == ("s-ops", False)


@check
async def binding_again_ends_the_old_one_in_the_same_transaction(bench: Bench) -> None:
    told: list[Any] = []
    async with bench.opened() as it:
        await bind(it, made("b1"))
        commits = it.commits()
        bound = await bind(it, made("b2", key="main:main"), 30.0, then=told.append)
        assert it.commits() == commits + 1
        old = made("b1", status=S.ENDED, reason=Reason.REBOUND, ended_at=30.0)
        assert bound == BindResult(new=True, record=made("b2", key="main:main"), ended=old)
        assert told == [bound]
        assert await there(it) == [("b2", "active")]
        assert await it.store.read(FindBinding(binding="b1")) == old


@check
async def only_the_same_conversation_is_bound_again(bench: Bench) -> None:
    """Every part of the reference counts (museum B133); the case of an account and the kind do not."""
    apart = [
        room("500"),
        room("501"),
        room("500", thread="7"),
        room("500", account="work"),
        room("500", channel="telegram"),
    ]
    async with bench.opened() as it:
        for n, place in enumerate(apart):
            assert (await bind(it, made(f"b{n}", place))).ended is None
        same_one = room("500", account="WORK")
        assert place_id(same_one) == place_id(apart[3])
        ended = (await bind(it, made("b9", same_one))).ended
        assert ended is not None
        assert ended.binding_id == "b3"


@check
async def one_that_is_ending_keeps_no_conversation(bench: Bench) -> None:
    async with bench.opened() as it:
        await bind(it, made("b1"))
        await change(it, "b1", E.DRAIN, reason=Reason.UNBOUND)
        assert (await bind(it, made("b2"))).ended is None
        assert await there(it) == [("b1", "ending"), ("b2", "active")]


@check
async def a_request_makes_one_binding_ever(bench: Bench) -> None:
    async with bench.opened() as it:
        first = made("b1", request="r1")
        await bind(it, first)
        assert await bind(it, made("b2", room("501"), request="r1")) == BindResult(new=False, record=first)
        await change(it, "b1", E.END, reason=Reason.UNBOUND, ended_at=30.0)
    async with bench.opened() as it:
        again = await bind(it, made("b3", request="r1"))
        assert (again.new, again.record.binding_id, again.record.status) == (False, "b1", S.ENDED)
        assert await there(it, ended=True) == [("b1", "ended")]


@check
async def of_many_at_once_the_last_one_has_the_conversation(bench: Bench) -> None:
    async with bench.opened() as it:
        answers = await all_at_once(*(lambda n=n: bind(it, made(f"b{n}")) for n in range(20)))
        assert all(answer.new for answer in answers)
        [(last, status)] = await there(it)
        ended = [answer.ended.binding_id for answer in answers if answer.ended is not None]
        assert status == "active"
        assert sorted([*ended, last]) == sorted(f"b{n}" for n in range(20))


@check
async def of_a_request_that_is_made_many_times_at_once_one_is_new(bench: Bench) -> None:
    async with bench.opened() as it:
        answers = await all_at_once(*(lambda n=n: bind(it, made(f"b{n}", request="r1")) for n in range(20)))
        [new] = [answer for answer in answers if answer.new]
        assert {answer.record for answer in map(_hashable, answers)} == {new.record.binding_id}


def _hashable(bound: BindResult) -> Any:
    return replace(bound, record=bound.record.binding_id)


# ---------------------------------------------------------------- what happens to it

#: what comes too late is no error: nothing is changed
LATE = {(S.ENDED, event) for event in E} | {(S.ENDING, E.DRAIN)}


@check
async def a_binding_does_what_the_table_says_or_is_left_as_it_is(bench: Bench) -> None:
    async with bench.opened() as it:
        for n, (status, event) in enumerate((status, event) for status in S for event in E):
            name = f"b{n}"
            before = made(name, room(str(n)))
            await bind(it, before)
            if status is not S.ACTIVE:
                found = await change(it, name, E.DRAIN if status is S.ENDING else E.END)
                assert found is not None
                before = found
            after = BINDING_TRANSITIONS[status].get(event)
            if (status, event) in LATE:
                assert await change(it, name, event, fallbacks=7) is None
            elif after is None:
                with pytest.raises(IllegalTransition):
                    await change(it, name, event, fallbacks=7)
            else:
                found = await change(it, name, event, fallbacks=7)
                before = replace(before, status=after, fallbacks=7)
                assert found == before
            assert await it.store.read(FindBinding(binding=name)) == before
        assert await change(it, "nobody", E.END) is None
        assert it.refusals == 0


@check
async def what_nobody_waits_for_is_stored_all_the_same(bench: Bench) -> None:
    told: list[Any] = []
    async with bench.opened() as it:
        await bind(it, made("b1"))
        it.store.submit(
            ChangeBinding(binding="b1", event=E.DRAIN, changes={"reason": Reason.UNBOUND}), same, then=told.append
        )
        # Refused, and nothing else is.
        await bind(it, made("b2"))
        it.store.submit(ChangeBinding(binding="b2", event=E.DRAINED, changes={}), same, then=told.append)
        it.store.submit(
            ChangeBinding(binding="b1", event=E.DRAINED, changes={"ended_at": 30.0}), same, then=told.append
        )
        await it.admit("m1")
        assert [(one.binding_id, one.status) for one in told] == [("b1", S.ENDING), ("b1", S.ENDED)]
    async with bench.opened() as it:
        assert await there(it, ended=True) == [("b1", "ended"), ("b2", "active")]
        assert (await it.store.read(ListBindings(ended=True))).rows[0].ended_at == 30.0


@check
async def a_touch_moves_the_last_activity_and_never_back(bench: Bench) -> None:
    async with bench.opened() as it:
        await bind(it, made("b1", idle_timeout=60.0))
        assert await touch(it, "b1", 15.0) == [made("b1", idle_timeout=60.0, last_activity_at=15.0)]
        for at in (15.0, 12.0, -5.0, float("nan")):
            assert await touch(it, "b1", at) == [None]
        assert await touch(it, "nobody", 15.0) == [None]
    async with bench.opened() as it:
        [record] = (await it.store.read(ListBindings())).rows
        assert record.last_activity_at == 15.0
        # Another change keeps what the touch did.
        changed = await change(it, "b1", E.IDENTITY, fallbacks=1)
        assert changed is not None
        assert changed.last_activity_at == 15.0


@check
async def what_is_over_does_not_come_back_by_a_touch(bench: Bench) -> None:
    async with bench.opened() as it:
        await bind(it, made("b1", idle_timeout=60.0))
        assert await touch(it, "b1", 70.0) == [None]
        assert (await touch(it, "b1", 69.9))[0] is not None
        await bind(it, made("b2", room("501"), max_age=60.0))
        assert await touch(it, "b2", 70.0) == [None]
        # What is finished in one that is ending is something that was said there.
        await change(it, "b1", E.DRAIN)
        assert (await touch(it, "b1", 500.0))[0] is not None
        await change(it, "b1", E.DRAINED)
        assert await touch(it, "b1", 501.0) == [None]


@check
async def a_message_of_a_bound_conversation_touches_it_in_its_own_transaction(bench: Bench) -> None:
    async with bench.opened() as it:
        await bind(it, made("b1", last_activity_at=1.0))
        commits = it.commits()
        admission = await it.admit("m1", binding="b1")
        assert admission.touched == made("b1", last_activity_at=2.0)
        row = intent("i1", binding="b1")
        await it.enqueue(row)
        assert (await it.ack(row)).touched == made("b1", last_activity_at=3.0)
        assert it.commits() == commits + 3
        # A repeated one says nothing new.
        assert (await it.admit("m2", "id-m1", binding="b1")).touched is None
        assert (await it.store.read(ListBindings())).rows[0].last_activity_at == 3.0


# ---------------------------------------------------------------- what the next process finds


@check
async def what_has_ended_is_not_open_and_is_listed_where_asked_for(bench: Bench) -> None:
    async with bench.opened() as it:
        for n in range(3):
            await bind(it, made(f"b{n}", room(str(n))))
        await change(it, "b0", E.END)
        await change(it, "b1", E.DRAIN)
    async with bench.opened() as it:
        assert (await it.store.read(ListBindings())).broken == {}
        assert await there(it) == [("b1", "ending"), ("b2", "active")]
        assert await there(it, ended=True) == [("b0", "ended"), ("b1", "ending"), ("b2", "active")]


@check
async def open_messages_of_each_binding_are_counted(bench: Bench) -> None:
    async with bench.opened() as it:
        rows = [intent(f"i{n}", binding="b1" if n < 3 else "b2") for n in range(5)]
        for row in (*rows, intent("i9")):
            await it.enqueue(row)
        await it.ack(rows[0])
        await it.end(rows[3], DeliveryEvent.REFUSE)
    async with bench.opened() as it:
        assert await it.store.read(CountOpenByBinding()) == {"b1": 2, "b2": 1}
        [loaded] = (await it.store.read(LoadIntents(ids=[IntentId("i1")]))).rows
        assert loaded.bound.binding == "b1"


#: columns, and what breaks them
BROKEN: list[tuple[str, object]] = [
    ("body", '{"half'),
    ("body", "{}"),
    ("body", b"\xff\xfe"),
    ("status", "sleeping"),
    ("status", b"\xff"),
    ("last_activity_at", "yesterday"),
    ("last_activity_at", b"\xff"),
]


@check
async def a_broken_binding_is_reported_and_hides_no_other(bench: Bench) -> None:
    async with bench.opened() as it:
        for n, (column, value) in enumerate(BROKEN):
            await bind(it, made(f"bad{n}", room(f"bad{n}"), request=f"r{n}"))
            await bind(it, made(f"good{n}", room(f"good{n}")))
            await it.spoil(f"bad{n}", column, value, "bindings")
    async with bench.opened() as it:
        found = await it.store.read(ListBindings())
        assert [one.binding_id for one in found.rows] == [f"good{n}" for n in range(len(BROKEN))]
        assert sorted(found.broken) == [f"bad{n}" for n in range(len(BROKEN))]
        assert all(found.broken.values())
        assert (await it.store.read(ListBindings(ended=True))).rows == found.rows


@check
async def a_broken_row_does_not_keep_its_conversation_nor_a_message(bench: Bench) -> None:
    async with bench.opened() as it:
        for n, (column, value) in enumerate(BROKEN):
            place = room(f"bad{n}")
            await bind(it, made(f"bad{n}", place))
            await it.spoil(f"bad{n}", column, value, "bindings")
            assert (await it.admit(f"m{n}", binding=f"bad{n}")).touched is None
            assert (await bind(it, made(f"new{n}", place))).ended is None
        assert it.refusals == 0
        assert [name for name, _ in await there(it)] == [f"new{n}" for n in range(len(BROKEN))]


@check
async def a_binding_follows_its_session_to_its_new_key(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(EnsureSession(session=session("old", "s1", codec="older"), now=1.0), same)
        await bind(it, made("b1", key="old"))
        await bind(it, made("b2", room("501"), key="main:main"))
        await bind(it, made("b3", room("502"), key="old"))
        await change(it, "b3", E.END)

        def plan(rows: Any) -> Migration:
            moves = tuple(Move(old=row.key, new="new", session_id=row.session_id, why="") for row in rows)
            return Migration(moves=moves, merged=(), untouched=(), unreadable=())

        await it.store.write(MigrateKeys(codec="v1", plan=plan, now=30.0), same)
    async with bench.opened() as it:
        rows = (made("b1", key="new"), made("b2", room("501"), key="main:main"))
        assert await it.store.read(ListBindings()) == StoredBindings(rows=rows)
        ended = await it.store.read(FindBinding(binding="b3"))
        assert ended is not None
        # What has ended stays as it was.
        assert ended.target_session_key == "old"


@check
async def what_ended_long_ago_is_removed_and_what_holds_is_kept(bench: Bench) -> None:
    async with bench.opened() as it:
        for name, conversation in (("b1", "501"), ("b2", "502"), ("b3", "503")):
            await bind(it, made(name, room(conversation), idle_timeout=1e9))
        await change(it, "b1", E.END, reason=Reason.UNBOUND, ended_at=30.0)
        await change(it, "b2", E.END, reason=Reason.UNBOUND, ended_at=30.0, last_activity_at=5000.0)
        removed = await it.store.write(Prune(cutoff=1000.0), same)
        assert removed.bindings == 1
        assert await there(it, ended=True) == [("b2", "ended"), ("b3", "active")]
        assert (await it.store.write(Prune(cutoff=1000.0), same)).bindings == 0
