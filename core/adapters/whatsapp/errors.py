"""The evidence in errors of the Graph API, by documented codes; the status decides only for unknown codes.

Meta calls the code the part of an error to build on; titles and messages change.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from trunkline.core.adapters.evidence import of_status, wait_in
from trunkline.core.errors import Ambiguous, PlatformError, RateLimited, Refused, Unauthorized

#: characters of Meta's words
_LONGEST = 300
#: the token has expired, was revoked, or lacks a permission: the account can send again once that is mended
_NOT_ACCEPTED = frozenset({0, 3, 10, 190, *range(200, 300)})
#: too many requests: of the app, of the account, of the number, to this person
_TOO_MANY = frozenset({4, 80007, 130429, 131048, 131056, 131064, 133016})
#: a failure on Meta's side: nothing says that the message was not taken before
_IN_DOUBT = frozenset({1, 2, 131000, 131016, 131057})
#: refused for good, with what it means here
_FOR_GOOD = {
    33: "the number was deleted",
    100: "a parameter is not valid",
    368: "the account is blocked for a violation of Meta's policies",
    130472: "the person is part of an experiment of Meta's",
    130497: "the account may not write to people of this country",
    131005: "access is denied",
    131008: "a parameter is missing",
    131009: "a value of a parameter is not valid",
    131021: "the recipient is the account itself",
    131026: "the message cannot be delivered to this number",
    131030: "the recipient is not in the list of a test number",
    131031: "the account is locked",
    131037: "the display name of the number is not approved",
    131042: "the payment method of the account has a problem",
    131045: "the number is not registered correctly",
    131047: "the person wrote more than 24 hours ago: only a template reaches them",
    131049: "Meta does not deliver it, to keep people from too many messages",
    131050: "the person wants no such messages",
    131051: "this type of message is not supported",
    131052: "the file could not be downloaded",
    131053: "the file could not be uploaded",
    131062: "this type of message needs a phone number",
    133010: "the number is not registered",
    135000: "a parameter is not valid",
    137000: "the person has another identity key",
}


class GraphError(msgspec.Struct, frozen=True, kw_only=True):
    """The `error` of a response, or an error of a status webhook."""

    code: int | None = None
    #: words for people, of any type: what they are does not change what the code says
    message: Any = None
    title: Any = None
    error_data: Any = None

    @property
    def facts(self) -> str:
        data: Any = self.error_data
        details: Any = data.get("details") if isinstance(data, dict) else data  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        from_meta = (
            words for words in (cast("Any", details), self.title, self.message) if isinstance(words, str) and words
        )
        said = next(from_meta, "")[:_LONGEST]
        meaning = _FOR_GOOD.get(self.code if self.code is not None else -1, "")
        words = f"{meaning} ({said})" if meaning and said else meaning or said
        return words if self.code is None else f"error {self.code}: {words}"


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    error: GraphError


def error_of(status: int, body: bytes, headers: Mapping[str, str]) -> PlatformError:
    """The error of a response without success."""
    try:
        error = msgspec.json.decode(body, type=_Failure).error
    except (msgspec.MsgspecError, ValueError, RecursionError):
        error = GraphError()
    if error.code is None:
        return of_status(status, "no error of the Graph API in it", retry_after=wait_of(headers))
    made = _made_by(error.code)
    if made is None:
        return of_status(status, error.facts, retry_after=wait_of(headers))
    return made(error.facts, retry_after=wait_of(headers))


def _made_by(code: int) -> Callable[..., PlatformError] | None:
    if code in _NOT_ACCEPTED:
        return Unauthorized
    if code in _TOO_MANY:
        return RateLimited
    if code in _IN_DOUBT:
        return Ambiguous
    return Refused if code in _FOR_GOOD else None


def wait_of(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait according to a response: `Retry-After`, or Meta's account of the use in minutes."""
    wait = wait_in(headers.get("retry-after"))
    if wait is not None:
        return wait
    try:
        usage = msgspec.json.decode(headers.get("x-business-use-case-usage", ""), type=dict[str, list[dict[str, Any]]])
        minutes = [entry.get("estimated_time_to_regain_access", 0) for several in usage.values() for entry in several]
        return max(
            (float(minute) * 60 for minute in minutes if isinstance(minute, int | float) and minute > 0), default=None
        )
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        return None
