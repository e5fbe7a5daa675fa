"""What every store must do so that one process at a time works it.

Two stores that are open on one bench are two processes; `Opened.die` is what the system does when one of them dies.
"""

from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.contract.store_kit.bench import Bench, Opened, all_at_once, check
from tests.support.factories import intent
from tests.support.stores import state_of
from trunkline.core.errors import LeaseLost
from trunkline.core.events.leases import LeaseGone
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import MarkSending
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.port import answer
from trunkline.core.values import IntentId, IntentState

#: seconds that the leases here last
LASTS = 60.0


async def claim(it: Opened, now: float = 0.0) -> LeaseClaim:
    return await it.store.claim(now, LASTS)


async def both(bench: Bench, stack: AsyncExitStack) -> tuple[Opened, Opened]:
    """Two processes; the first has claimed the store at 0."""
    first, second = [await stack.enter_async_context(bench.opened()) for _ in range(2)]
    assert (await claim(first)).taken
    return first, second


def lost(it: Opened) -> list[LeaseGone]:
    return [event.body for event in it.log.events if isinstance(event.body, LeaseGone)]


def gist(found: LeaseClaim) -> tuple[bool, Reason, int]:
    return found.taken, found.reason, found.lease.token


# ---------------------------------------------------------------- who gets it


@check
async def a_free_store_is_taken(bench: Bench) -> None:
    async with bench.opened() as it:
        found = await claim(it, 5.0)
        assert gist(found) == (True, Reason.LEASE_FREE, 1)
        assert (found.lease.until, found.before) == (5.0 + LASTS, None)
        assert await it.enqueue(intent("i1")) is True


@check
async def what_is_held_is_not_given(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        for now in (0.0, LASTS - 1):
            found = await claim(second, now)
            assert gist(found) == (False, Reason.LEASE_HELD, 1)
            assert found.lease.until == LASTS
        # To be refused changes nothing.
        assert await first.enqueue(intent("i1")) is True
        assert not lost(first)


@check
async def a_lease_that_has_run_out_is_taken_over(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        owner = (await claim(second)).lease.owner
        found = await claim(second, LASTS)
        assert gist(found) == (True, Reason.LEASE_EXPIRED, 2)
        assert found.before == owner
        assert not lost(first)


@check
async def a_renewed_lease_runs_out_later(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        await first.store.renew(20.0, LASTS)
        assert not (await claim(second, LASTS)).taken
        assert gist(await claim(second, 20.0 + LASTS)) == (True, Reason.LEASE_EXPIRED, 2)


@check
async def the_store_of_a_dead_process_is_taken_over_at_once(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        first.die()
        found = await claim(second, 1.0)
        assert gist(found) == (True, Reason.HOLDER_DEAD, 2)
        assert found.before is not None


@check
async def a_store_that_is_closed_is_given_back(bench: Bench) -> None:
    async with bench.opened() as second:
        async with bench.opened() as first:
            assert (await claim(first)).taken
            assert not (await claim(second)).taken
        assert gist(await claim(second)) == (True, Reason.LEASE_FREE, 2)


@check
async def a_waiting_process_keeps_no_other_from_taking_over(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        third = await stack.enter_async_context(bench.opened())
        assert not (await claim(second)).taken
        first.die()
        assert gist(await claim(third)) == (True, Reason.HOLDER_DEAD, 2)
        assert gist(await claim(second)) == (False, Reason.LEASE_HELD, 2)


@check
async def the_end_of_a_stale_process_is_not_taken_for_that_of_its_successor(bench: Bench) -> None:
    """The one that took over did so without the lock, which the stale one had until it ended."""
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        third = await stack.enter_async_context(bench.opened())
        assert (await claim(second, LASTS)).taken
        first.die()
        assert gist(await claim(third, LASTS)) == (False, Reason.LEASE_HELD, 2)
        # From its next renewal on it has the lock.
        await second.store.renew(LASTS, LASTS)
        assert gist(await claim(third, LASTS)) == (False, Reason.LEASE_HELD, 2)
        second.die()
        assert gist(await claim(third, LASTS)) == (True, Reason.HOLDER_DEAD, 3)


# ---------------------------------------------------------------- the fence


@check
async def a_stale_process_can_write_nothing(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        await first.enqueue(intent("i1"))
        assert (await claim(second, LASTS)).taken
        answers: list[Any] = await all_at_once(
            lambda: first.ack(intent("i1")),
            lambda: first.admit("m1"),
            lambda: first.store.write(MarkSending(intent=intent("i1"), now=1.0), answer),
        )
        assert [type(answer) for answer in answers] == [LeaseLost] * 3
        assert await state_of(second.store, IntentId("i1")) is IntentState.PREPARED
        assert await second.lines() == []
        assert await second.enqueue(intent("i2")) is True


@check
async def a_loss_is_reported_once_and_ends_the_writer(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        found = await claim(second, LASTS)
        for _ in range(2):
            with pytest.raises(LeaseLost):
                await first.admit("m1")
        with pytest.raises(LeaseLost):
            await first.store.renew(LASTS, LASTS)
        await first.ended.wait()
        [body] = lost(first)
        assert (body.owner, body.token, body.reason) == (found.before, 1, Reason.LEASE_HELD)
        assert not lost(second)


@check
async def a_stale_process_learns_of_it_when_it_renews(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        first, second = await both(bench, stack)
        found = await claim(second, LASTS)
        with pytest.raises(LeaseLost):
            await first.store.renew(LASTS, LASTS)
        assert len(lost(first)) == 1
        third = await stack.enter_async_context(bench.opened())
        assert (await claim(third, LASTS + 1)).lease == found.lease


@check
async def a_stale_process_that_ends_gives_nothing_back(bench: Bench) -> None:
    async with bench.opened() as second:
        async with bench.opened() as first:
            assert (await claim(first)).taken
            assert (await claim(second, LASTS)).taken
        async with bench.opened() as third:
            assert not (await claim(third, LASTS)).taken
        assert await second.enqueue(intent("i1")) is True


@check
async def a_store_without_a_claim_is_used_by_the_process_that_opens_it(bench: Bench) -> None:
    async with bench.opened() as first, bench.opened() as second:
        assert await first.enqueue(intent("i1")) is True
        assert await second.enqueue(intent("i2")) is True
