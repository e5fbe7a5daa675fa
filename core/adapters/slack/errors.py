"""The evidence in Slack's error codes. Pure.

A response of Slack has ``ok`` and, if that is false, a code such as ``channel_not_found``, mostly with status 200. A
code that is not listed here is a refusal for good: Slack has looked at the request and said no.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from trunkline.core.adapters.evidence import of_status, wait_in
from trunkline.core.adapters.json_values import as_object
from trunkline.core.errors import (
    Ambiguous,
    NotSent,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    Unauthorized,
)

#: Slack may have done a part of it: the reference of each method says so of the first two
_DOUBT = frozenset({"internal_error", "fatal_error", "service_unavailable"})
#: the data of the request did not arrive whole, so it was not carried out
_INCOMPLETE = frozenset({"request_timeout"})
#: the workspace is being moved; nothing was done, and a later request can succeed
_LATER = frozenset({"team_added_to_org"})
_TOKENS = frozenset({"not_authed", "invalid_auth", "account_inactive", "token_revoked", "token_expired"})
_TOO_MANY = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_GONE = frozenset({"channel_not_found", "not_in_channel", "thread_not_found", "user_disabled"})
_ARCHIVED = frozenset({"is_archived"})
_CODE = re.compile(r"[a-z0-9_:.-]{1,80}")
_KNOWN = _DOUBT | _INCOMPLETE | _LATER | _TOKENS | _TOO_MANY | _GONE | _ARCHIVED
_OK = 200
_SERVER_ERROR = 500
_RATE_LIMITED = 429


def of_code(code: str, facts: str = "", *, retry_after: float | None = None) -> PlatformError:
    """The error of an error code."""
    if _CODE.fullmatch(code) is None:
        return Refused("an error without a readable code")
    kinds: tuple[tuple[frozenset[str], type[PlatformError]], ...] = (
        (_DOUBT, Ambiguous),
        (_INCOMPLETE, NotSent),
        (_LATER, PlatformError),
        (_TOKENS, Unauthorized),
        (_TOO_MANY, RateLimited),
        (_ARCHIVED, PlaceArchived),
        (_GONE, PlaceGone),
    )
    kind = next((kind for codes, kind in kinds if code in codes), Refused)
    return kind(f"{code}, {facts}" if facts else code, retry_after=retry_after)


def of_response(status: int, data: object, headers: Mapping[str, str]) -> PlatformError:
    """The error of a response without success. An answer of another server proves nothing about a message.

    Servers in between have an `error` in their JSON too, so with a status of 5xx an unlisted code says nothing.
    """
    wait = wait_in(headers.get("Retry-After"))
    if status == _RATE_LIMITED:
        return RateLimited("ratelimited", retry_after=wait)
    given = as_object(data)
    code, needed = given.get("error"), given.get("needed")
    if isinstance(code, str) and (status < _SERVER_ERROR or code in _KNOWN):
        facts = f"it needs the scope {needed}" if isinstance(needed, str) and _CODE.fullmatch(needed) else ""
        return of_code(code, facts, retry_after=wait)
    if status == _OK:
        return Ambiguous("the answer is not one of Slack's Web API")
    return of_status(status, retry_after=wait)
