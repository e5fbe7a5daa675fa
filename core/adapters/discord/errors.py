"""The meaning of error responses of Discord. Pure: decided by the status and by Discord's own error code.

Codes are from https://discord.com/developers/docs/topics/opcodes-and-status-codes#json. Texts are only quoted.
"""

from collections.abc import Mapping

import msgspec

from trunkline.core import errors
from trunkline.core.adapters.evidence import of_status, wait_in

_TOO_MANY = 429
THREAD_EXISTS = 160004
#: error code -> what it proves; all come with 4xx, so nothing was done
_BY_CODE: dict[int, type[errors.PlatformError]] = {
    10003: errors.PlaceGone,  # unknown channel
    50001: errors.PlaceGone,  # missing access: the bot cannot see the channel
    50083: errors.PlaceArchived,  # the thread is archived
    160005: errors.PlaceArchived,  # the thread is locked
    10015: errors.IdentityGone,  # unknown webhook
    50027: errors.IdentityGone,  # invalid webhook token
}
#: how long the facts of an error may be
_LONGEST = 300


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Discord's JSON error. Other fields, such as the path to a wrong field, are not needed."""

    code: int = 0
    message: str = ""
    retry_after: float | None = None


class DiscordRefused(errors.Refused):
    """Discord refused the request."""

    def __init__(self, facts: str = "", *, code: int = 0, by_discord: bool = True) -> None:
        super().__init__(facts)
        #: Discord's error code; 0: none
        self.code = code
        #: the response is an error of Discord, and not the page of something between
        self.by_discord = by_discord


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> errors.PlatformError:
    """The error of a response without success. A body without JSON, such as a page of a proxy, has no code."""
    said = _body(body)
    facts = f"{said.message[:_LONGEST]} (status {status}, code {said.code})" if said.code or said.message else ""
    if status == _TOO_MANY:
        wait = said.retry_after if said.retry_after is not None else wait_in(headers.get("Retry-After"))
        return errors.RateLimited(facts or "too many requests", retry_after=wait)
    known = _BY_CODE.get(said.code) if 400 <= status < 500 else None
    if known is not None:
        return known(facts)
    found = of_status(status, facts)
    return (
        DiscordRefused(found.facts, code=said.code, by_discord=bool(facts)) if type(found) is errors.Refused else found
    )


def of_close(code: int | None) -> errors.PlatformError:
    """The error of a close code of a gateway socket.

    From https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway.
    """
    if code == 4004:
        return errors.Unauthorized("the gateway does not accept the token")
    if code in (4010, 4011, 4012, 4013):
        return errors.Refused(f"the gateway refused the connection (close code {code})")
    if code == 4014:
        return errors.Refused(
            "the gateway refused the connection: switch on the message content intent in the developer portal,"
            " or set message_content: false (close code 4014)"
        )
    return errors.NotSent(f"the gateway closed the connection (close code {code})")


def unsent(error: errors.PlatformError) -> errors.PlatformError:
    """The error of a request needed before a message: whatever the outcome of the request, the message was not sent."""
    return errors.NotSent(f"before the message: {error.facts}") if isinstance(error, errors.Ambiguous) else error


def is_from_proxy(error: errors.Refused) -> bool:
    """Whether the error response came from a proxy or firewall and so says nothing about the request."""
    return isinstance(error, DiscordRefused) and not error.by_discord


def _body(body: bytes) -> ErrorBody:
    try:
        return msgspec.json.decode(body, type=ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ErrorBody()
