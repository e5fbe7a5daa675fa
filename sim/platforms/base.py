"""What all fake platforms share: accounts, people, rooms, messages, pushes, and requests that outlive their process.

Everything here is the world: it runs outside of all processes, and what it records is the wire truth. A request that
left a process arrives even when the process has died or stopped waiting (simulation pitfall 9).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from core.events import Recorder
from core.events.bodies import (
    PeerSaid,
    PlatformConnected,
    PlatformPushed,
    ThreadClosed,
    WorldPlace,
)
from core.values import Address, Capabilities, ChatKind, Envelope, Idempotency, Peer
from sim.loop import Node
from sim.platforms.rooms import Room, WorldPort
from sim.platforms.wire import Wire
from sim.scenario.model import PlatformSpec


@dataclass(slots=True, kw_only=True)
class Connection:
    """A live connection of one gateway process for one account."""

    node: Node
    queue: asyncio.Queue[Envelope]

    async def envelopes(self) -> AsyncIterator[Envelope]:
        """What arrives, for ever."""
        while True:
            yield await self.queue.get()


@dataclass(slots=True, kw_only=True)
class Posted:
    """A message of a person that the gateway was or will be given."""

    envelope: Envelope
    #: id under which it was first posted
    original: str
    #: seq of what made it come
    cause: int | None
    #: its way to the gateway is over: it is delivered now, or to the next connection
    due: bool = False
    times: int = 0


class FakePlatform(ABC):
    """One platform with all its rooms. Subclasses say what ids look like and what the real one can do."""

    channel = ""
    idempotency = Idempotency.NONE
    opens_threads = False
    text_limit = 4096
    room_kind = ChatKind.GROUP

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        self._world = world
        self.spec = spec
        self.events = recorder
        self.capabilities = Capabilities(
            idempotency=spec.idempotency or self.idempotency,
            stable_ids=spec.stable_ids,
            text_limit=self.text_limit,
            opens_threads=self.opens_threads,
        )
        self._rooms: dict[tuple[str, str, str | None], Room] = {}
        self._named: dict[tuple[str, str], Room] = {}
        self._connections: dict[str, Connection] = {}
        self._unacked: dict[str, dict[str, Posted]] = {account: {} for account in spec.accounts}
        self._said: dict[str, tuple[Envelope, tuple[str, ...]]] = {}
        self._replays: dict[str, int] = {}
        #: where the gateway's requests go
        self.wire = Wire(self, world)

    # ------------------------------------------------------------ what platforms differ in

    @abstractmethod
    def new_id(self, *what: str) -> str:
        """A platform id for something that has a name, e.g. ``("room", "ops")``."""

    @abstractmethod
    def message_id(self, name: str, room: Room) -> str:
        """The id of a person's message."""

    @abstractmethod
    def thread_room(self, parent: Room, name: str, thread_id: str) -> Room:
        """What a thread or topic of a room is on this platform."""

    # ------------------------------------------------------------ building the world

    def add_room(self, room: Room, under: str | None = None) -> Room:
        """Make a conversation exist, and tell what it is called."""
        owner = room.accounts[0] if room.kind is ChatKind.DIRECT else ""
        self._rooms[owner, room.conversation, room.thread] = room
        for account in room.accounts:
            self._named[account, room.name] = room
            self.events.record(WorldPlace(address=room.address(account), name=room.name, under=under))
        return room

    def room_at(self, address: Address) -> Room | None:
        """The conversation with these ids, if there is one. A direct conversation belongs to one account."""
        for owner in ("", address.account):
            room = self._rooms.get((owner, address.conversation, address.thread))
            if room is not None:
                return room
        return None

    def room_named(self, account: str, name: str) -> Room | None:
        """The conversation that people call so."""
        return self._named.get((account, name))

    def said_as(self, message_id: str) -> str | None:
        """The name that the scenario gave a message."""
        return next((name for name, (said, _) in self._said.items() if said.message_id == message_id), None)

    # ------------------------------------------------------------ people

    def say(self, name: str, person: Peer, roles: tuple[str, ...], room: Room, message_id: str, text: str) -> None:
        """A person posts a message; every member account will be given it."""
        place = room.address(room.accounts[0])
        body = PeerSaid(address=place, peer=person, message_id=message_id, text=text)
        seq = self.events.record(body, inbound=name)
        envelope = Envelope(
            address=place,
            peer=person,
            message_id=message_id,
            text=text,
            sent_at=self._world.now(),
            guild=self.spec.guild,
            roles=roles,
        )
        self._said[name] = (envelope, room.accounts)
        self._world.name_message(place, message_id, name)
        for account in room.accounts:
            own = msgspec.structs.replace(envelope, address=room.address(account))
            posted = Posted(envelope=own, original=message_id, cause=seq)
            self._unacked[account][message_id + room.name] = posted
            self._world.at(self._world.now() + self.latency("push", account, message_id), self._arrived, posted)

    def replay(self, names: tuple[str, ...], cause: int | None) -> None:
        """The connection resets and messages that were acked come again, under new ids where ids are not stable."""
        for name in names or tuple(self._said):
            if name not in self._said:
                continue
            envelope, accounts = self._said[name]
            self._replays[name] = count = self._replays.get(name, 0) + 1
            for account in accounts:
                again = envelope.message_id if self.spec.stable_ids else f"{envelope.message_id}-{count + 1}"
                address = msgspec.structs.replace(envelope.address, account=account)
                copy = msgspec.structs.replace(envelope, message_id=again, address=address)
                self._world.name_message(address, again, name)
                posted = Posted(envelope=copy, original=envelope.message_id, cause=cause, times=1)
                self._unacked[account][again + address.conversation + "replay"] = posted
                self._world.at(self._world.now() + self.latency("replay", account, again), self._arrived, posted)

    def _arrived(self, posted: Posted) -> None:
        posted.due = True
        self._push(posted)

    def _push(self, posted: Posted) -> None:
        """Hand a message to the live connection, if there is one; otherwise it waits for the next."""
        envelope = posted.envelope
        connection = self._connections.get(envelope.address.account)
        if connection is None or not connection.node.alive or not self._waits(posted):
            return
        posted.times += 1
        seq = self.events.record(
            PlatformPushed(
                address=envelope.address,
                message_id=envelope.message_id,
                original_id=posted.original,
                replay=posted.times > 1,
            ),
            posted.cause,
        )
        connection.queue.put_nowait(msgspec.structs.replace(envelope, cause=seq))

    def _waits(self, posted: Posted) -> bool:
        return any(other is posted for other in self._pending(posted.envelope.address.account))

    def _pending(self, account: str) -> tuple[Posted, ...]:
        return tuple(self._unacked[account].values())

    @property
    def waiting(self) -> int:
        """Messages that the gateway has not acknowledged yet."""
        return sum(len(unacked) for unacked in self._unacked.values())

    # ------------------------------------------------------------ the gateway's side of the wire

    def connect(self, account: str, node: Node) -> Connection:
        """A process opens its connection: everything unacknowledged comes (again)."""
        connection = Connection(node=node, queue=asyncio.Queue())
        self._connections[account] = connection
        self.events.record(PlatformConnected(channel=self.channel, account=account))
        for posted in self._pending(account):
            if posted.due:
                self._push(posted)
        return connection

    def disconnect(self, account: str, connection: Connection) -> None:
        """A process closes its connection in order."""
        if self._connections.get(account) is connection:
            del self._connections[account]

    def ack(self, envelope: Envelope) -> None:
        """The gateway has it."""
        unacked = self._unacked[envelope.address.account]
        for key in [key for key, posted in unacked.items() if posted.envelope.message_id == envelope.message_id]:
            if unacked[key].envelope.address == envelope.address:
                del unacked[key]
        self._world.poke()

    # ------------------------------------------------------------ operators

    def close_room(self, room: Room, how: str, cause: int | None) -> None:
        """Archive or delete a thread: it takes no messages any more."""
        room.closed = how
        self.events.record(ThreadClosed(address=room.address(room.accounts[0]), how=how), cause)

    def latency(self, *what: str) -> float:
        """Half to one and a half of the usual latency, drawn by what it is for."""
        return self.spec.latency * (0.5 + self._world.draw(self.channel, *what))
