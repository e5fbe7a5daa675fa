"""The base of all fake platforms: accounts, people, rooms, messages, pushes, and requests that outlive their process.

Everything here belongs to the world: it runs outside all processes and records the wire truth. A request that left a
process arrives even if the process has died or stopped waiting (docs/simulation.md).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

import msgspec

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import NotSent, PlaceArchived, PlaceGone, Refused, UnknownName
from trunkline.core.events import Recorder
from trunkline.core.values import (
    Address,
    Capabilities,
    Capability,
    ChatKind,
    DeliveryMode,
    Envelope,
    Idempotency,
    Markup,
    Peer,
    SendRequest,
)
from trunkline.sim.events.world import PeerSaid, PlatformConnected, PlatformPushed, WorldPlace
from trunkline.sim.loop import Node
from trunkline.sim.platforms.actions.message_board import BoardMessage, MessageBoard
from trunkline.sim.platforms.actions.rules import ActionRules
from trunkline.sim.platforms.api.action_wire import ActionWire
from trunkline.sim.platforms.api.api_calls import Calls
from trunkline.sim.platforms.api.inbound_pushes import PERSON, Connection, Posted, Speaker
from trunkline.sim.platforms.api.wire import Wire
from trunkline.sim.platforms.rooms import Room, WorldPort
from trunkline.sim.platforms.threads import Threads
from trunkline.sim.platforms.tokens import AccountTokens
from trunkline.sim.platforms.webhooks import Webhooks
from trunkline.sim.scenario.model.abilities import lost_to
from trunkline.sim.scenario.model.world import AccountSpec, PlatformSpec, idempotency_of


class FakePlatform(ABC):
    """One platform with all its rooms. Subclasses define the form of ids and the platform's rules."""

    channel = ""
    #: capabilities beside texts, files and threads
    extras: frozenset[Capability] = frozenset()
    #: what it allows beside messages
    rules = ActionRules()
    has_threads = True
    mode = DeliveryMode.DIRECT
    markup = Markup.AS_IS
    poll_options: int | None = None
    #: reason of an account that is not ready to send
    not_ready = "not-ready"
    opens_threads = False
    #: a send that names a message as its thread opens a thread on that message
    opens_by_sending = False
    #: idempotency of sends by webhook; None: the platform has no webhooks
    identities: Idempotency | None = None
    text_limit = 4096
    room_kind = ChatKind.GROUP

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        self._world = world
        self.spec = spec
        self.events = recorder
        self.capabilities = {account: self._can(own) for account, own in spec.accounts.items()}
        self.misplaces = spec.misplaces
        self._rooms: dict[tuple[str, str, str | None], Room] = {}
        self._named: dict[tuple[str, str], Room] = {}
        self._connections: dict[str, Connection] = {}
        self._unacked: dict[str, dict[str, Posted]] = {account: {} for account in spec.accounts}
        #: name -> envelope, actual place, accounts
        self._said: dict[str, tuple[Envelope, Address, tuple[str, ...]]] = {}
        self._replays: dict[str, int] = {}
        #: changes without an event: connections and acknowledgements
        self.changes = 0
        self.threads = Threads(self)
        self.tokens = AccountTokens(self.channel, recorder)
        self.webhooks = Webhooks(self)
        #: the messages of people and of the gateway
        self.board = MessageBoard()
        #: receives the gateway's sends
        self.wire = Wire(self, world)
        #: receives the gateway's changes and questions
        self.actions = ActionWire(self, world)
        self.calls = Calls(self, world)

    # ------------------------------------------------------------ platform rules

    @abstractmethod
    def new_id(self, *what: str) -> str:
        """The platform id of something named, e.g. ``("room", "ops")``."""

    def message_id(self, name: str, room: Room) -> str:
        """The id of a person's message: by default unique over the whole platform."""
        return self.new_id("said", name)

    def thread_room(self, parent: Room, name: str, thread_id: str) -> Room:
        """A thread or topic of a room as this platform models it: by default a part of its room."""
        return Room(
            channel=self.channel,
            name=name,
            kind=parent.kind,
            conversation=parent.conversation,
            thread=thread_id,
            accounts=parent.accounts,
        )

    def posted_id(self, room: Room, *what: str) -> str:
        """The id of a message of the gateway, by what identifies it in its conversation."""
        return self.new_id("message", room.conversation, *what)

    def canonical(self, address: Address) -> tuple[str, str | None]:
        """Canonical ids of conversation and thread, whatever form a request uses."""
        return address.conversation, address.thread

    def find(self, account: str, text: str) -> Room | None:
        """Look up a text in the platform's directory for an account; most platforms have none."""
        return None

    def visible(self, request: SendRequest | ActionRequest) -> str:
        """The text that people will read; raises `Refused` if the request cannot be displayed."""
        return request.text

    # ------------------------------------------------------------ capabilities of accounts

    def _can(self, account: AccountSpec) -> Capabilities:
        spec = self.spec
        usual = {Capability.TEXT, Capability.MEDIA, Capability.MESSAGE_IDS} | self.extras
        lost, not_done = lost_to(spec.cannot)
        can = frozenset(usual | ({Capability.THREADS} if self.has_threads else set())) - lost
        idempotency = idempotency_of(self.channel, spec, account)
        return Capabilities(
            can=can,
            actions=self.rules.actions - not_done,
            mode=account.mode or spec.mode or self.mode,
            idempotency=idempotency,
            key_seconds=spec.key_seconds if idempotency is Idempotency.KEY else None,
            markup=self.markup,
            poll_options=self.poll_options if Capability.POLL in can else None,
            stable_ids=spec.stable_ids,
            text_limit=self.text_limit,
            opens_threads=self.opens_threads and Capability.THREADS in can,
            identities=self.identities,
        )

    # ------------------------------------------------------------ building the world

    def add_room(self, room: Room, under: str | None = None) -> Room:
        """Create a conversation, and record its name."""
        self._rooms[room.owner, *self.canonical(room.address(room.accounts[0]))] = room
        for account in room.accounts:
            self._named[account, room.name] = room
            self.events.record(WorldPlace(address=room.address(account), name=room.name, under=under))
        return room

    def room_at(self, address: Address) -> Room | None:
        """The conversation with these ids, if there is one. A direct conversation belongs to one account."""
        conversation, thread = self.canonical(address)
        for owner in ("", address.account):
            room = self._rooms.get((owner, conversation, thread))
            if room is not None:
                return room
        return None

    def open_room(self, address: Address) -> Room:
        """The conversation with these ids, if it takes messages from the account. Raises `Refused` and subclasses."""
        room = self.room_at(address)
        if room is None or address.account not in room.accounts:
            raise Refused("no such conversation")
        if room.closed is not None:
            gone = PlaceArchived if room.closed == "archived" else PlaceGone
            raise gone(f"{room.name} is {room.closed}")
        return room

    def bot_id(self, account: str) -> str:
        """The id of an account's bot."""
        return self.new_id("bot", account)

    def room_above(self, address: Address) -> Room | None:
        """The parent room of a thread or topic, even one that does not exist; the room itself for other places."""
        above = msgspec.structs.replace(
            address, conversation=address.parent or address.conversation, thread=None, parent=None
        )
        return self.room_at(above)

    def rooms_under(self, room: Room) -> list[Room]:
        """The threads of a room that are separate conversations and not deleted."""
        under = [one for one in self._rooms.values() if one.parent == room.conversation]
        return [one for one in under if one.closed != "deleted"]

    def room_named(self, account: str, name: str) -> Room | None:
        return self._named.get((account, name))

    def said_as(self, conversation: str, message_id: str) -> str | None:
        """The scenario's name of a message."""
        for name, (said, place, _) in self._said.items():
            if said.message_id == message_id and place.conversation == conversation:
                return name
        return None

    # ------------------------------------------------------------ people

    def say(
        self,
        name: str,
        person: Peer,
        roles: tuple[str, ...],
        room: Room,
        message_id: str,
        text: str,
        *,
        secret: str = "",
        reply_chain: str | None = None,
        speaker: Speaker = PERSON,
        cause: int | None = None,
    ) -> None:
        """Post a message as a person or bot; every member account will receive it. Reopens an archived thread.

        With `reply_chain`, envelopes carry the id of a reply chain as if it were a thread. Raises `UnknownName` if such
        a thread exists, or if the place takes no messages.
        """
        place = room.address(room.accounts[0])
        shown = place if reply_chain is None else msgspec.structs.replace(place, thread=reply_chain)
        if reply_chain is not None and self.room_at(shown) is not None:
            raise UnknownName(f"{reply_chain} is a thread of {room.name}, so it cannot be a reply chain")
        self.threads.posted(room, cause)
        body = PeerSaid(
            address=place,
            peer=person,
            message_id=message_id,
            text=text,
            secret=secret,
            bot=speaker.bot,
            echo_of=speaker.webhook if speaker.echo else None,
            stands_for=speaker.stands_for,
        )
        seq = self.events.record(body, cause, inbound=name)
        self.threads.note_root(room, message_id)
        if not speaker.echo:
            now = self._world.now()
            self.board.add(BoardMessage(room=room, id=message_id, author=person.id, text=text, at=now))
        envelope = Envelope(
            address=shown,
            peer=person,
            message_id=message_id,
            text=text,
            sent_at=self._world.now(),
            guild=self.spec.guild,
            roles=roles,
            threaded=reply_chain is None,
            bot=speaker.bot,
            webhook=speaker.webhook,
            stands_for=speaker.stands_for,
        )
        self._said[name] = (envelope, place, room.accounts)
        for named in (place, shown):
            self._world.name_message(named, message_id, name)
        late = self._world.push_fault(place, text)
        for account in room.accounts:
            own = msgspec.structs.replace(envelope, address=msgspec.structs.replace(shown, account=account))
            posted = Posted(envelope=own, place=room.address(account), original=message_id, cause=seq)
            self._unacked[account][message_id + room.name] = posted
            arrives = self._world.now() + late + self.latency("push", account, message_id)
            self._world.at(arrives, self._arrived, posted)

    def foreign_webhook(self, name: str) -> Peer:
        """A third party's webhook, by its display name."""
        return Peer(id=self.new_id("webhook", name), name=name)

    def echo(self, request: SendRequest, room: Room, message_id: str, cause: int) -> None:
        """Push a message of the gateway's webhook back to the gateway, if the platform `echoes`."""
        identity = request.identity
        if identity is None or not self.spec.echoes:
            return
        self.say(
            f"echo-{request.key}.{request.attempt}",
            Peer(id=identity.id, name=identity.name),
            (),
            room,
            message_id,
            request.text,
            speaker=Speaker(bot=True, webhook=identity.id, echo=True),
            cause=cause,
        )

    def replay(self, names: tuple[str, ...], cause: int | None) -> None:
        """Redeliver acknowledged messages after a connection reset, under new ids unless ids are stable."""
        for name in names or tuple(self._said):
            if name not in self._said:
                continue
            envelope, place, accounts = self._said[name]
            self._replays[name] = count = self._replays.get(name, 0) + 1
            for account in accounts:
                again = envelope.message_id if self.spec.stable_ids else f"{envelope.message_id}-{count + 1}"
                address = msgspec.structs.replace(envelope.address, account=account)
                copy = msgspec.structs.replace(envelope, message_id=again, address=address)
                spot = msgspec.structs.replace(place, account=account)
                for named in (spot, address):
                    self._world.name_message(named, again, name)
                posted = Posted(envelope=copy, place=spot, original=envelope.message_id, cause=cause, times=1)
                self._unacked[account][again + address.conversation + "replay"] = posted
                self._world.at(self._world.now() + self.latency("replay", account, again), self._arrived, posted)

    def _arrived(self, posted: Posted) -> None:
        posted.due = True
        self._push(posted)

    def _push(self, posted: Posted) -> None:
        """Deliver a message to the live connection; without one it waits for the next."""
        envelope = posted.envelope
        connection = self._connections.get(envelope.address.account)
        waits = any(other is posted for other in self._unacked[envelope.address.account].values())
        if connection is None or not connection.node.alive or not waits:
            return
        posted.times += 1
        seq = self.events.record(
            PlatformPushed(
                address=posted.place,
                message_id=envelope.message_id,
                original_id=posted.original,
                replay=posted.times > 1,
            ),
            posted.cause,
        )
        connection.queue.put_nowait(msgspec.structs.replace(envelope, cause=seq))

    @property
    def waiting(self) -> int:
        """The number of unacknowledged messages."""
        return sum(len(unacked) for unacked in self._unacked.values())

    # ------------------------------------------------------------ the gateway's side of the wire

    def connect(self, account: str, node: Node) -> Connection:
        """Open a process's connection, and deliver everything unacknowledged, possibly again.

        An account has one connection: the reader of the earlier one gets `NotSent`, and may connect again.
        """
        replaced = self._connections.get(account)
        if replaced is not None and replaced.node.alive:
            replaced.queue.put_nowait(NotSent("another connection of this account took its place"))
        connection = Connection(node=node, queue=asyncio.Queue())
        self._connections[account] = connection
        self.events.record(PlatformConnected(channel=self.channel, account=account))
        for posted in tuple(self._unacked[account].values()):
            if posted.due:
                self._push(posted)
        return connection

    def break_connection(self, account: str) -> None:
        """Break the connection of an account while both sides live; its reader gets `NotSent`."""
        self.changes += 1
        connection = self._connections.pop(account, None)
        if connection is not None:
            connection.queue.put_nowait(NotSent("the connection broke"))

    def disconnect(self, account: str, connection: Connection) -> None:
        """Close a process's connection gracefully."""
        self.changes += 1
        if self._connections.get(account) is connection:
            del self._connections[account]

    def ack(self, envelope: Envelope) -> None:
        """Acknowledge a message: it is not delivered again."""
        self.changes += 1
        unacked = self._unacked[envelope.address.account]
        for key in [key for key, posted in unacked.items() if posted.envelope.message_id == envelope.message_id]:
            if envelope.address in (unacked[key].envelope.address, unacked[key].place):
                del unacked[key]
        self._world.poke()

    def latency(self, *what: str) -> float:
        """A random latency between 0.5 and 1.5 times the usual one, keyed by its purpose."""
        return self.spec.latency * (0.5 + self._world.draw(self.channel, *what))
