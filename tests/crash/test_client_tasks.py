"""A task without a turn: whichever commit its gateway dies after, its client repeats it and gets one result."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.dying import DyingGateway, dying
from tests.support.small_gateway import Clerk, Echo
from trunkline import Turn
from trunkline.core.errors import StoreError
from trunkline.core.hands.port import ClientTask, Delegated
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store.delegations import DelegationFilter, FindDelegation
from trunkline.core.store.operators.hands import ReadHandsOverview
from trunkline.core.values import DelegationId

pytestmark = pytest.mark.anyio

#: commits of a process that does one task: at least, and fewer than
LEAST, MOST = 6, 30
RESULT = {"clerk": "done: count", "courier": "counted"}


async def report(turn: Turn) -> str | None:
    return f"it said: {turn.text}" if turn.callback is not None else None


def gateway(path: Path, commits: int | None = None) -> Any:
    hands = {"each": {"courier": {"worker": True}, "clerk": {"on_restart": "rerun"}}}
    return dying(path, commits, channel="sms", agent=Echo(report), runner=Clerk(), hands=hands)


def task(hand: str) -> ClientTask:
    return ClientTask(key="k1", hand=hand, task="count", to="user:ana", channel="sms")


async def until_death(one: DyingGateway, hand: str) -> list[Delegated]:
    """Give the task, and do it if a worker must; what the client heard, if the process lived for so long."""
    heard: list[Delegated] = []

    async def client() -> None:
        try:
            heard.append(await one.gateway.delegate(task(hand)))
            if hand == "courier":
                await do_it(one, heard[0].delegation)
        except StoreError:
            return

    with anyio.move_on_after(2.0):
        async with anyio.create_task_group() as group:
            group.start_soon(client)
            await one.died.wait()
            group.cancel_scope.cancel()
    return heard


async def do_it(one: DyingGateway, delegation: DelegationId) -> bool:
    """What a worker does that has lost its ticket, if it ever had one."""
    taken = await one.gateway.hands.take("courier", "ben")
    ticket = None if taken is None else taken.ticket
    result = HandResult(outcome=HandOutcome.OK, text="counted")
    return await one.gateway.inject_callback(delegation, result, ticket=ticket)


async def reported(one: DyingGateway, delegation: DelegationId) -> None:
    """Wait until the result has been reported."""
    with anyio.fail_after(20):
        while True:
            row = await one.store.read(FindDelegation(delegation=delegation))
            if row is not None and row.callback is CallbackState.DELIVERED:
                assert row.state is WorkState.SUCCEEDED
                return
            await anyio.sleep(0.01)


@pytest.mark.parametrize("hand", sorted(RESULT))
async def test_a_repeated_task_has_one_result_whichever_commit_was_the_last(tmp_path: Path, hand: str) -> None:
    points = 0
    while await dies_after(points + 1, tmp_path / f"{points + 1}.db", hand):
        points += 1
        assert points < MOST
    # The lease, the session, the task, its result, the turn that reports it, the mailbox, the receipt.
    assert points >= LEAST


async def dies_after(commits: int, path: Path, hand: str) -> bool:
    """Let a process die after so many commits, repeat the task, and judge. False: it had nothing more to commit."""
    async with gateway(path, commits) as one:
        heard = await until_death(one, hand)
        if not one.died.is_set():
            return False
    async with gateway(path) as one:
        again = await one.gateway.delegate(task(hand))
        assert heard in ([], [again])
        if hand == "courier":
            await do_it(one, again.delegation)
        await reported(one, again.delegation)
        await judge(one, again, hand)
    async with gateway(path) as one:
        assert await one.gateway.delegate(task(hand)) == again
        await judge(one, again, hand)
    return True


async def judge(one: DyingGateway, made: Delegated, hand: str) -> None:
    """One delegation, and one report of its result."""
    query = ReadHandsOverview(which=DelegationFilter(), limit=100, now=1.0)
    assert [row.id for row in (await one.store.read(query)).page.rows] == [made.delegation]
    assert [message.text for message in (await one.mailbox.read()).messages] == [f"it said: {RESULT[hand]}"]
