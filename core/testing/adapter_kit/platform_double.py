"""The platform behind an adapter under test, for the kit: a double or a sandbox."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager

import msgspec

from trunkline.core.channels.adapter import ChannelAdapter
from trunkline.core.errors import TrunklineError
from trunkline.core.values import Address, Poll, Style, Transport


class NotTried(TrunklineError):
    """The bench cannot do this."""


class SeenMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the gateway, as visible on the platform now."""

    address: Address
    text: str
    #: None: the bench does not know it (also for the next two fields)
    key: str | None = None
    provider_id: str | None = None
    transport: Transport | None = None
    #: the following fields count only if `Bench.shows` lists them
    media: tuple[str, ...] = ()
    poll: Poll | None = None
    payload: str | None = None
    html: str | None = None
    styles: tuple[Style, ...] = ()
    reactions: tuple[str, ...] = ()
    pinned: bool = False
    #: deleted messages are listed too, if the bench knows them
    deleted: bool = False


class Bench(ABC):
    """An adapter and its platform, created for each check.

    A subclass sets `adapter` and `places`, and implements `accepted`. Everything else is optional: omit what your
    double cannot do. A provocation applies to the next send (or look-up) only, and takes effect before it returns.
    """

    adapter: ChannelAdapter
    #: conversations that can be written to, at least two
    places: Sequence[Address]
    #: which of ``media poll payload html styles reactions pinned deleted`` it reports for messages; the others are not
    #: checked
    shows: Collection[str] = ()
    #: an open thread
    thread: Address | None = None
    #: well-formed addresses of missing conversations or threads
    nowhere: Sequence[Address] = ()
    #: addresses of files that the platform accepts
    media: tuple[str, ...] = ("https://example.org/lamp.png",)
    #: platform-specific JSON
    payload: str | None = None
    #: whether the platform redelivers unacknowledged messages
    comes_again: bool = True

    @abstractmethod
    async def accepted(self) -> Sequence[SeenMessage]:
        """All messages of the gateway accepted by the platform, in order."""

    async def requests(self) -> int:
        """The number of send requests by the adapter so far."""
        raise NotTried("the bench has no `requests`")

    async def restart(self) -> ChannelAdapter:
        """Another adapter on the same platform, as the next process would create it."""
        raise NotTried("the bench has no `restart`")

    async def lose_response(self) -> None:
        """The send is accepted, but no response comes."""
        raise NotTried("the bench has no `lose_response`")

    async def delay_response(self, seconds: float) -> None:
        """The send is accepted, but the response is delayed."""
        raise NotTried("the bench has no `delay_response`")

    async def reset_connection(self) -> None:
        """The connection breaks during the request: it may or may not be accepted."""
        raise NotTried("the bench has no `reset_connection`")

    async def refuse_connection(self) -> None:
        """The platform cannot be reached at all; in a hybrid adapter, only by the direct transport."""
        raise NotTried("the bench has no `refuse_connection`")

    async def rate_limit(self, seconds: float) -> None:
        """The platform rejects the send and asks to wait."""
        raise NotTried("the bench has no `rate_limit`")

    async def refuse(self) -> None:
        """The platform rejects the send for good."""
        raise NotTried("the bench has no `refuse`")

    async def fail_look_up(self) -> None:
        """The next look-up fails."""
        raise NotTried("the bench has no `fail_look_up`")

    async def say(self, place: Address, text: str) -> None:
        """A person writes a message; it is delivered to the open connection, or else to the next connection."""
        raise NotTried("the bench has no `say`")

    async def break_stream(self) -> None:
        """The connection for inbound messages breaks."""
        raise NotTried("the bench has no `break_stream`")

    async def unready(self) -> None:
        """The account cannot send now."""
        raise NotTried("the bench has no `unready`")


#: creates a bench; called once for each check
MakeAdapter = Callable[[], AbstractAsyncContextManager[Bench]]
