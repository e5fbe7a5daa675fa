"""The conversation of a person with an account: how a socket reaches the gateway and its store."""

from __future__ import annotations

from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.http.chat.bodies import mailbox_of
from trunkline.core.http.chat.frames import HelloFrame, MessageFrame, OwnFrame, SaidFrame, SayFrame
from trunkline.core.http.chat.rooms import Place, place_of
from trunkline.core.http.problems import AGAIN, Problem
from trunkline.core.http.served import Served
from trunkline.core.records.inbound import InboundStatus
from trunkline.core.store.mailbox import MailboxMessage, MailboxPage
from trunkline.core.values import Address, ChatKind, Envelope, Peer


class DirectChat:
    """The direct conversation of a person with a mailbox account."""

    def __init__(self, served: Served, adapter: MailboxAdapter, peer: Peer) -> None:
        self._served = served
        self._adapter = adapter
        self._peer = peer
        self._address = Address(
            channel=adapter.channel, account=adapter.account, kind=ChatKind.DIRECT, conversation=peer.id
        )

    @property
    def place(self) -> Place:
        """The room of the sockets of this conversation."""
        return place_of(self._address)

    async def say(self, say: SayFrame) -> tuple[SaidFrame, OwnFrame | None]:
        """Hand a message to the gateway. Returns its fate, and the frame that other sockets show.

        Raises `Problem` 409 if the id belongs to another message, and a `TrunklineError` if nothing was stored.
        """
        at = self._served.env.now()
        envelope = Envelope(
            address=self._address,
            peer=self._peer,
            message_id=say.id,
            text=say.text,
            sent_at=at,
            pressed=None if say.pressed is None else str(say.pressed),
        )
        receipt = await self._served.gateway.receive(envelope)
        if receipt.differs:
            detail = "Another message has this id already. Nothing was stored: send it with an id of its own."
            raise Problem(409, "message-id-reused", detail)
        said = SaidFrame(
            id=say.id,
            status=receipt.status,
            inbound=receipt.inbound,
            reason=receipt.reason,
            detail=receipt.detail,
            session_id=receipt.session_id,
            agent=receipt.agent or None,
        )
        admitted = receipt.status is InboundStatus.ADMITTED
        return said, OwnFrame(id=say.id, text=say.text, at=at) if admitted else None

    async def messages(self, after: int, limit: int, *, wait: bool = False) -> MailboxPage:
        """Messages of the mailbox behind a cursor, oldest first. `wait`: until there is a message."""
        read = self._adapter.next if wait else self._adapter.read
        return await read(after=after, conversation=self._address.conversation, kind=ChatKind.DIRECT, limit=limit)


def message_frame(message: MailboxMessage) -> MessageFrame:
    """A message of the mailbox as a frame."""
    return MessageFrame(
        cursor=message.n,
        text=message.text,
        at=message.at,
        media=message.media,
        reply_to=message.reply_to,
        thread=message.address.thread,
        poll=message.poll,
        payload=message.payload,
        parts=message.parts,
    )


def open_chat(served: Served, hello: HelloFrame) -> DirectChat:
    """The conversation that a hello names. Raises `Problem` for an unknown account, and while no work is taken."""
    if not served.gateway.serving:
        detail = "The gateway waits for its store, or recovers unfinished work. Connect again soon."
        raise Problem(503, "standby", detail, headers={"Retry-After": str(AGAIN)})
    adapter = mailbox_of(served.gateway, hello.channel, hello.account)
    return DirectChat(served, adapter, Peer(id=hello.peer.id, name=hello.peer.name or hello.peer.id))
