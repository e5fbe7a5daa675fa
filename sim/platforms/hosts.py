"""A fake platform as its parts use it, where no other part is needed to say so.

A part takes the platform through a protocol with the members that it uses, so it does not know the class that is made
of all parts (`trunkline.sim.platforms.base`). `actions/`, `api/` and `calls/` extend this protocol in a `hosts.py` of
their own.
"""

from __future__ import annotations

from typing import Protocol

from trunkline.core.events import Recorder
from trunkline.core.values import Address
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.scenario.model.world import PlatformSpec


class MessageNames(Protocol):
    """The scenario's names of messages."""

    def said_as(self, conversation: str, message_id: str) -> str | None: ...


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
    def new_id(self, *what: str) -> str: ...
    def thread_room(self, parent: Room, name: str, thread_id: str) -> Room: ...
    def add_room(self, room: Room, under: str | None = None) -> Room: ...
    def room_at(self, address: Address) -> Room | None: ...
    def room_above(self, address: Address) -> Room | None: ...
