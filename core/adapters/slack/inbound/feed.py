"""The updates of Slack, by sockets or by HTTP, as a single stream of envelopes for the gateway."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.slack.directory import SlackDirectory
from trunkline.core.adapters.slack.inbound.events import (
    LARGEST_UPDATE,
    OtherTeam,
    SlackReader,
    SlackSelf,
    UnreadableUpdate,
)
from trunkline.core.adapters.slack.inbound.sockets import Frame, Frames
from trunkline.core.errors import NotSent, PlatformError
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Envelope

Done = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Update:
    """An update of Slack; an interaction may press several buttons at once."""

    left: int
    done: Done


class UnackedUpdates:
    """Acknowledges an update to Slack when every message of the update is durable in the gateway."""

    def __init__(self) -> None:
        #: of the same message there are several, if Slack delivers it again before it is acknowledged
        self._waiting: dict[tuple[Address, str], list[_Update]] = {}

    def add(self, envelopes: Sequence[Envelope], done: Done) -> None:
        """Call `done` when all envelopes are acknowledged."""
        update = _Update(len(envelopes), done)
        for envelope in envelopes:
            self._waiting.setdefault(_key(envelope), []).append(update)

    async def ack(self, envelope: Envelope) -> None:
        """Note a durable message. Raises `PlatformError` if Slack cannot be notified, and so delivers again."""
        failed: PlatformError | None = None
        safe = False
        for update in self._waiting.pop(_key(envelope), ()):
            update.left -= 1
            if update.left:
                continue
            try:
                await update.done()
                safe = True
            except PlatformError as error:
                # Of two deliveries, one may have come by a socket that is gone.
                failed = error
        if failed is not None and not safe:
            raise failed

    def clear(self) -> None:
        """Forget the updates of an earlier connection, which Slack delivers again."""
        self._waiting.clear()


def _key(envelope: Envelope) -> tuple[Address, str]:
    return envelope.address, envelope.message_id


#: the messages of a connection on their way to the gateway; an error is its end
Received = asyncio.Queue[Envelope | PlatformError]
_NO_ID = "no id"


class SlackFeed:
    """Reads updates, drops unreadable updates, and keeps updates without acknowledgement."""

    def __init__(self, reader: SlackReader, directory: SlackDirectory, events: AccountEvents) -> None:
        self._reader = reader
        self._directory = directory
        self._events = events
        self._unacked = UnackedUpdates()
        self._received: Received | None = None
        self._me: SlackSelf | None = None
        #: what is called when the connection is over, by those who wait for an acknowledgement
        self._ends: set[Callable[[], None]] = set()

    @contextmanager
    def open(self, received: Received, me: SlackSelf) -> Generator[None]:
        """The gateway listens while the block runs."""
        self._unacked.clear()
        self._received, self._me = received, me
        try:
            yield
        finally:
            if self._received is received:
                self._received = None
                for end in tuple(self._ends):
                    end()

    async def ack(self, envelope: Envelope) -> None:
        """Note a durable message. Raises `NotSent` if Slack cannot be notified, and so delivers the message again."""
        await self._unacked.ack(envelope)

    async def envelopes(self, received: Received) -> AsyncIterator[Envelope]:
        while True:
            found = await received.get()
            if isinstance(found, PlatformError):
                raise found
            yield await self._name_author(found)

    async def of_frames(self, frames: Frames, received: Received) -> AsyncIterator[Envelope]:
        while True:
            frame = await frames.get()
            if isinstance(frame, PlatformError):
                raise frame
            await self._take_frame(frame)
            while not received.empty():
                found = received.get_nowait()
                if isinstance(found, Envelope):
                    yield await self._name_author(found)

    async def _name_author(self, envelope: Envelope) -> Envelope:
        if envelope.peer.name or not envelope.peer.id or envelope.webhook is not None:
            return envelope
        peer = msgspec.structs.replace(envelope.peer, name=await self._directory.name_of(envelope.peer.id))
        return msgspec.structs.replace(envelope, peer=peer)

    async def _take_frame(self, frame: Frame) -> None:
        """Hand over the messages of a frame. A frame without messages is acknowledged at once."""
        payload = None if frame.data is None else frame.data.get("payload")
        update = frame.envelope_id or _NO_ID
        if not isinstance(payload, dict) or frame.size > LARGEST_UPDATE:
            detail = "it is too large" if frame.size > LARGEST_UPDATE else "it is no update"
            if frame.envelope_id is not None or frame.data is None:
                self._events.record_drop(update, detail)
            found = False
        else:
            interactive = (frame.data or {}).get("type") == "interactive"
            fields = cast("dict[str, Any]", payload)
            try:
                found = self.take_update(fields, interactive=interactive, done=frame.acknowledge, update=update)
            except OtherTeam as error:
                self._events.record_drop(update, str(error), Reason.OTHER_WEBHOOK_ACCOUNT)
                found = False
        if not found:
            try:
                await frame.acknowledge()
            except NotSent:
                # The socket is gone. The update comes again, and is dropped again.
                return

    def at_end(self, end: Callable[[], None]) -> Callable[[], None]:
        """Call `end` when the connection is over; returns a function to cancel the call."""
        self._ends.add(end)
        return lambda: self._ends.discard(end)

    def take_update(self, payload: Mapping[str, Any], *, interactive: bool, done: Done, update: str) -> bool:
        """Hand the messages of an update to the gateway; `done` is called when they are durable.

        Returns false if there are none: then it is done already. Raises `OtherTeam`, and `NotSent` while the gateway
        does not listen.
        """
        if self._received is None or self._me is None:
            raise NotSent("the gateway does not listen")
        read = self._reader.interaction if interactive else self._reader.event
        try:
            envelopes = read(payload, self._me)
        except UnreadableUpdate as error:
            self._events.record_drop(update, str(error))
            return False
        except OwnPost as post:
            self._events.record_own(update, post)
            return False
        if (opened := None if interactive else self._reader.unarchived(payload)) is not None:
            self._events.reopened(opened)
        if (deleted := None if interactive else self._reader.deleted(payload)) is not None:
            self._events.report_loss(*deleted, Reason.DELETED_BY_OTHERS)
        if envelopes:
            self._unacked.add(envelopes, done)
        for envelope in envelopes:
            self._received.put_nowait(envelope)
        return bool(envelopes)
