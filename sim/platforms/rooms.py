"""Rooms of a platform, the platform's view of the world, and ids derived from names."""

import asyncio
import hashlib
import zlib
from functools import cache
from typing import Any, Protocol

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.declared import filled
from trunkline.core.errors import PlatformError
from trunkline.core.events import Recorder
from trunkline.core.values import Address, ChatKind, Transport
from trunkline.sim.scenario.model.world import PlatformSpec


class WorldPort(Protocol):
    #: nothing but the wire is recorded of the gateway, and so everything that arrives there is
    wire_side: bool
    #: where numbers begin that grow from run to run, because somebody remembers those of earlier runs; else 0
    ids_from: int

    def now(self) -> float: ...
    def id_time(self) -> float:
        """Seconds by which ids grow: `now`, after `ids_from`."""
        ...

    def call_at(self, when: float, call: Any, *args: Any) -> None: ...
    def draw(self, *what: object) -> float: ...
    def send_fault(
        self, address: Address, text: str, attempt: int, transport: Transport
    ) -> tuple[str, float] | None: ...
    def act_fault(
        self, address: Address, action: Action, text: str, attempt: int | None
    ) -> tuple[str, float] | None: ...
    def push_fault(self, place: Address, text: str, said: int) -> tuple[str, float] | None: ...
    def silence_fault(self, channel: str, account: str) -> float | None: ...
    def lookup_fault(self, address: Address) -> tuple[str, float] | None: ...
    def thread_fault(self, place: Address) -> tuple[str, float] | None: ...
    def unready(self, channel: str, account: str) -> str | None: ...
    def account_fault(self, on: str, channel: str, account: str) -> bool: ...
    def future(self) -> asyncio.Future[Any]: ...
    def poke(self) -> None: ...
    def name_message(self, place: Address, message_id: str, name: str) -> None: ...


class Room(msgspec.Struct, kw_only=True):
    """A conversation or thread on the platform: its ids are the platform's own."""

    channel: str
    name: str
    kind: ChatKind
    conversation: str
    thread: str | None = None
    parent: str | None = None
    accounts: tuple[str, ...]
    #: ``archived`` or ``deleted``
    closed: str | None = None
    #: its name on the platform; `name` is its name in scenario files
    title: str = ""
    #: accounts that left it
    left: set[str] = set()
    #: archived, and the gateway may not reopen it
    locked: bool = False

    @property
    def owner(self) -> str:
        return self.accounts[0] if self.kind is ChatKind.DIRECT else ""

    def address(self, account: str) -> Address:
        return filled(Address, self, account=account)


def resolve(answer: asyncio.Future[Any], what: Any) -> None:
    """Answer a request, unless its future is already done."""
    if answer.done():
        return
    if isinstance(what, PlatformError):
        answer.set_exception(what)
    else:
        answer.set_result(what)


def digits(*what: str, length: int) -> str:
    """A stable number with `length` digits, hashed from names."""
    number = zlib.crc32("/".join(what).encode()) + 1
    return str(10 ** (length - 1) + number % (9 * 10 ** (length - 1)))


@cache
def letters(*what: str, length: int, alphabet: str) -> str:
    """A stable string of `length` characters of an alphabet, hashed from names."""
    number = int.from_bytes(hashlib.sha256("/".join(what).encode()).digest()[:16], "big")
    found: list[str] = []
    for _ in range(length):
        number, index = divmod(number, len(alphabet))
        found.append(alphabet[index])
    return "".join(found)


# A fake platform as its parts use it, where no other part is needed to say so.


class MessageNames(Protocol):
    def said_as(self, conversation: str, message_id: str) -> str | None: ...


class Openings(Protocol):
    def reopened(self, place: Address) -> None: ...


class RoomsHost(Protocol):
    """A platform as its threads and webhooks use it: its conversations, and the form of its ids."""

    channel: str
    spec: PlatformSpec
    events: Recorder
    has_threads: bool
    opens_threads: bool
    opens_by_sending: bool

    @property
    def rooms(self) -> tuple[Room, ...]: ...
    @property
    def people(self) -> MessageNames: ...
    @property
    def pushes(self) -> Openings: ...
    def new_id(self, *what: str) -> str: ...
    def thread_room(self, parent: Room, name: str, thread_id: str) -> Room: ...
    def add_room(self, room: Room, under: str | None = None) -> Room: ...
    def room_at(self, address: Address) -> Room | None: ...
    def room_above(self, address: Address) -> Room | None: ...
