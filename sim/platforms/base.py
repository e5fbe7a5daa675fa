"""Base of all fake platforms: accounts, people, rooms, messages, pushes, and requests that outlive their process.

Everything here belongs to the world: it runs outside all processes and records the wire truth. A request that left a
process arrives even if the process has died or stopped waiting (docs/simulation.md).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

import msgspec

from trunkline.core import values
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.channels import Ready, rules_for
from trunkline.core.channels.voice import SpeechEngine
from trunkline.core.errors import PlaceArchived, PlaceGone, Refused
from trunkline.core.events import Recorder
from trunkline.sim.events.world import WorldPlace
from trunkline.sim.platforms.actions.message_board import MessageBoard
from trunkline.sim.platforms.actions.server import ActionRules, Server
from trunkline.sim.platforms.api.action_wire import ActionWire
from trunkline.sim.platforms.api.api_calls import Calls
from trunkline.sim.platforms.api.inbound_pushes import Pushes
from trunkline.sim.platforms.api.request_checks import PartLimits
from trunkline.sim.platforms.api.wire import Wire
from trunkline.sim.platforms.people import People
from trunkline.sim.platforms.rooms import Room, WorldPort
from trunkline.sim.platforms.threads import Threads
from trunkline.sim.platforms.tokens import AccountTokens
from trunkline.sim.platforms.webhooks import Webhooks
from trunkline.sim.scenario.model.abilities import lost_to
from trunkline.sim.scenario.model.world import AccountSpec, PlatformSpec, idempotency_of


class FakePlatform(ABC):
    """A platform with all its rooms. Subclasses define the form of ids and the platform's rules."""

    channel = ""
    #: capabilities beside texts, files and threads
    extras: frozenset[values.Capability] = frozenset()
    rules = ActionRules()
    has_threads = True
    mode = values.DeliveryMode.DIRECT
    markup = values.Markup.AS_IS
    poll_options: int | None = None
    part_limits = PartLimits()
    opens_threads = False
    #: a send that names a message as its thread opens a thread on that message
    opens_by_sending = False
    #: idempotency of sends by webhook; None: the platform has no webhooks
    identities: values.Idempotency | None = None
    text_limit = 4096
    #: characters of a text with files; None: `text_limit`
    caption_limit: int | None = None
    room_kind = values.ChatKind.GROUP
    #: people see each other's names, and not numbers
    shows_names = True
    #: names can be looked up
    has_directory = False
    #: what turns a text into speech before it is sent; None: it is sent as a text
    engine: SpeechEngine | None = None
    #: a place may be unable to take a message for a while
    keeps_waiting = False
    #: each file of a person is a message: of an album with a name, or of one without
    albums: Literal["named", "nameless", "none"] = "none"
    #: what people do to messages and the gateway hears of; of these, what is reported without its thread or its author
    deeds = frozenset(values.DeedKind)
    threadless: frozenset[values.DeedKind] = frozenset()
    anonymous: frozenset[values.DeedKind] = frozenset()

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        self._world = world
        self.spec = spec
        self.events = recorder
        self.capabilities = {account: self._can(own) for account, own in spec.accounts.items()}
        self.misplaces = spec.misplaces
        self._rooms: dict[tuple[str, str, str | None], Room] = {}
        self._named: dict[tuple[str, str], Room] = {}
        self.threads = Threads(self)
        self.tokens = AccountTokens(self.channel, recorder)
        self.webhooks = Webhooks(self)
        #: members and objects that the gateway can change
        self.server = Server()
        #: person -> their roles in the scenario
        self.usual_roles: dict[str, tuple[str, ...]] = {}
        #: the messages of people and of the gateway
        self.board = MessageBoard()
        self.people = People(self, world)
        #: brings what people do to the gateway
        self.pushes = Pushes(self, world)
        #: receives the gateway's sends
        self.wire = Wire(self, world)
        #: receives the gateway's changes and questions
        self.actions = ActionWire(self, world)
        self.calls = Calls(self, world)

    @abstractmethod
    def new_id(self, *what: str) -> str:
        """The platform id of something named, e.g. ``("room", "ops")``."""

    @property
    def _of_run(self) -> tuple[str, ...]:
        """Prefix that keeps ids unique across runs, for gateways that remember ids."""
        return (str(self._world.ids_from),) if self._world.ids_from else ()

    def message_id(self, name: str, room: Room) -> str:
        """The id of a person's message: by default unique over the whole platform."""
        return self.new_id("said", name, *self._of_run)

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
        return self.new_id("message", room.conversation, *what, *self._of_run)

    def poll_id(self, message_id: str, room: Room) -> str:
        """The id of the poll in a message: by default the message's."""
        return message_id

    def canonical(self, address: values.Address) -> tuple[str, str | None]:
        """Canonical ids of conversation and thread, whatever form a request uses."""
        return address.conversation, address.thread

    def find(self, account: str, text: str) -> Room | None:
        """The conversation that a text means for an account, by an alias; most platforms have none."""
        return None

    def visible(self, request: values.SendRequest | ActionRequest) -> str:
        """The text that people will read; raises `Refused` if the request cannot be displayed."""
        return request.text

    @classmethod
    def actions_of(cls) -> frozenset[Action]:
        """The actions that an account has beside plain sends: those of the channel's table."""
        return frozenset(rules_for(cls.channel).actions) - {Action.SEND, Action.BROADCAST}

    def _can(self, account: AccountSpec) -> values.Capabilities:
        spec = self.spec
        usual = {values.Capability.TEXT, values.Capability.MEDIA, values.Capability.MESSAGE_IDS} | self.extras
        lost, not_done = lost_to(spec.cannot)
        can = frozenset(usual | ({values.Capability.THREADS} if self.has_threads else set())) - lost
        idempotency = idempotency_of(self.channel, spec, account)
        return values.Capabilities(
            can=can,
            actions=self.actions_of() - not_done,
            mode=account.mode or spec.mode or self.mode,
            idempotency=idempotency,
            key_seconds=spec.key_seconds if idempotency is values.Idempotency.KEY else None,
            markup=self.markup,
            poll_options=self.poll_options if values.Capability.POLL in can else None,
            stable_ids=spec.stable_ids,
            text_limit=self.text_limit,
            caption_limit=self.caption_limit,
            opens_threads=self.opens_threads and values.Capability.THREADS in can,
            identities=self.identities,
        )

    def add_room(self, room: Room, under: str | None = None) -> Room:
        self._rooms[room.owner, *self.canonical(room.address(room.accounts[0]))] = room
        for account in room.accounts:
            self._named[account, room.name] = room
            self.events.record(WorldPlace(address=room.address(account), name=room.name, under=under))
        return room

    def room_at(self, address: values.Address) -> Room | None:
        """The conversation with these ids, if there is one. A direct conversation belongs to one account."""
        conversation, thread = self.canonical(address)
        for owner in ("", address.account):
            room = self._rooms.get((owner, conversation, thread))
            if room is not None:
                return room
        return None

    def open_room(self, address: values.Address) -> Room:
        """The conversation with these ids, if it takes messages from the account. Raises `Refused` and subclasses."""
        room = self.room_at(address)
        if room is None or address.account not in room.accounts or address.account in room.left:
            raise Refused("no such conversation")
        if room.closed is not None:
            gone = PlaceArchived if room.closed == "archived" else PlaceGone
            raise gone(f"{room.name} is {room.closed}")
        return room

    def bot_id(self, account: str) -> str:
        return self.new_id("bot", account)

    def room_above(self, address: values.Address) -> Room | None:
        """The parent room of a thread or topic, even one that does not exist; the room itself for other places."""
        above = msgspec.structs.replace(
            address, conversation=address.parent or address.conversation, thread=None, parent=None
        )
        return self.room_at(above)

    @property
    def rooms(self) -> tuple[Room, ...]:
        return tuple(self._rooms.values())

    def meet(self, peer: values.Peer, roles: tuple[str, ...]) -> None:
        """Note that a person exists, without an event: they may never say anything."""
        self.server.meet(peer)
        self.usual_roles[peer.id] = roles

    def rooms_under(self, room: Room) -> list[Room]:
        under = [thread for thread in self._rooms.values() if thread.parent == room.conversation]
        return [thread for thread in under if thread.closed != "deleted"]

    def room_named(self, account: str, name: str) -> Room | None:
        return self._named.get((account, name))

    def is_within(self, room: Room, address: values.Address) -> bool:
        """Whether an address is a place of the scenario: its room, or a part of it."""
        return self.room_at(address) is room

    def ready_at(self, place: values.Address) -> Ready:
        """Whether a place takes a message now; if not, it will later."""
        return Ready(ok=True)

    def heal(self) -> None:  # noqa: B027 -- most have nothing to end
        """The script is over: end what people would not do for ever."""

    @property
    def busy(self) -> bool:
        """Whether something is going to happen without the gateway or the script."""
        return bool(self.pushes.waiting)

    def latency(self, *what: str) -> float:
        """A random latency between 0.5 and 1.5 times the usual one, keyed by its purpose."""
        return self.spec.latency * (0.5 + self._world.draw(self.channel, *what))


# Message ids that are times, as on Slack: a crash changes no id but those of messages that arrive at another time.


class MessageTimes:
    """Numbers messages by their time, each conversation by itself.

    People's numbers are even and the gateway's odd, so no message of the gateway changes the number of a person's. A
    conversation has each number once; messages of the same time get the next free ones.

    `per_second`: how many people's messages of a conversation have different times within a second.
    """

    def __init__(self, now: Callable[[], float], per_second: int) -> None:
        self._now = now
        self._per_second = per_second
        #: conversation and whether the gateway posts -> last number
        self._last: dict[tuple[str, bool], int] = {}

    def next(self, conversation: str, *, by_gateway: bool) -> int:
        least = 2 * round(self._now() * self._per_second) + by_gateway
        last = self._last.get((conversation, by_gateway))
        number = least if last is None else max(least, last + 2)
        self._last[conversation, by_gateway] = number
        return number


class TimedPlatform(FakePlatform):
    """A platform whose messages are named by their time."""

    #: how many people's messages of a conversation have different times within a second
    per_second: ClassVar[int]

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        super().__init__(world, spec, recorder)
        self._times = MessageTimes(world.id_time, self.per_second)

    @abstractmethod
    def id_at(self, number: int) -> str:
        """The id of the message with a number of `MessageTimes`."""

    def message_id(self, name: str, room: Room) -> str:
        return self.id_at(self._times.next(room.conversation, by_gateway=False))

    def posted_id(self, room: Room, *what: str) -> str:
        return self.id_at(self._times.next(room.conversation, by_gateway=True))
