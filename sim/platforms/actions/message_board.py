"""All messages of one platform in their current state: texts, reactions, pins, votes."""

from collections.abc import Iterator

import msgspec

from trunkline.core.values import Address, Identity, Receipt, SendRequest
from trunkline.sim.platforms.rooms import Room


class BoardMessage(msgspec.Struct, kw_only=True):
    """A message of a person or of the gateway."""

    room: Room
    id: str
    #: id of the person or bot that wrote it
    author: str
    text: str
    at: float
    #: the gateway's account that wrote it; None: somebody else did
    account: str | None = None
    #: emoji -> who reacted with it, in order
    reactions: dict[str, list[str]] = {}
    #: voter -> the numbers of the chosen options, from 0
    votes: dict[str, tuple[int, ...]] = {}
    pinned: bool = False
    deleted: bool = False
    edits: int = 0

    @property
    def identity(self) -> Identity | None:
        return None

    @property
    def emoji(self) -> tuple[str, ...]:
        return tuple(self.reactions)


class PostedMessage(BoardMessage, kw_only=True):
    """A message of the gateway, with the request that it came from."""

    request: SendRequest
    receipt: Receipt

    @property
    def identity(self) -> Identity | None:
        return self.request.identity

    @property
    def media(self) -> tuple[str, ...]:
        return self.request.media


class MessageBoard:
    """The messages of a platform, in order of posting. An id is unique in its conversation only."""

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str, str], BoardMessage] = {}

    def add(self, message: BoardMessage) -> None:
        self._by_id[message.room.owner, message.room.conversation, message.id] = message

    def get(self, room: Room, message_id: str) -> BoardMessage | None:
        """The message with this id in a conversation, deleted or not; None if there never was one."""
        return self._by_id.get((room.owner, room.conversation, message_id))

    def within(self, room: Room) -> Iterator[BoardMessage]:
        """The messages of a room that are not deleted; of a topic or thread inside a room, its own only."""
        for message in self._by_id.values():
            if message.room is room and not message.deleted:
                yield message

    @property
    def all(self) -> tuple[BoardMessage, ...]:
        """Every message, also deleted ones."""
        return tuple(self._by_id.values())

    @property
    def sent(self) -> tuple[PostedMessage, ...]:
        """The gateway's messages that are still visible, in order of acceptance."""
        return tuple(
            message for message in self._by_id.values() if isinstance(message, PostedMessage) and not message.deleted
        )

    def sent_at(self, address: Address, message_id: str) -> PostedMessage | None:
        """The gateway's message with this id at an address, still visible or not."""
        for message in self._by_id.values():
            if isinstance(message, PostedMessage) and message.id == message_id and message.receipt.address == address:
                return message
        return None
