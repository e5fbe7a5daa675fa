"""The answers of the Bot API: what succeeds, and how a refusal is worded."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.errors import PlaceArchived, PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Address
from trunkline.sim.platforms.base import FakePlatform


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of a refusal: Telegram words the same refusal differently for each."""

    place: Address | None = None
    #: what is done to a message: ``edit``, ``delete``, ``react``, ``pin``
    verb: str = ""
    caption: bool = False


def ok(result: object) -> web.Response:
    """A success."""
    return web.json_response({"ok": True, "result": result})


def failed(status: int, description: str, **parameters: Any) -> web.Response:
    """A failure."""
    body: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    if parameters:
        body["parameters"] = parameters
    return web.json_response(body, status=status)


def refused(platform: FakePlatform, error: PlatformError, wording: Wording) -> web.Response:
    """The failure that means an error of the platform."""
    if isinstance(error, Unauthorized):
        return failed(401, "Unauthorized")
    if isinstance(error, RateLimited):
        wait = math.ceil(error.retry_after or 1)
        return failed(429, f"Too Many Requests: retry after {wait}", retry_after=wait)
    if not isinstance(error, Refused):
        return failed(500, "Internal Server Error")
    if isinstance(error, PlaceArchived):
        return failed(400, "Bad Request: TOPIC_CLOSED")
    if isinstance(error, PlaceGone) or error.facts == "no such conversation":
        return _no_place(platform, wording.place)
    return failed(400, f"Bad Request: {_words(error.facts, wording)}")


def _no_place(platform: FakePlatform, place: Address | None) -> web.Response:
    above = None if place is None else platform.room_above(place)
    if place is None or above is None or place.account not in above.accounts:
        return failed(400, "Bad Request: chat not found")
    if place.account in above.left:
        return failed(403, "Forbidden: bot is not a member of the supergroup chat")
    if above.closed == "deleted":
        return failed(403, "Forbidden: the group chat was deleted")
    return failed(400, "Bad Request: message thread not found")


def _words(facts: str, wording: Wording) -> str:
    """Telegram's words for a rule of the fake platform."""
    if facts in ("no such message", "the message was deleted"):
        return f"message to {wording.verb or 'reply'} not found"
    if facts.startswith("longer than"):
        return "message caption is too long" if wording.caption else "message is too long"
    if facts.startswith("cannot parse entities"):
        return facts.replace("cannot", "can't", 1)
    if facts in ("the new text is empty", "there is no text"):
        return "message text is empty"
    if facts == "only its author can edit a message":
        return "message can't be edited"
    if facts.startswith(("this account cannot delete", "the message is too old to be deleted")):
        return "message can't be deleted"
    if facts == "there are no threads here":
        return "the chat is not a forum"
    return facts
