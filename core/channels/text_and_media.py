"""The base of adapters for simple channels, which take texts and files and little else.

A subclass posts and listens; the base declares the capabilities, checks requests, makes receipts, and turns errors into
those of the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import ClassVar, cast

import anyio.lowlevel

from trunkline.core.action_names import Action
from trunkline.core.channels.adapter import InboundStream
from trunkline.core.channels.registry import rules_for
from trunkline.core.errors import Ambiguous, IdentityGone, NotSent, PlatformError, Refused
from trunkline.core.values import (
    Address,
    Capabilities,
    Capability,
    DeliveryMode,
    Envelope,
    Idempotency,
    Receipt,
    SendRequest,
    Transport,
)

#: errors after which a request was surely not sent
_NOT_SENT = (ConnectionRefusedError,)


class TextAndMediaChannel(ABC):
    """`trunkline.ChannelAdapter` for one account on a simple channel.

    `post_text` and `inbound` must be implemented; a channel with files implements `post_media` too.
    """

    #: what the channel does with a request whose key it has seen
    idempotency: ClassVar[Idempotency] = Idempotency.NONE
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
        self._channel = channel
        self._account = account
        self._capabilities = self._declare()

    # ------------------------------------------------------------ for subclasses

    @abstractmethod
    async def post_text(self, address: Address, text: str, *, key: str, reply_to: str | None) -> str | None:
        """Post a text; returns the channel's id of the message, or None if it gives none.

        Raise a `core.errors.PlatformError` for what you know about a failure. `wrong` sorts every other error.
        """

    async def post_media(
        self, address: Address, media: tuple[str, ...], caption: str, *, key: str, reply_to: str | None
    ) -> str | None:
        """Post files, by URL or path, as one message with a caption. Errors and result as for `post_text`."""
        raise Refused("there are no files here")

    @abstractmethod
    def inbound(self) -> AsyncIterator[Envelope]:
        """Connect and yield the messages of people. Write it as an async generator: its `finally` disconnects."""

    def wrong(self, error: Exception) -> PlatformError:
        """What an error of `post_text` or `post_media` means. By default only a refused connection surely sent nothing.

        Override it for the errors of your client library. When in doubt, return `Ambiguous`: a message that may have
        been accepted is then not sent twice.
        """
        facts = f"{type(error).__name__}: {error}"
        return NotSent(facts) if isinstance(error, _NOT_SENT) else Ambiguous(facts)

    # ------------------------------------------------------------ the contract

    @property
    def channel(self) -> str:
        return self._channel

    @property
    def account(self) -> str:
        return self._account

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def connect(self) -> InboundStream:
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        stream = self.inbound()
        if isinstance(stream, AsyncGenerator):
            async with aclosing(cast("AsyncGenerator[Envelope, None]", stream)) as open_stream:
                yield open_stream
        else:
            yield stream

    async def ack(self, envelope: Envelope) -> None:
        """Do nothing: most simple channels need no acknowledgement. Override it for one that does."""
        await anyio.lowlevel.checkpoint()

    async def send(self, request: SendRequest) -> Receipt:
        self._check(request)
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
        return Receipt(provider_id=sent or "", address=request.address)

    async def find(self, address: Address, key: str) -> Receipt | None:
        """Never called: the channel has no look-up."""
        raise PlatformError("there is no look-up here")

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """Never called: the channel opens no threads."""
        raise Refused("no thread can be opened here")

    # ------------------------------------------------------------ capabilities and checks

    def _declare(self) -> Capabilities:
        rules = rules_for(self._channel)
        can = {Capability.TEXT}
        if type(self).post_media is not TextAndMediaChannel.post_media:
            can.add(Capability.MEDIA)
        if self.message_ids:
            can.add(Capability.MESSAGE_IDS)
        if self.threads:
            can.add(Capability.THREADS)
        return Capabilities(
            can=frozenset(can),
            mode=DeliveryMode.DIRECT,
            idempotency=self.idempotency,
            in_flight_seconds=self.in_flight_seconds,
            caption_limit=rules.capabilities.caption_limit,
            text_limit=rules.text_limit if self.text_limit is None else self.text_limit,
            actions=self.actions,
        )

    def _check(self, request: SendRequest) -> None:
        """Raise `Refused` for what a simple channel cannot do, before anything is sent."""
        if request.identity is not None:
            raise IdentityGone("there are no webhooks here")
        missing = {
            "gateway transport": request.transport is not Transport.DIRECT,
            "files": bool(request.media) and Capability.MEDIA not in self._capabilities.can,
            "polls": request.poll is not None,
            "payloads": request.payload is not None,
            "buttons, cards and effects": request.parts is not None,
            "threads": request.address.thread is not None and Capability.THREADS not in self._capabilities.can,
        }
        for what, asked in missing.items():
            if asked:
                raise Refused(f"there are no {what} here")
        if len(request.text) > self._capabilities.text_limit:
            raise Refused(f"longer than {self._capabilities.text_limit}")
