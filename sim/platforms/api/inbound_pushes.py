"""Pushes to the gateway: its connections, and the messages that wait for one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import msgspec

from trunkline.core.channels import LateOutcome
from trunkline.core.errors import NotSent, PlatformError
from trunkline.core.message_parts import FilePart, OtherPart
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Envelope, Peer
from trunkline.sim.events.wire import WireLost
from trunkline.sim.events.world import PlatformConfirmed, PlatformConnected, PlatformPushed
from trunkline.sim.loop import Node
from trunkline.sim.platforms.actions.message_board import PostedMessage
from trunkline.sim.platforms.api.api_calls import ApiHost
from trunkline.sim.platforms.rooms import WorldPort

#: what the platform writes itself, beside what people write: this place takes messages again, or a message is lost
REOPENED, _LOST = (OtherPart(what="reopened"),), (OtherPart(what="lost"),)
#: platform -> the losses of accepted messages of which accounts are notified
_NOTIFIED = {"whatsapp": Reason.REFUSED, **dict.fromkeys(("discord", "slack", "matrix"), Reason.DELETED_BY_OTHERS)}


class Connection(msgspec.Struct, kw_only=True):
    """A live connection of one gateway process for one account."""

    node: Node
    queue: asyncio.Queue[Envelope | PlatformError]
    #: nothing arrives over it any more, and nobody has closed it
    silent: bool = False
    #: it also brings what the platform writes itself
    notes: bool = False
    #: it also brings what people do to messages
    deeds: bool = False

    @property
    def takes_notes(self) -> bool:
        """Whether what the platform writes itself arrives over it now."""
        return self.notes and self.node.alive and not self.silent

    async def envelopes(
        self, reopened: Callable[[Address], None], late: Callable[[LateOutcome], None]
    ) -> AsyncIterator[Envelope]:
        """Envelopes in order of arrival, until the connection breaks; `reopened` and `late` get the rest."""
        while True:
            found = await self.queue.get()
            if isinstance(found, PlatformError):
                # A new error: the traceback of the queued one would keep this frame and its callers alive.
                raise type(found)(found.facts)
            if found.parts == _LOST:
                reason, cause = Reason(found.text), found.cause
                late(LateOutcome(place=found.address, message_id=found.message_id, reason=reason, cause=cause))
                continue
            if found.parts == REOPENED:
                reopened(found.address)
                continue
            yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Facts that a platform reports of a message beside author and text. The default: a person wrote a text."""

    bot: bool = False
    webhook: str | None = None
    #: the webhook is the gateway's own, and its message comes back
    echo: bool = False
    #: id of the message that a proxy replaced by this one
    stands_for: str | None = None
    #: id of the message whose button the person pressed, instead of writing
    pressed: str | None = None
    parts: tuple[FilePart, ...] = ()
    #: the act that it belongs to, as the platform names it; and the id of the first message of the act
    album: str | None = None
    act: str | None = None


PERSON = Speaker()


class Posted(msgspec.Struct, kw_only=True):
    """A message of a person on its way to the gateway, until acknowledged."""

    envelope: Envelope
    #: its actual place; the envelope may also name a reply chain
    place: Address
    #: id under which it was first posted
    original: str
    #: seq of the causing event
    cause: int | None
    #: its latency is over: it is delivered to the current or next connection
    due: bool = False
    times: int = 0
    #: its next delivery is made twice, by a fault
    twice: bool = False


class Pushes:
    """The connections of one platform, and everything that was not acknowledged yet."""

    def __init__(self, platform: ApiHost, world: WorldPort) -> None:
        self._platform = platform
        self._world = world
        self._connections: dict[str, Connection] = {}
        self._unacked: dict[str, dict[str, Posted]] = {account: {} for account in platform.spec.accounts}
        #: lost messages whose account is still to be notified
        self._losses = 0
        #: changes without an event: connections and acknowledgements
        self.changes = 0

    def deliver(self, posted: Posted, key: str, delay: float) -> None:
        """Push a message after a delay; `key` identifies it among those that wait for the account."""
        self._unacked[posted.envelope.address.account][key] = posted
        self._world.call_at(self._world.now() + delay, self._arrive, posted)

    def reopened(self, place: Address) -> None:
        """Note on the connection of an account that a place is open; without a connection, nothing is noted later."""
        listening, now = self._connections.get(place.account), self._world.now()
        if listening is None or not listening.notes:
            return
        made = self._platform.new_id("reopened", *place.lane, str(now))
        note = Envelope(address=place, peer=Peer(id=made), message_id=made, text="", parts=REOPENED, sent_at=now)

        def arrive() -> None:
            connection = self._connections.get(place.account)
            if connection is not None and connection.takes_notes:
                connection.queue.put_nowait(note)

        self._world.call_at(now + self._platform.latency("reopened", *place.lane, str(now)), arrive)

    def lose(self, message: PostedMessage, reason: Reason) -> None:
        """Take a message of the gateway back, and notify its account, where the platform does so."""
        message.deleted, message.pinned = True, False
        self._losses += 1
        place, name = message.receipt.address, message.id

        def arrive() -> None:
            self._losses -= 1
            connection = self._connections.get(place.account)
            if _NOTIFIED.get(place.channel) is not reason or connection is None or not connection.takes_notes:
                connection = None
            notified, request = connection is not None, message.request
            body = WireLost(address=place, provider_id=name, text=message.text, reason=reason, notified=notified)
            seq = self._platform.events.record(body, intent=request.intent)
            if connection is not None:
                bot = Peer(id=message.author)
                connection.queue.put_nowait(
                    Envelope(address=place, peer=bot, message_id=name, text=reason, parts=_LOST, sent_at=0.0, cause=seq)
                )

        self._world.call_at(self._world.now() + self._platform.latency("lost", name), arrive)

    def _arrive(self, posted: Posted) -> None:
        posted.due = True
        self._push(posted)

    def _push(self, posted: Posted) -> None:
        """Deliver a message to the live connection; without one it waits for the next."""
        envelope = posted.envelope
        connection = self._connections.get(envelope.address.account)
        waits = any(other is posted for other in self._unacked[envelope.address.account].values())
        if connection is None or not connection.node.alive or connection.silent or not waits:
            return
        if envelope.deed is not None and not connection.deeds:
            # The gateway did not ask for it.
            self.ack(envelope)
            return
        again, posted.twice = posted.twice, False
        for _ in range(2 if again else 1):
            self._hand_over(posted, connection)

    def _hand_over(self, posted: Posted, connection: Connection) -> None:
        connection.queue.put_nowait(msgspec.structs.replace(posted.envelope, cause=self._record_push(posted)))

    def _record_push(self, posted: Posted) -> int:
        posted.times += 1
        body = PlatformPushed(
            address=posted.place,
            message_id=posted.envelope.message_id,
            original_id=posted.original,
            replay=posted.times > 1,
            deed_of=None if posted.envelope.deed is None else posted.envelope.deed.of,
        )
        return self._platform.events.record(body, posted.cause)

    def repeat(self, envelope: Envelope) -> None:
        """Record that a message is delivered by a server itself: once more, until it is answered; or read there."""
        for posted in self._unacked[envelope.address.account].values():
            if posted.envelope.message_id == envelope.message_id and posted.envelope.address == envelope.address:
                self._record_push(posted)

    @property
    def waiting(self) -> int:
        return self._losses + sum(len(unacked) for unacked in self._unacked.values())

    def is_connected(self, account: str) -> bool:
        connection = self._connections.get(account)
        return connection is not None and connection.node.alive

    def has(self, connection: Connection) -> bool:
        """Whether a connection is the one of its account, and was not broken or replaced."""
        return connection in self._connections.values()

    def connect(self, account: str, node: Node, *, deliver: bool = True, deeds: bool = False) -> Connection:
        """Open a process's connection, and deliver everything unacknowledged, possibly again.

        An account has one connection: the reader of the earlier one gets `NotSent`, and may connect again. `deliver`
        False: what waits stays in the history (`due`), until that is read (`deliver_from_history`). `deeds`: what
        people do to messages comes, too.
        """
        replaced = self._connections.get(account)
        if replaced is not None and replaced.node.alive:
            replaced.queue.put_nowait(NotSent("another connection of this account took its place"))
        connection = Connection(node=node, queue=asyncio.Queue(), deeds=deeds)
        self._connections[account] = connection
        self._platform.events.record(PlatformConnected(channel=self._platform.channel, account=account))
        self._silence(account, connection)
        for posted in tuple(self._unacked[account].values()):
            if deliver and posted.due:
                self._push(posted)
        return connection

    def due(self, account: str) -> list[Envelope]:
        return [posted.envelope for posted in self._unacked[account].values() if posted.due]

    def deliver_from_history(self, envelope: Envelope) -> None:
        """A message that waits was read in the history: it is delivered, and acknowledged."""
        self.repeat(envelope)
        self.ack(envelope)

    def go_silent(self, account: str) -> None:
        """Let the live connection of an account go silent, if a fault says so."""
        connection = self._connections.get(account)
        if connection is not None and connection.node.alive:
            self._silence(account, connection)

    def _silence(self, account: str, connection: Connection) -> None:
        seconds = self._world.silence_fault(self._platform.channel, account)
        if seconds is not None:
            self.changes += 1
            connection.silent = True
            self._world.call_at(self._world.now() + seconds, self._break_silent, account, connection)

    def _break_silent(self, account: str, connection: Connection) -> None:
        if self._connections.get(account) is connection:
            self.break_connection(account)

    def break_connection(self, account: str) -> bool:
        """Break the connection of an account while both sides live; its reader gets `NotSent`. Whether it had one."""
        self.changes += 1
        connection = self._connections.pop(account, None)
        if connection is not None:
            connection.queue.put_nowait(NotSent("the connection broke"))
        return connection is not None

    def disconnect(self, account: str, connection: Connection) -> None:
        self.changes += 1
        if self._connections.get(account) is connection:
            del self._connections[account]

    def deliver_again(self, envelope: Envelope) -> None:
        """Deliver a message again to the live connection, unless it was acknowledged meanwhile."""
        for posted in tuple(self._unacked[envelope.address.account].values()):
            if posted.due and (posted.envelope.address, posted.envelope.message_id) == (
                envelope.address,
                envelope.message_id,
            ):
                self._push(posted)

    def ack(self, envelope: Envelope) -> None:
        """Acknowledge a message: no further delivery."""
        self.changes += 1
        unacked = self._unacked[envelope.address.account]
        for key in [key for key, posted in unacked.items() if posted.envelope.message_id == envelope.message_id]:
            if envelope.address in (unacked[key].envelope.address, unacked[key].place):
                self._record_confirmed(unacked.pop(key))
        self._world.poke()

    def forget(self, account: str) -> None:
        self.changes += 1
        unacked = self._unacked[account]
        for key in [key for key, posted in unacked.items() if posted.due]:
            self._record_confirmed(unacked.pop(key), dropped=True)
        self._world.poke()

    def _record_confirmed(self, posted: Posted, *, dropped: bool = False) -> None:
        if self._world.wire_side:
            body = PlatformConfirmed(address=posted.place, message_id=posted.envelope.message_id, dropped=dropped)
            self._platform.events.record(body, posted.cause)
