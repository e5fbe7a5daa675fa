"""The faults of a scenario that strike any request on the wire: sends, changes and questions alike."""

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import msgspec

from trunkline.core.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Refused

#: a response that breaks off in the middle
HALF = "half-answer"
#: a response that comes byte by byte
LORIS = "slow-loris"
#: a page of a proxy instead of a response
PAGE = "html"


class StruckAnswer(msgspec.Struct, frozen=True):
    """A response that a fault strikes on its way back. Only a socket shows how; `received` says what it means."""

    #: `HALF`, `LORIS` or `PAGE`
    kind: str
    #: how long it takes
    seconds: float = 0.0
    #: the whole response; None for a page
    what: object = None


def struck(kind: str, seconds: float, what: object) -> object:
    """The response to a request that was accepted, as a fault leaves it."""
    return StruckAnswer(kind, seconds, what) if kind in (HALF, LORIS) else what


async def response_of(answer: asyncio.Future[Any]) -> Any:
    """The response to a request, as a sender without a socket learns of it. Raises `PlatformError`."""
    found = await answer
    if not isinstance(found, StruckAnswer):
        return found
    if found.kind == LORIS:
        await anyio.sleep(found.seconds)
        return found.what
    raise Ambiguous("status 502" if found.kind == PAGE else "the connection was reset")


#: fault that strikes a request before it reaches the platform -> what the sender gets; None: no response
BEFORE: dict[str, Callable[[], PlatformError | StruckAnswer | None]] = {
    "drop": lambda: None,
    "reset-before": lambda: Ambiguous("the connection was reset"),
    "refuse-connection": lambda: NotSent("the connection was refused"),
    PAGE: lambda: StruckAnswer(PAGE),
}
LOST = ("lose-response", "reset", HALF)


#: how the facts of a refusal begin that a scenario asks for by a name, such as ``blocked``; servers have the words
REFUSED_AS = "refused as "
_NO_RIGHTS = "the platform refused it"
#: of these, the ones that say that the conversation takes nothing any more
_GONE = frozenset({"blocked", "chat-not-found", "kicked"})


def refused_as(error: PlatformError) -> str:
    """The name of a refusal by a scenario; empty: the platform has other reasons."""
    if error.facts == _NO_RIGHTS:
        return "no-rights"
    return error.facts.removeprefix(REFUSED_AS) if error.facts.startswith(REFUSED_AS) else ""


def raise_refusal(kind: str, extra: float) -> None:
    """Raise the `PlatformError` with which a fault makes the platform answer. `extra`: seconds to wait."""
    if kind == "rate-limit":
        raise RateLimited("too many requests", retry_after=extra)
    if kind == "refuse":
        raise Refused(_NO_RIGHTS)
    if kind.startswith("refuse/"):
        name = kind.removeprefix("refuse/")
        raise (PlaceGone if name in _GONE else Refused)(f"{REFUSED_AS}{name}")
    if kind == "error":
        raise PlatformError("the platform had an internal error")
