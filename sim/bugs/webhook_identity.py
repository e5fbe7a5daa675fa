"""Defects in who speaks in bound conversations, and in what is heard there of bots, proxies and reopened threads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from trunkline.core.channels import InboundStream
from trunkline.core.decisions import identify
from trunkline.core.errors import IdentityGone
from trunkline.core.gateway import Gateway
from trunkline.core.runtime.bindings.live_bindings import LiveBindings
from trunkline.core.store.commands import AckChunk
from trunkline.core.values import Capabilities, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import Bug, changing_write, deciding, making
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping
from trunkline.sim.platforms import FakeAdapter
from trunkline.sim.run.wiring import Wiring


class _BotInstead(AdapterWrapper):
    """A webhook that is gone is no error: the bot says it."""

    async def send(self, request: SendRequest) -> Receipt:
        """By whoever can."""
        try:
            return await self.inner.send(request)
        except IdentityGone:
            return await self.inner.send(msgspec.structs.replace(request, identity=None))


class _DeafAdapter(FakeAdapter):
    """Joins the threads that are open when it starts, and those that are opened later; nobody listens to reopenings."""

    def connect(self) -> InboundStream:
        """Without what is said in threads that were archived at the start."""
        return self._hearing()

    @asynccontextmanager
    async def _hearing(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        archived = frozenset(self._archived())
        async with super().connect() as envelopes:
            yield self._without(envelopes, archived)

    async def _without(self, envelopes: AsyncIterator[Envelope], archived: frozenset[str]) -> AsyncIterator[Envelope]:
        async for envelope in envelopes:
            if envelope.address.conversation in archived:
                # The platform has handed it over; that nobody took it is not its concern.
                await self.ack(envelope)
            else:
                yield envelope

    def _archived(self) -> list[str]:
        rooms = (self._platform.room_named(self.account, name) for name in self._platform.spec.rooms)
        threads = (thread for room in rooms if room is not None for thread in self._platform.rooms_under(room))
        return [thread.conversation for thread in threads if thread.closed == "archived"]


class _FirstTokenAdapter(FakeAdapter):
    """A manager that is there already is given back as it is, with the token that it was made with (seed 002)."""

    def renew(self, token: int) -> None:
        """The bot has the new one, the manager of its threads and webhooks does not."""
        self._token = max(token, self._token)


def _adapting(adapter: type[FakeAdapter]) -> Callable[[Wiring], None]:
    """An installer that serves the platforms with another adapter."""

    def install(wiring: Wiring) -> None:
        wiring.make_adapter = adapter

    return install


class _HearsItself(LiveBindings):
    """Nobody remembers which webhooks are the gateway's own."""

    def is_echo(self, envelope: Envelope) -> bool:
        """Never."""
        return False


class _HearsNoWebhook(LiveBindings):
    """Whatever comes by a webhook is taken for the gateway's own."""

    def is_echo(self, envelope: Envelope) -> bool:
        """By any webhook."""
        return envelope.webhook is not None


class _GatewayHearsItself(Gateway):
    bindings_type = _HearsItself


class _GatewayHearsNoWebhook(Gateway):
    bindings_type = _HearsNoWebhook


def _identify_by_own_id(envelope: Envelope, can: Capabilities) -> str:
    """The message that a proxy posts has an id of its own, so it is another one."""
    return identify(msgspec.structs.replace(envelope, stands_for=None), can)


def _without_binding(command: AckChunk) -> AckChunk:
    """Store what a webhook posted as delivered, but not as activity of its binding."""
    if command.intent.identity is None:
        return command
    return msgspec.structs.replace(command, intent=msgspec.structs.replace(command.intent, binding=None))


SPEAKING_BUGS = (
    Bug(
        name="bot-instead-in-silence",
        reports=("B134",),
        sentence="A webhook that is gone is swallowed before the bot posts: who speaks changes, and nothing tells.",
        caught_by=("R2",),
        install=wrapping(_BotInstead),
    ),
    Bug(
        name="proxied-twice",
        reports=("B136",),
        sentence="A message that a proxy posts again has another author and id, and is handled as another message.",
        caught_by=("D7",),
        install=deciding(identify=_identify_by_own_id),
    ),
    Bug(
        name="webhooks-dropped",
        reports=("B136",),
        sentence="To keep its own echoes out, the gateway drops whatever comes by a webhook, of relays too.",
        caught_by=("D8",),
        install=making(_GatewayHearsNoWebhook),
    ),
    Bug(
        name="deaf-to-reopened",
        reports=("B139",),
        sentence="Threads that are archived at the start are not joined, and reopening one has no handler.",
        caught_by=("L1",),
        install=_adapting(_DeafAdapter),
    ),
    Bug(
        name="echo-is-inbound",
        reports=(),
        sentence="What the gateway's own webhook says comes back, and is taken for a message of somebody else.",
        caught_by=("D8",),
        install=making(_GatewayHearsItself),
    ),
    Bug(
        name="stale-token",
        reports=(),
        sentence="A thread manager that is used again keeps the token that it was made with (seed 002).",
        caught_by=("B2",),
        install=_adapting(_FirstTokenAdapter),
    ),
    Bug(
        name="missing-activity",
        reports=(),
        sentence="What a webhook says is no activity: a thread that is in use expires (seed 002).",
        caught_by=("B2",),
        install=changing_write(AckChunk, _without_binding),
    ),
)
