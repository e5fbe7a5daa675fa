"""Requests of clients of the control interface: bodies and parameters, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from trunkline.core.config import parse_duration
from trunkline.sim.wire.fakes.messages import MessageFilter
from trunkline.sim.wire.fakes.problems import BadRequest
from trunkline.sim.wire.play.accounts import VERIFY

T = TypeVar("T")
#: seconds that a client may wait for messages at once
LONGEST_WAIT = 600.0


class Restart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a server is down: seconds, or a text such as ``2s``."""

    down: float | str = 0.0


class Rotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The account whose token is replaced; by default the only one, or that called ``default``."""

    account: str | None = None


class Subscription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a platform delivers its webhooks. `verify_token`: that of the settings, unless the bot has its own."""

    url: str
    account: str | None = None
    verify_token: str = VERIFY


async def json_of(request: web.Request) -> Any:
    """The JSON value of a body. Raises `BadRequest`."""
    try:
        return msgspec.json.decode(await request.read())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("", f"the body is no JSON: {error}", "send a JSON value, in UTF-8") from None


async def body_of(request: web.Request, kind: type[T]) -> T:
    """The value of a body of a kind; without a body the default one."""
    return converted(await json_of(request) if request.can_read_body else {}, kind)


def converted(given: object, kind: type[T]) -> T:
    """A JSON value as a kind. Raises `BadRequest` with the field."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        message, _, at = str(error).partition(" - at `$")
        raise BadRequest(at.rstrip("`").lstrip("."), message, "docs/fakes.md says what may stand there") from None


_FILTERS: Mapping[str, str] = {"in": "place", "by": "by", "text": "text", "after": "after", "deleted": "deleted"}
_OF_WAITING = ("count", "timeout")


def filter_of(query: Mapping[str, str]) -> MessageFilter:
    """Which messages the parameters mean. Raises `BadRequest`."""
    known = (*_FILTERS, *_OF_WAITING)
    for name in query:
        if name not in known:
            raise BadRequest(name, f"there is no parameter {name!r}", f"there are: {', '.join(known)}")
    return MessageFilter(
        place=query.get("in"),
        by=query.get("by"),
        text=query.get("text"),
        after=int(number_of(query, "after", 0.0, 1e15)),
        deleted=query.get("deleted", "false") in ("true", "1"),
    )


def number_of(query: Mapping[str, str], name: str, default: float, most: float) -> float:
    """A parameter that is a number, at most `most`. Raises `BadRequest`."""
    return default if name not in query else _checked(name, query[name], float, most)


def seconds_of(given: float | str) -> float:
    """Seconds, from a number or a text such as ``2s``. Raises `BadRequest`."""
    return _checked("down", given, parse_duration, LONGEST_WAIT)


def _checked(name: str, given: Any, read: Callable[[Any], float], most: float) -> float:
    try:
        found = read(given)
    except ValueError:
        found = -1.0
    if not 0 <= found <= most:
        wrong = f"expected a number from 0 to {most:g}, found {str(given)[:40]!r}"
        raise BadRequest(name, wrong, "write seconds as a plain number")
    return found
