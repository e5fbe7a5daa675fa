"""Stories, batches of writes, and full disks."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.contract.store_kit.bench import OK, Bench, all_at_once, check, same
from tests.support.factories import delegation, direct, intent, receipt, session, work
from tests.support.stores import state_of
from trunkline.core.errors import IllegalTransition
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Admission, Settlement
from trunkline.core.store.commands import AckChunk, Admit, Defer, Enqueue, EnsureSession, FinishTurn, MarkSending
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation, StartDelegation
from trunkline.core.store.port import answer
from trunkline.core.values import IntentId, IntentState

#: longer than what is left on a disk that is full
LONG = "x" * 200_000


# ---------------------------------------------------------------- stories


@check
async def a_story_is_recorded_after_the_commit_and_before_its_writer_goes_on(bench: Bench) -> None:
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

            answer = await it.store.write(
                Admit(work=work(name), identity=f"id-{name}", session=session(), now=1.0), story
            )
            assert name in told
            returned.append(answer)

        names = [f"m{number}" for number in range(20)]
        await all_at_once(*(lambda name=name: write(name) for name in names))
    # In the order of the commits, which is the order in which the writes were asked for.
    assert told == names
    assert sorted(returned) == sorted(name.upper() for name in names)
    assert all(durable > index for index, durable in enumerate(seen))


@check
async def stories_of_different_verbs_are_recorded_in_one_order(bench: Bench) -> None:
    told: list[str] = []

    def story(name: str) -> Callable[[Any], None]:
        return lambda _: told.append(name)

    async with bench.opened() as it:
        await all_at_once(
            lambda: it.store.write(
                Admit(work=work("m1"), identity="id-m1", session=session(), now=1.0), story("admit")
            ),
            lambda: it.store.write(Enqueue(intent=intent("i1"), now=1.0), story("enqueue")),
            lambda: it.store.write(
                AckChunk(intent=intent("i1"), receipt=receipt(), mirror=session(), now=1.0, mirror_due=False),
                story("ack"),
            ),
            lambda: it.store.write(AcceptDelegation(row=delegation()), story("accept")),
            lambda: it.store.write(
                FinishDelegation(delegation=delegation().id, result=OK, callback=None, intents=[], now=1.0),
                story("finish"),
            ),
            lambda: it.store.write(FinishTurn(work=work("m1"), intents=[], now=1.0), story("done")),
        )
    assert told == ["admit", "enqueue", "ack", "accept", "finish", "done"]


@check
async def the_story_of_a_refused_write_is_not_recorded(bench: Bench) -> None:
    told: list[Any] = []
    async with bench.opened() as it:
        with pytest.raises(IllegalTransition):
            await it.store.write(
                AckChunk(intent=intent("nowhere"), receipt=receipt(), mirror=None, now=1.0, mirror_due=False),
                told.append,
            )
    assert told == []


@check
async def a_story_that_raises_ends_the_store_and_its_write_stands_once(bench: Bench) -> None:
    told: list[Admission] = []

    def story(admission: Admission) -> None:
        told.append(admission)
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as group:
        async with bench.opened() as it:
            await it.store.write(Admit(work=work("m1"), identity="id-m1", session=session(), now=1.0), story)
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
            lambda: it.store.write(StartDelegation(delegation=delegation().id, now=2.0), answer),
            lambda: it.ack(intent("i1")),
            lambda: it.admit("m2"),
        )
        assert [type(answer) for answer in answers] == [
            Admission,
            bool,
            IllegalTransition,
            IllegalTransition,
            Settlement,
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
        assert await state_of(it.store, IntentId("m1")) is IntentState.PREPARED
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
                        lambda: it.store.write(MarkSending(intent=intent("i1"), now=2.0), answer),
                        # Sinks the batch, so that its writes are made one by one.
                        lambda: it.ack(intent("not there")),
                        lambda: it.admit("long", text=LONG),
                        lambda: it.store.write(
                            Defer(
                                intent=intent("i1", state=IntentState.SENDING),
                                next_at=9.0,
                                reason=Reason.NOT_SENT,
                                now=3.0,
                            ),
                            same,
                        ),
                    )
                )

            group.start_soon(write)
            await it.refused()
            assert await state_of(it.store, IntentId("i1")) is IntentState.SENDING
            await it.free_disk()
        assert [type(answer) for answer in answers] == [type(None), IllegalTransition, Admission, bool]
        assert await state_of(it.store, IntentId("i1")) is IntentState.PREPARED
        assert [ref for _, _, ref, _ in await it.lines()] == ["long"]


@check
async def each_refusal_is_reported_with_the_wait_until_the_next_try(bench: Bench) -> None:
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
        one = await it.store.write(EnsureSession(session=session("main:main", "s-main", address=None), now=1.0), same)
        two = await it.store.write(
            EnsureSession(session=session("main:main", "s-two", address=direct()), now=1.0), same
        )
        assert (one.id, two.id) == ("s-main", "s-main")
