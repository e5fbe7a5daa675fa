"""Defects of webhook identities: who speaks in bound conversations, and echoes, proxies and reopened threads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
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


class _BotInstead(AdapterWrapper):
    """Lets the bot speak when the webhook is gone, without an error."""

    async def send(self, request: SendRequest) -> Receipt:
        """Send as the webhook, or else as the bot."""
        try:
            return await self.inner.send(request)
        except IdentityGone:
            return await self.inner.send(msgspec.structs.replace(request, identity=None))


class _DeafAdapter(FakeAdapter):
    """Joins open and new threads, and ignores the ones that are reopened."""

    def connect(self) -> InboundStream:
        """Connect, without the messages of threads that were archived at the start."""
        return self._hearing()

    @asynccontextmanager
    async def _hearing(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        archived = frozenset(self._archived())
        async with super().connect() as envelopes:
            yield self._without(envelopes, archived)

    async def _without(self, envelopes: AsyncIterator[Envelope], archived: frozenset[str]) -> AsyncIterator[Envelope]:
        async for envelope in envelopes:
            if envelope.address.conversation in archived:
                # To the platform it is delivered.
                await self.ack(envelope)
            else:
                yield envelope

    def _archived(self) -> list[str]:
        rooms = (self._platform.room_named(self.account, name) for name in self._platform.spec.rooms)
        threads = (thread for room in rooms if room is not None for thread in self._platform.rooms_under(room))
        return [thread.conversation for thread in threads if thread.closed == "archived"]


class _FirstTokenAdapter(FakeAdapter):
    """Reuses its thread manager with the token that the manager was created with."""

    def renew(self, token: int) -> None:
        """Give the new token to the bot, and not to the manager of its threads and webhooks."""
        self._token = max(token, self._token)


class _HearsItself(LiveBindings):
    """Does not remember which webhooks are the gateway's own."""

    def is_echo(self, envelope: Envelope) -> bool:
        """Never true."""
        return False


class _HearsNoWebhook(LiveBindings):
    """Takes every webhook message for the gateway's own."""

    def is_echo(self, envelope: Envelope) -> bool:
        """True for any webhook."""
        return envelope.webhook is not None


class _GatewayHearsItself(Gateway):
    bindings_type = _HearsItself


class _GatewayHearsNoWebhook(Gateway):
    bindings_type = _HearsNoWebhook


def _identify_by_own_id(envelope: Envelope, can: Capabilities) -> str:
    """Identify a proxied message by its own id, as another message."""
    return identify(msgspec.structs.replace(envelope, stands_for=None), can)


def _without_binding(command: AckChunk) -> AckChunk:
    """Store what a webhook posted as delivered, but not as activity of its binding."""
    if command.intent.identity is None:
        return command
    return msgspec.structs.replace(command, intent=msgspec.structs.replace(command.intent, binding=None))


WEBHOOK_BUGS = (
    Bug(
        name="bot-instead-in-silence",
        reports=("B134",),
        sentence="A webhook that is gone is swallowed before the bot posts: the speaker changes without an event.",
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
        install=making(gateway=_GatewayHearsNoWebhook),
    ),
    Bug(
        name="deaf-to-reopened",
        reports=("B139",),
        sentence="Threads that are archived at the start are not joined, and reopening one has no handler.",
        caught_by=("L1",),
        install=making(adapter=_DeafAdapter),
    ),
    Bug(
        name="echo-is-inbound",
        reports=(),
        sentence="The gateway's own webhook message comes back, and is taken for somebody else's.",
        caught_by=("D8",),
        install=making(gateway=_GatewayHearsItself),
    ),
    Bug(
        name="stale-token",
        reports=(),
        sentence="A reused thread manager keeps the token that it was created with.",
        caught_by=("B2",),
        install=making(adapter=_FirstTokenAdapter),
    ),
    Bug(
        name="missing-activity",
        reports=(),
        sentence="Webhook messages do not count as activity: a thread in use expires.",
        caught_by=("B2",),
        install=changing_write(AckChunk, _without_binding),
    ),
)
