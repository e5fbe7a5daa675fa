"""An update is acknowledged to Slack when every message in it is safe."""

import asyncio

from trunkline.core.adapters.slack.inbound.feed import UnackedUpdates
from trunkline.core.values import Address, ChatKind, Envelope, Peer

PLACE = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C1")


def pressed(number: str) -> Envelope:
    return Envelope(address=PLACE, peer=Peer(id="U1"), message_id=number, text="yes", sent_at=0.0, pressed="5.5")


def test_an_interaction_with_two_presses_waits_for_both() -> None:
    async def test() -> None:
        done: list[str] = []

        async def finish() -> None:
            done.append("done")

        unacked, first, second = UnackedUpdates(), pressed("t"), pressed("t/1")
        unacked.add([first, second], finish)
        await unacked.ack(first)
        await unacked.ack(first)
        assert done == []
        await unacked.ack(second)
        assert done == ["done"]
        await unacked.ack(second)
        assert done == ["done"]

    asyncio.run(test())


def test_what_an_earlier_connection_brought_is_not_acknowledged_by_the_next_one() -> None:
    async def test() -> None:
        done: list[str] = []

        async def finish() -> None:
            done.append("done")

        unacked = UnackedUpdates()
        unacked.add([pressed("t")], finish)
        unacked.clear()
        await unacked.ack(pressed("t"))
        assert done == []

    asyncio.run(test())
