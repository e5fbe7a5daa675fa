"""The adapter of a mailbox account: an account whose people are reached through the API.

What the gateway sends is stored in the mailbox, which their clients read; that it is stored is its acceptance. What
people write comes by `Gateway.receive`. Any channel can have such an account: then a bridge of your own speaks to the
platform.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio

from trunkline.core import values
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.channels.registry import rules_for
from trunkline.core.channels.rules import ChannelRules
from trunkline.core.declared import filled
from trunkline.core.env import Env
from trunkline.core.errors import Ambiguous, Refused, StoreError
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.store.mailbox import MailboxMessage, MailboxPage, PostToMailbox, ReadMailbox
from trunkline.core.store.port import Store

#: characters of one message, where the channel has no limit of its own
_TEXT_LIMIT = 32_000
_PLAIN = frozenset(
    {values.Capability.TEXT, values.Capability.MEDIA, values.Capability.THREADS, values.Capability.MESSAGE_IDS}
)
#: what the messages of a platform can have -> what its bridge gets as data
_PARTS = {
    Feature.BUTTONS: frozenset({values.Capability.BUTTONS}),
    Feature.CARDS: frozenset({values.Capability.CARDS}),
    Feature.COMPONENTS: frozenset({values.Capability.COMPONENTS, values.Capability.EMBEDS}),
    Feature.SILENT: frozenset({values.Capability.SILENT}),
}


def mailbox_capabilities(channel: str) -> values.Capabilities:
    """The capabilities of a mailbox account of a channel: what people there are really shown.

    On the web chat that is what its page shows. On a platform with rules of its own a bridge gets what the platform
    can show, within its limits; on any other channel, what the page shows, and payloads, which only its client reads.
    """
    rules = rules_for(channel)
    return values.Capabilities(
        can=_can(rules),
        # A message is found under its key for as long as anything of its intent is kept.
        idempotency=values.Idempotency.KEY,
        in_flight_seconds=0.0,
        poll_options=rules.capabilities.poll_options,
        caption_limit=rules.capabilities.caption_limit,
        button_text_limit=rules.capabilities.button_text_limit,
        text_limit=_TEXT_LIMIT if rules.generic else rules.text_limit,
    )


def _can(rules: ChannelRules) -> frozenset[values.Capability]:
    if rules.internal:
        return _PLAIN | {values.Capability.BUTTONS}
    if rules.generic:
        return _PLAIN | {values.Capability.BUTTONS, values.Capability.PAYLOAD}
    can = _PLAIN & (rules.capabilities.can | {values.Capability.TEXT, values.Capability.MESSAGE_IDS}) | {
        values.Capability.PAYLOAD
    }
    polls = Action.POLL in rules.actions and not rules.without_table
    return can.union(
        {values.Capability.POLL} if polls else (), *(_PARTS.get(feature, ()) for feature in rules.features)
    )


class MailboxAdapter(AccountAdapter):
    """A mailbox account over the gateway's own store. Conversations can be bound to sessions as they are."""

    #: threads are opened by clients, which name them in what they hand over
    placements = (Placement.CURRENT,)

    def __init__(self, channel: str, account: str, store: Store, env: Env) -> None:
        super().__init__(channel, account, mailbox_capabilities(channel))
        self._store = store
        self._env = env
        #: those who wait for a message, by conversation; none: for any
        self._waiting: dict[str | None, set[anyio.Event]] = {}

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[values.Envelope]]:
        yield _no_messages()

    async def ack(self, envelope: values.Envelope) -> None:
        """Does nothing: `Gateway.receive` returns only when the message is durable."""

    async def send(self, request: values.SendRequest) -> values.Receipt:
        self.check_sendable(request)
        message = filled(MailboxMessage, request)
        try:
            n = await self._store.write(
                PostToMailbox(message=message, now=self._env.now()),
                lambda n: n,
                then=lambda _: self._posted(request.address.conversation),
            )
        except StoreError as error:
            raise Ambiguous(error.facts) from error
        return values.Receipt(provider_id=str(n), address=request.address)

    async def open_child(self, parent: values.Address, title: str, key: str) -> values.Address:
        raise Refused("threads of a mailbox are opened by its clients")

    async def inspect(self, place: values.Address) -> PlaceState:
        """Always open: what nobody reads yet is kept."""
        return PlaceState.OPEN

    async def reopen(self, place: values.Address) -> None:
        """Do nothing: no conversation of a mailbox is archived."""

    async def identity(self, place: values.Address, name: str) -> values.Identity | None:
        """None: a mailbox has no webhooks."""

    async def read(
        self, *, after: int = 0, conversation: str | None = None, kind: values.ChatKind | None = None, limit: int = 100
    ) -> MailboxPage:
        """The messages behind number `after`, of all conversations, of a single conversation, or of a kind."""
        return await self._store.read(
            ReadMailbox(
                channel=self.channel,
                account=self.account,
                conversation=conversation,
                kind=kind,
                after=after,
                limit=limit,
            )
        )

    async def next(
        self, *, after: int = 0, conversation: str | None = None, kind: values.ChatKind | None = None, limit: int = 100
    ) -> MailboxPage:
        """As `read`, but waits until there is a message."""
        while True:
            with self._watching(conversation) as posted:
                page = await self.read(after=after, conversation=conversation, kind=kind, limit=limit)
                if page.messages:
                    return page
                await posted.wait()

    @contextmanager
    def _watching(self, conversation: str | None) -> Generator[anyio.Event]:
        """An event set by the next message."""
        waiting = self._waiting.setdefault(conversation, set())
        posted = anyio.Event()
        waiting.add(posted)
        try:
            yield posted
        finally:
            waiting.discard(posted)
            if not waiting and self._waiting.get(conversation) is waiting:
                del self._waiting[conversation]

    def _posted(self, conversation: str) -> None:
        for place in (conversation, None):
            for posted in self._waiting.get(place, ()):
                posted.set()


async def _no_messages() -> AsyncIterator[values.Envelope]:
    await anyio.sleep_forever()
    for envelope in ():
        yield envelope
