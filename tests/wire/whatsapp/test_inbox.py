"""A webhook is answered when all of its messages are safe."""

import asyncio

from trunkline.core.adapters.webhook_inbox import WebhookInbox
from trunkline.core.values import Address, ChatKind, Envelope, Peer

PLACE = Address(channel="whatsapp", account="default", kind=ChatKind.DIRECT, conversation="+1")


def said(number: str) -> Envelope:
    return Envelope(address=PLACE, peer=Peer(id="+1"), message_id=number, text=number, sent_at=0.0)


def test_a_webhook_with_two_messages_waits_for_both() -> None:
    async def test() -> None:
        inbox = WebhookInbox()
        async with inbox.stream():
            for missing, there in (("a", "b"), ("b", "a")):
                taking = asyncio.ensure_future(inbox.hand_over([said("a"), said("b")], 0.3))
                await asyncio.sleep(0.05)
                inbox.ack(said(there))
                await asyncio.sleep(0.05)
                assert not taking.done(), missing
                assert await taking is False
            taking = asyncio.ensure_future(inbox.hand_over([said("a"), said("b")], 5.0))
            await asyncio.sleep(0.05)
            inbox.ack(said("b"))
            inbox.ack(said("a"))
            assert await taking is True

    asyncio.run(test())
