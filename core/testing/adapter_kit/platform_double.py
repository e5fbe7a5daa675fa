"""What stands behind an adapter under test, as the kit sees it: a double of the platform, or a sandbox of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager

import msgspec

from trunkline.core.channels.adapter import ChannelAdapter
from trunkline.core.errors import TrunklineError
from trunkline.core.values import Address, Poll, Style, Transport


class NotTried(TrunklineError):
    """It cannot be tried here."""


class SeenMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the gateway as it stands on the platform now."""

    address: Address
    text: str
    #: none of these three: the bench cannot know
    key: str | None = None
    provider_id: str | None = None
    transport: Transport | None = None
    #: from here on: only what the bench says that it shows
    media: tuple[str, ...] = ()
    poll: Poll | None = None
    payload: str | None = None
    html: str | None = None
    styles: tuple[Style, ...] = ()
    reactions: tuple[str, ...] = ()


class Bench(ABC):
    """An adapter and its platform, made anew for each check.

    A subclass sets `adapter` and `places`, and answers `accepted`. Everything else is optional: leave out what your
    double cannot do. A provocation is for the next send (or look-up) only, and takes effect before it returns.
    """

    adapter: ChannelAdapter
    #: conversations that can be written to, at least two
    places: Sequence[Address]
    #: which of ``media poll payload html styles reactions`` it can tell of messages; the others are not judged
    shows: Collection[str] = ()
    #: a thread that is open
    thread: Address | None = None
    #: well-formed addresses of conversations or threads that are not there
    nowhere: Sequence[Address] = ()
    #: addresses of files that the platform takes
    media: tuple[str, ...] = ("https://example.org/lamp.png",)
    #: JSON that only this platform knows
    payload: str | None = None
    #: the platform delivers again what was not acknowledged
    comes_again: bool = True

    @abstractmethod
    async def accepted(self) -> Sequence[SeenMessage]:
        """Every message that the platform took from the gateway, in order."""

    async def requests(self) -> int:
        """How many requests for sends have left the adapter so far, whatever came of them."""
        raise NotTried("the bench has no `requests`")

    async def restart(self) -> ChannelAdapter:
        """Another adapter on the same platform, as the next process would make it."""
        raise NotTried("the bench has no `restart`")

    # ------------------------------------------------------------ provocations of a send

    async def lose_response(self) -> None:
        """It is accepted, and no answer comes."""
        raise NotTried("the bench has no `lose_response`")

    async def delay_response(self, seconds: float) -> None:
        """It is accepted, and the answer comes so much later than usual."""
        raise NotTried("the bench has no `delay_response`")

    async def reset_connection(self) -> None:
        """The connection breaks while the request is under way: nobody knows whether it was accepted."""
        raise NotTried("the bench has no `reset_connection`")

    async def refuse_connection(self) -> None:
        """The platform cannot be reached at all. In a hybrid adapter: by the direct transport."""
        raise NotTried("the bench has no `refuse_connection`")

    async def rate_limit(self, seconds: float) -> None:
        """The platform does not take it, and asks to wait so long."""
        raise NotTried("the bench has no `rate_limit`")

    async def refuse(self) -> None:
        """The platform refuses it for good."""
        raise NotTried("the bench has no `refuse`")

    # ------------------------------------------------------------ other provocations

    async def fail_look_up(self) -> None:
        """The next look-up fails."""
        raise NotTried("the bench has no `fail_look_up`")

    async def say(self, place: Address, text: str) -> None:
        """Somebody writes this there; it comes to the open connection, or else to the next."""
        raise NotTried("the bench has no `say`")

    async def break_stream(self) -> None:
        """The connection for inbound messages breaks."""
        raise NotTried("the bench has no `break_stream`")

    async def unready(self) -> None:
        """The account cannot send now."""
        raise NotTried("the bench has no `unready`")


#: makes an adapter and what stands behind it; called once for each check
MakeAdapter = Callable[[], AbstractAsyncContextManager[Bench]]
