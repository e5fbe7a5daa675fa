"""Defects of webhook identities: who speaks in bound conversations, and echoes, proxies and reopened threads."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from trunkline.core.decisions import identify
from trunkline.core.errors import IdentityGone
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.store.commands import AckChunk
from trunkline.core.values import Capabilities, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, changing_write, deciding, gateway_part, making
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping
from trunkline.sim.platforms import FakeAdapter


@bug("bot-instead-in-silence", wrapping, reports=("B134",), caught_by=("R2",))
class _BotInstead(AdapterWrapper):
    """A webhook that is gone is swallowed before the bot posts: the speaker changes without an event."""

    async def send(self, request: SendRequest) -> Receipt:
        """Send as the webhook, or else as the bot."""
        try:
            return await self.inner.send(request)
        except IdentityGone:
            return await self.inner.send(msgspec.structs.replace(request, identity=None))


@bug("proxied-twice", deciding("identify"), reports=("B136",), caught_by=("D7",))
def _identify_by_own_id(envelope: Envelope, can: Capabilities) -> str:
    """A message that a proxy posts again has another author and id, and is handled as another message."""
    return identify(msgspec.structs.replace(envelope, stands_for=None), can)


@bug("proxied-unknown-by-id", deciding("also_known_as"), caught_by=("D7",))
def _known_by_nothing_else(_envelope: Envelope, _can: Capabilities) -> tuple[str, ...]:
    """Where ids change, a message is not known by its id, by which a proxy names the message that it posts again."""
    return ()


@bug("webhooks-dropped", gateway_part("bindings_type"), reports=("B136",), caught_by=("D8",))
class _HearsNoWebhook(LiveBindings):
    """To keep its own echoes out, the gateway drops whatever comes by a webhook, of relays too."""

    def is_echo(self, envelope: Envelope) -> bool:
        """True for any webhook."""
        return envelope.webhook is not None


@bug("deaf-to-reopened", making("adapter"), reports=("B139",), caught_by=("L1",))
class _DeafAdapter(FakeAdapter):
    """Threads that are archived at the start are not joined, and reopening one has no handler."""

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        """Connect, without the messages of threads that were archived at the start."""
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


@bug("echo-is-inbound", gateway_part("bindings_type"), caught_by=("D8",))
class _HearsItself(LiveBindings):
    """The gateway's own webhook message comes back, and is taken for somebody else's."""

    def is_echo(self, envelope: Envelope) -> bool:
        """Never true."""
        return False


@bug("stale-token", making("adapter"), caught_by=("B2",))
class _FirstTokenAdapter(FakeAdapter):
    """A reused thread manager keeps the token that it was created with."""

    def renew(self, token: int) -> None:
        """Give the new token to the bot, and not to the manager of its threads and webhooks."""
        self._token = max(token, self._token)


@bug("missing-activity", changing_write(AckChunk), caught_by=("B2",))
def _without_binding(command: AckChunk) -> AckChunk:
    """Webhook messages do not count as activity: a thread in use expires."""
    intent, bound = command.intent, command.intent.bound
    if bound.identity is None:
        return command
    unbound = msgspec.structs.replace(intent, bound=msgspec.structs.replace(bound, binding=None))
    return msgspec.structs.replace(command, intent=unbound)
