"""Discord's words for errors: status, code and text."""

import json
from typing import Any

from aiohttp import web

from trunkline.core import errors
from trunkline.sim.platforms.api.wire_faults import refused_as

#: error code -> status and text
_KNOWN: dict[int, tuple[int, str]] = {
    0: (401, "401: Unauthorized"),
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10011: (404, "Unknown Role"),
    10013: (404, "Unknown User"),
    10014: (404, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10065: (404, "Unknown Voice State"),
    10062: (404, "Unknown interaction"),
    30003: (400, "Maximum number of pins reached for the channel (50)"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50003: (403, "Cannot execute action on this channel type"),
    50007: (403, "Cannot send messages to this user"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50013: (403, "Missing Permissions"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50033: (400, "Invalid Recipient(s)"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160004: (400, "A thread has already been created for this message"),
    160005: (400, "Thread is locked"),
    520000: (404, "404: Not Found"),
}
#: what the platform says in a refusal -> Discord's code for it
_REFUSALS = {
    "no such conversation": 10003,
    "no such message": 10008,
    "the message was deleted": 10008,
    "the message has no poll": 10008,
    "only its author can edit a message": 50005,
    "this account cannot delete messages of others here": 50013,
    "missing permissions: webhooks": 50013,
    "there are no webhooks in a direct conversation": 50024,
    "there are no threads here": 50024,
    "a direct conversation is no group": 50024,
    "unknown member": 10007,
    "unknown guild": 10004,
    "unknown category": 10003,
    "the new text is empty": 50006,
}
_LIMITS = {
    "X-RateLimit-Limit": "50",
    "X-RateLimit-Remaining": "49",
    "X-RateLimit-Reset-After": "1.000",
    "X-RateLimit-Bucket": "4fd0e2a1",
}


class DiscordSays(Exception):
    """An error response; raised by handlers."""

    def __init__(self, code: int, field: str = "", detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.field = field
        self.detail = detail

    def response(self) -> web.Response:
        status, text = _KNOWN[self.code]
        body: dict[str, Any] = {"message": text, "code": 0 if self.code == 520000 else self.code}
        if self.field:
            wrong: Any = {"_errors": [{"code": "INVALID", "message": self.detail or "This field is not valid."}]}
            for name in reversed(self.field.split(".")):
                wrong = {name: wrong}
            body["errors"] = wrong
        elif self.detail:
            body["message"] = f"{text}: {self.detail}"
        return reply(body, status)


#: refusal that a scenario asks for -> what Discord says
_AS = {
    "blocked": DiscordSays(50007),
    "chat-not-found": DiscordSays(10003),
    "kicked": DiscordSays(50001),
    "no-rights": DiscordSays(50013),
    "cant-parse": DiscordSays(50035, field="content", detail="This field is not valid."),
    "too-long": DiscordSays(50035, field="content", detail="Must be 2000 or fewer in length."),
}


def reply(data: object, status: int = 200, **headers: str) -> web.Response:
    """A JSON response. Its content type has no charset: client libraries compare it as a whole."""
    return web.Response(
        body=json.dumps(data, separators=(",", ":")).encode(),
        status=status,
        headers={"Content-Type": "application/json", **_LIMITS, **headers},
    )


def nothing() -> web.Response:
    """A success without content."""
    return web.Response(status=204, headers=_LIMITS)


def refusal_of(error: errors.PlatformError) -> web.Response:
    if isinstance(error, errors.RateLimited):
        return _rate_limited(error.retry_after or 1.0)
    if not isinstance(error, errors.Refused | errors.Unauthorized):
        return reply({"message": "500: Internal Server Error", "code": 0}, 500)
    if name := refused_as(error):
        return _AS[name].response()
    code = _code_of(error)
    # Of an invalid form the words say what is wrong; all others have a text of their own.
    field, detail = ("content", error.facts) if code == 50035 else ("", "")
    return DiscordSays(code, field=field, detail=detail).response()


def _code_of(error: errors.PlatformError) -> int:
    if isinstance(error, errors.Unauthorized):
        return 0
    if isinstance(error, errors.PlaceArchived):
        return 50083
    if isinstance(error, errors.IdentityGone):
        return 10015
    if isinstance(error, errors.PlaceGone):
        return 10003
    return 160005 if error.facts.endswith("archived and locked") else _REFUSALS.get(error.facts, 50035)


def _rate_limited(wait: float) -> web.Response:
    body = {"message": "You are being rate limited.", "retry_after": wait, "global": False}
    whole = str(max(1, -int(-wait // 1)))
    return reply(
        body,
        429,
        **{"Retry-After": whole, "X-RateLimit-Scope": "user", "X-RateLimit-Remaining": "0", "Via": "1.1 wire"},
    )
