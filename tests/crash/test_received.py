"""A message that is handed over is answered once, whichever commit the gateway dies after; its sender repeats it."""

from pathlib import Path

import anyio
import pytest

from tests.support.dying import DyingGateway, dying
from trunkline.core.errors import StoreError
from trunkline.core.records.inbound import InboundReceipt, InboundStatus
from trunkline.core.store.mailbox import Outcome, ReadOutcome
from trunkline.core.values import Address, ChatKind, Envelope, InboundId, Peer

pytestmark = pytest.mark.anyio

ANA = Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation="ana")
HELLO = Envelope(address=ANA, peer=Peer(id="ana"), message_id="m1", text="hello", sent_at=1.0)
#: commits of a process that answers one message: at least, and fewer than
LEAST, MOST = 5, 20


async def outcome_of(one: DyingGateway, inbound: InboundId) -> Outcome:
    """What came of a message, once nothing more can."""
    with anyio.fail_after(20):
        while True:
            found = await one.store.read(ReadOutcome(inbound=inbound))
            if found is not None and found.complete:
                return found
            await anyio.sleep(0.01)


async def until_death(one: DyingGateway) -> InboundReceipt | None:
    """Hand the message over; its receipt, if the process lived for so long."""
    receipts: list[InboundReceipt] = []

    async def say() -> None:
        try:
            receipts.append(await one.gateway.receive(HELLO))
        except StoreError:
            return

    with anyio.move_on_after(2.0):
        async with anyio.create_task_group() as group:
            group.start_soon(say)
            await one.died.wait()
            group.cancel_scope.cancel()
    return receipts[0] if receipts else None


async def test_a_repeated_message_is_answered_once_whichever_commit_was_the_last(tmp_path: Path) -> None:
    points = 0
    while await dies_after(points + 1, tmp_path / f"{points + 1}.db"):
        points += 1
        assert points < MOST
    # The lease, the message, its turn, the chunk, the mailbox, the receipt.
    assert points >= LEAST


async def dies_after(commits: int, path: Path) -> bool:
    """Let a process die after so many commits, repeat the message, and judge. False: it had nothing more to commit."""
    async with dying(path, commits) as one:
        first = await until_death(one)
        if not one.died.is_set():
            return False
    async with dying(path) as one:
        again = await one.gateway.receive(HELLO)
        assert again.inbound is not None
        if first is not None:
            assert again.status is InboundStatus.DUPLICATE
            assert (again.inbound, again.session_id) == (first.inbound, first.session_id)
        found = await outcome_of(one, again.inbound)
        assert [message.content.chunks for message in found.messages] == [("you said hello",)]
        assert [message.text for message in (await one.mailbox.read()).messages] == ["you said hello"]
    async with dying(path) as one:
        third = await one.gateway.receive(HELLO)
        assert (third.status, third.inbound, third.route) == (InboundStatus.DUPLICATE, again.inbound, again.route)
        assert len((await one.mailbox.read()).messages) == 1
    return True
