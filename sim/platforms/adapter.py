"""The adapter of a simulated gateway process to a fake platform. It dies with its process; the platform does not."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.channels import DirectoryEntry, LateOutcome, Ready, Resolved, find_in_directory
from trunkline.core.channels.voice import say
from trunkline.core.errors import IdentityGone, NotSent, PlatformError
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, Capabilities, ChatKind, Envelope, Identity, Receipt, SendRequest
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.api_calls import opening
from trunkline.sim.platforms.api.binding_adapter import binding_of
from trunkline.sim.platforms.api.wire_faults import response_of
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.channels.voice import ChooseCall, Speaking
from trunkline.sim.platforms.rooms import WorldPort, resolve
from trunkline.sim.scenario.model.world import not_ready

#: the number that makes a repeated id unique
_AGAIN = re.compile(r"\+[0-9]+")


class FakeAdapter:
    """`trunkline.core.channels.ChannelAdapter` over a fake platform, for one account and one process.

    It starts with the newest token of its account, and keeps it until `renew`.
    """

    #: which of the calls that are going on gets the sound of a text; None: the one that the text names
    choose_call: ChooseCall | None = None

    def __init__(self, platform: FakePlatform, account: str, node: Node, world: WorldPort) -> None:
        self._platform = platform
        self.channel, self.account = platform.channel, account
        self._node = node
        self._world = world
        self._token = platform.tokens.newest(account)
        self._binding = binding_of(platform, account, self._token)
        self._reopened: Callable[[Address], None] = lambda _: None
        self._late: Callable[[LateOutcome], None] = lambda _: None

    @property
    def capabilities(self) -> Capabilities:
        return self._platform.capabilities[self.account]

    async def ready(self) -> Ready:
        usual = not_ready(self.channel)[0]
        reason = self._world.unready(self.channel, self.account)
        if reason is not None:
            return Ready(ok=False, reason=reason or usual)
        if self._world.account_fault("connect", self.channel, self.account):
            return Ready(ok=False, reason=usual)
        return Ready(ok=True)

    def connect_reopened(self, call: Callable[[Address], None]) -> None:
        self._reopened = call

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        self._late = call

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        await anyio.sleep(self._platform.spec.latency)
        self._check_connection()
        self._platform.tokens.check(self.account, self._token)
        connection = self._platform.pushes.connect(self.account, self._node, deeds=True)
        try:
            connection.notes = True
            yield connection.envelopes(self._reopened, self._late)
        finally:
            self._platform.pushes.disconnect(self.account, connection)

    async def ack(self, envelope: Envelope) -> None:
        answer = self._world.future()
        self._world.call_at(self._world.now() + self._platform.spec.latency / 10, self._arrive_ack, envelope, answer)
        await answer

    def _arrive_ack(self, envelope: Envelope, answer: asyncio.Future[Any]) -> None:
        """The acknowledgement arrives, also while its process is frozen; the connection of a dead one is closed."""
        if not self._node.alive:
            return
        try:
            self._check_connection()
        except NotSent as error:
            resolve(answer, error)
            return
        self._platform.pushes.ack(envelope)
        resolve(answer, None)

    def _check_connection(self) -> None:
        if self._world.account_fault("connect", self.channel, self.account):
            raise NotSent("there is no connection")

    async def send(self, request: SendRequest) -> Receipt:
        """Send one chunk and wait for the response, without a timeout."""
        if request.identity is None:
            return await self._send(request, self._token)
        try:
            await self._binding.speak(request)
        except PlatformError as error:
            self._platform.wire.record_refusal(request, self._binding.token, error)
            raise
        try:
            return await self._send(request, self._binding.token)
        except IdentityGone:
            self._binding.forget_identity(request.identity)
            raise

    async def _send(self, request: SendRequest, token: int) -> Receipt:
        answer, wire = self._world.future(), self._platform.wire
        if self._platform.engine is None:
            wire.receive(request, answer, token)
            return await response_of(answer)
        try:
            speech = await say(self._platform.engine, request.text)
        except PlatformError as error:
            wire.record_refusal(request, token, error)
            raise
        assert isinstance(wire, Speaking), "only a platform with calls has an engine"
        wire.receive_speech(request, speech, answer, token, self.choose_call)
        return await response_of(answer)

    async def find(self, address: Address, key: str) -> Receipt | None:
        answer = self._world.future()
        self._platform.wire.look_up(address, key, answer, self._token)
        return await response_of(answer)

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        return await self._platform.wire.open_thread(place, message_id, title, self._token)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The kinds of conversations that can be bound; none on most platforms."""
        return self._binding.port.placements

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        # Work that was not durable gets a new number after a crash; its thread keeps the name without the number.
        with opening(_AGAIN.sub("", key)):
            return await self._binding.port.open_child(parent, title, key)

    async def inspect(self, place: Address) -> PlaceState:
        return await self._binding.port.inspect(place)

    async def reopen(self, place: Address) -> None:
        await self._binding.port.reopen(place)

    async def identity(self, place: Address, name: str) -> Identity | None:
        """A webhook for the place, found or created; None on platforms without webhooks and in direct conversations."""
        return await self._binding.port.identity(place, name)

    def renew(self, token: int) -> None:
        if token > self._token:
            self._token = token
            self._binding.renew(token)

    async def act(self, request: ActionRequest) -> Receipt:
        """Carry out a change, without a timeout."""
        answer = self._world.future()
        self._platform.actions.act(request, answer, self._token)
        return await response_of(answer)

    async def ask(self, query: ActionQuery) -> object:
        answer = self._world.future()
        self._platform.actions.ask(query, answer, self._token)
        return await response_of(answer)

    async def resolve_target(self, text: str) -> Resolved | None:
        await anyio.sleep(self._platform.spec.latency)
        room = self._platform.find(self.account, text)
        if room is None:
            return find_in_directory(text, entries_of(self._platform, self.account), self._platform.channel)
        word = "user" if room.kind is ChatKind.DIRECT else room.kind.value
        return Resolved(target=f"{word}:{room.conversation}", kind=room.kind)


class PlaceAdapter(FakeAdapter):
    """An adapter to a platform whose places are not always ready. Only such adapters are asked before each send."""

    async def ready_at(self, place: Address) -> Ready:
        return self._platform.ready_at(place)


def adapter_to(platform: FakePlatform, account: str, node: Node, world: WorldPort) -> FakeAdapter:
    kind = PlaceAdapter if platform.keeps_waiting else FakeAdapter
    return kind(platform, account, node, world)


def entries_of(platform: FakePlatform, account: str) -> Iterator[DirectoryEntry]:
    """The channels that an account is in, and the people that it has a direct conversation with."""
    if not platform.has_directory:
        return
    for room in platform.rooms:
        away = account not in room.accounts or account in room.left or room.closed is not None
        if away or room.thread is not None or room.parent is not None:
            continue
        direct = room.kind is ChatKind.DIRECT
        member = platform.server.members.get(room.conversation) if direct else None
        word = "user" if direct else room.kind.value
        yield DirectoryEntry(
            target=f"{word}:{room.conversation}",
            kind=room.kind,
            name=room.title or room.name if member is None else member.peer.name,
            handle=room.name,
        )
