"""The bases of adapters: for any account, and for accounts on simple channels, with texts, files and little else."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import ClassVar, cast

import anyio.lowlevel

from trunkline.core import values
from trunkline.core.action_catalogue import Action
from trunkline.core.channels.capabilities import check_able
from trunkline.core.channels.registry import rules_for
from trunkline.core.errors import Ambiguous, IdentityGone, InvalidSend, NotSent, PlatformError, Refused
from trunkline.core.text.chunking.utf16 import fits

#: errors after which a request was surely not sent
_NOT_SENT = (ConnectionRefusedError,)


class AccountAdapter:
    """The base of a `trunkline.core.channels.ChannelAdapter` for an account."""

    def __init__(self, channel: str, account: str, capabilities: values.Capabilities) -> None:
        self.channel = channel
        self.account = account
        self.capabilities = capabilities

    def check_sendable(self, request: values.SendRequest) -> None:
        """Raise `Refused` for a message beyond the capabilities, before anything is read or sent.

        The gateway checks the same before it stores the message; the adapter leaves nothing out in silence.
        """
        can, where = self.capabilities, f"on {self.channel}:{self.account}"
        if request.identity is not None and can.identities is None:
            raise IdentityGone(f"there are no webhooks {where}")
        if request.transport is not can.mode.first:
            raise Refused(f"there is no {request.transport.value} transport {where}")
        media, poll, payload, parts = request.media, request.poll, request.payload, request.parts
        try:
            check_able(can, where, media=media, poll=poll, payload=payload, parts=parts)
        except InvalidSend as error:
            raise Refused(error.facts) from error
        if request.address.thread is not None and values.Capability.THREADS not in can.can:
            raise Refused(f"a thread {where}, which has none")
        if not fits(request.text, can.text_limit):
            raise Refused(f"a text of {len(request.text)} characters {where}, which takes {can.text_limit}")

    async def find(self, address: values.Address, key: str) -> values.Receipt | None:
        """Refuse, unless an adapter overrides this method and declares a look-up."""
        raise Refused(f"{self.channel} has no look-up by key")

    async def open_thread(self, place: values.Address, message_id: str, title: str) -> values.Address:
        """Refuse, unless an adapter overrides this method and declares ``opens_threads``."""
        raise Refused(f"{self.channel} opens no threads on messages")


class TextAndMediaChannel(AccountAdapter, ABC):
    """`trunkline.ChannelAdapter` for one account on a simple channel.

    A subclass posts and listens: `post_text` and `inbound` must be implemented; a channel with files implements
    `post_media` too. The base declares the capabilities, checks requests, makes receipts, and turns errors into those
    of the contract.
    """

    #: what the channel does with a request whose key it has seen
    idempotency: ClassVar[values.Idempotency] = values.Idempotency.NONE
    #: the channel's answers name the message
    message_ids: ClassVar[bool] = True
    #: an address may name a thread
    threads: ClassVar[bool] = False
    #: longest text; None: as the rules of the channel say
    text_limit: ClassVar[int | None] = None
    #: what the channel does beside sends: changes with `act`, questions with `ask` (`core.channels.Actions`, `Queries`)
    actions: ClassVar[frozenset[Action]] = frozenset()
    #: seconds for which a request may still be accepted after its response timed out
    in_flight_seconds: ClassVar[float] = 30.0

    def __init__(self, channel: str, account: str = "default") -> None:
        super().__init__(channel, account, self._declare(channel))

    @abstractmethod
    async def post_text(self, address: values.Address, text: str, *, key: str, reply_to: str | None) -> str | None:
        """Post a text; returns the channel's id of the message, or None if it gives none.

        Raise a `core.errors.PlatformError` for what you know about a failure. `wrong` sorts every other error.
        """

    async def post_media(
        self, address: values.Address, media: tuple[str, ...], caption: str, *, key: str, reply_to: str | None
    ) -> str | None:
        """Post files, by URL or path, as one message with a caption. Errors and result as for `post_text`."""
        raise Refused("there are no files here")

    @abstractmethod
    def inbound(self) -> AsyncIterator[values.Envelope]:
        """Connect and yield the messages of people. Write it as an async generator: its `finally` disconnects."""

    def wrong(self, error: Exception) -> PlatformError:
        """The meaning of an error of a post. By default only a refused connection surely sent nothing.

        Override it for the errors of your client library. When in doubt, return `Ambiguous`: a message that may have
        been accepted is then not sent twice.
        """
        facts = f"{type(error).__name__}: {error}"
        return NotSent(facts) if isinstance(error, _NOT_SENT) else Ambiguous(facts)

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[values.Envelope], None]:
        stream = self.inbound()
        if isinstance(stream, AsyncGenerator):
            async with aclosing(cast("AsyncGenerator[values.Envelope, None]", stream)) as open_stream:
                yield open_stream
        else:
            yield stream

    async def ack(self, envelope: values.Envelope) -> None:
        """Do nothing: most simple channels need no acknowledgement. Override it for one that does."""
        await anyio.lowlevel.checkpoint()

    async def send(self, request: values.SendRequest) -> values.Receipt:
        self.check_sendable(request)
        try:
            if request.media:
                sent = await self.post_media(
                    request.address, request.media, request.text, key=request.key, reply_to=request.reply_to
                )
            else:
                sent = await self.post_text(request.address, request.text, key=request.key, reply_to=request.reply_to)
        except PlatformError:
            raise
        except Exception as error:
            raise self.wrong(error) from error
        return values.Receipt(provider_id=sent or "", address=request.address)

    def _declare(self, channel: str) -> values.Capabilities:
        rules = rules_for(channel)
        can = {values.Capability.TEXT}
        if type(self).post_media is not TextAndMediaChannel.post_media:
            can.add(values.Capability.MEDIA)
        if self.message_ids:
            can.add(values.Capability.MESSAGE_IDS)
        if self.threads:
            can.add(values.Capability.THREADS)
        return values.Capabilities(
            can=frozenset(can),
            mode=values.DeliveryMode.DIRECT,
            idempotency=self.idempotency,
            in_flight_seconds=self.in_flight_seconds,
            caption_limit=rules.capabilities.caption_limit,
            text_limit=rules.text_limit if self.text_limit is None else self.text_limit,
            actions=self.actions,
        )

    def check_sendable(self, request: values.SendRequest) -> None:
        """Raise `Refused` also for whatever else a message can have beside text and files."""
        super().check_sendable(request)
        if request.parts is not None:
            raise Refused(f"there are no buttons, cards and effects on {self.channel}:{self.account}")
