"""Problems: errors as ``application/problem+json`` (RFC 9457), with the one table from error classes to statuses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec

from trunkline.core import errors
from trunkline.core.errors import TrunklineError
from trunkline.core.reasons import Reason

PROBLEM_JSON = "application/problem+json"
#: begins the type of every problem
TYPE = "urn:trunkline:problem:"
#: seconds after which a client may ask again, where nothing better is known
AGAIN = 1

#: status and type of each error. A subclass without a row has that of its nearest base class.
TABLE: dict[type[TrunklineError], tuple[int, str]] = {
    errors.TrunklineError: (500, "internal-error"),
    errors.UsageError: (422, "usage-error"),
    errors.ConfigError: (422, "config-error"),
    errors.KeyFormatError: (422, "not-a-session-key"),
    errors.ChannelConflict: (409, "channel-taken"),
    errors.UnknownName: (404, "unknown-name"),
    errors.BadCursor: (400, "bad-cursor"),
    errors.ExpiredCursor: (410, "expired-cursor"),
    errors.TargetError: (422, "not-a-target"),
    errors.AmbiguousTarget: (422, "ambiguous-target"),
    errors.InvalidSend: (422, "invalid-send"),
    errors.BindingError: (409, "binding-refused"),
    errors.DelegationRefused: (409, "delegation-refused"),
    errors.AnswerRefused: (409, "answer-refused"),
    errors.InvalidCall: (422, "invalid-call"),
    errors.InvalidAction: (422, "invalid-action"),
    errors.PolicyDenied: (403, "policy-denied"),
    errors.TurnOver: (409, "turn-over"),
    errors.PlatformError: (502, "platform-error"),
    errors.RateLimited: (503, "platform-rate-limit"),
    errors.SendFailed: (502, "send-failed"),
    errors.AgentFailed: (502, "agent-failed"),
    errors.HandError: (502, "hand-failed"),
    errors.StoreError: (503, "store-unavailable"),
    errors.LeaseLost: (503, "standby"),
    errors.IllegalTransition: (409, "illegal-transition"),
}

#: status and meaning of what only HTTP knows, by type
HTTP_TABLE: dict[str, tuple[int, str]] = {
    "malformed-request": (400, "It is not HTTP/1.1, or a part of it is malformed."),
    "bad-host": (400, "It has no `Host`, two, or an unusable one."),
    "not-utf-8": (400, "Path or query are not UTF-8."),
    "invalid-json": (400, "The body is not JSON in UTF-8."),
    "unauthorized": (401, "There is no token, or an unknown one."),
    "missing-scope": (403, "The token lacks the scope that `scope` names."),
    "cross-site": (403, "A page of another site asks, which `http.origins` does not name."),
    "not-found": (404, "There is no such address."),
    "unknown-channel": (404, "No mailbox account is on this channel."),
    "unknown-account": (404, "No mailbox account has this channel and name."),
    "unknown-inbound": (404, "There is no such inbound message, or it is no longer kept."),
    "method-not-allowed": (405, "The address has other methods; `Allow` lists them."),
    "second-hello": (409, "A socket of the web chat has a person already."),
    "request-timeout": (408, "The request, or its body, came too slowly."),
    "message-id-reused": (409, "Another message has this id. Give each message an id of its own."),
    "key-reused": (409, "Another wake-up has this key. Give each one a key of its own."),
    "no-configuration": (409, "The gateway was not started from a configuration file."),
    "body-too-large": (413, "The body is over the limit."),
    "address-too-long": (414, "Path and query are over the limit."),
    "unsupported-media-type": (415, "The body is not `application/json` in UTF-8, or compressed."),
    "host-not-served": (421, "`Host` is neither an address nor one of `http.hosts`."),
    "invalid-body": (422, "A field of the body is missing, unknown or unusable; `field` is its path."),
    "invalid-frame": (422, "A frame of the web chat has an unknown type, or an unusable field."),
    "invalid-query": (422, "A parameter of the query is missing, unknown or unusable; `field` is its path."),
    "bad-message": (422, "The message cannot be stored."),
    "empty-message": (422, "The message has neither text nor media."),
    "too-many-requests": (429, "The token, or the address without one, asks too often."),
    "headers-too-large": (431, "Request line and headers are over the limit."),
    "undecidable": (500, "Deciding on the message failed; nothing was stored."),
    "busy": (503, "Too many requests or connections are open."),
    "standby": (503, "The gateway waits for its store, or recovers unfinished work."),
    "stopping": (503, "The gateway is stopping."),
}

#: reasons that say more than the class of the error
BY_REASON: dict[Reason, tuple[int, str]] = {Reason.UNKNOWN_DELEGATION: (404, "unknown-delegation")}


class Problem(Exception):
    """A problem that only HTTP knows. `slug` ends its type; `more` becomes members of the document."""

    def __init__(
        self, status: int, slug: str, detail: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.slug = slug
        self.detail = detail
        self.headers = headers or {}
        self.more = more


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem, as it is answered."""

    type: str
    #: the reason phrase of the status
    title: str
    status: int
    #: what is wrong, and what to do
    detail: str
    #: a reason code, as events have it
    reason: str | None = None
    #: path of the unusable field, e.g. ``$.peer.id``
    field: str | None = None
    #: the scope that the token lacks
    scope: str | None = None
    request_id: str = ""


def problem_of(error: Exception) -> Problem:
    """The problem for an error. An error of another library is an internal one, without its text."""
    error = _alone(error)
    if isinstance(error, Problem):
        return error
    if not isinstance(error, TrunklineError):
        return Problem(
            500, "internal-error", "The gateway has a defect; its log says more under the id of this request."
        )
    reason: Reason | None = getattr(error, "reason", None)
    status, type_ = _row_of(type(error))
    if reason is not None:
        status, type_ = BY_REASON.get(reason, (status, type_))
    more = {} if reason is None else {"reason": str(reason)}
    return Problem(status, type_, str(error), headers=_headers_of(error, status), **more)


def stopping() -> Problem:
    """The problem for every request while the server stops."""
    return Problem(503, "stopping", "The gateway is stopping.", headers={"Retry-After": str(AGAIN)})


def not_found() -> Problem:
    """The problem for a path without an endpoint."""
    return Problem(404, "not-found", "There is nothing at this address. `/openapi.json` has all addresses.")


def method_not_allowed(method: str, allowed: str) -> Problem:
    """The problem for a path whose endpoints have other methods."""
    return Problem(405, "method-not-allowed", f"The method {method} is not possible here.", headers={"Allow": allowed})


def document_of(problem: Problem, request_id: str) -> ProblemDocument:
    """The document of a problem."""
    return ProblemDocument(
        type=TYPE + problem.slug,
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        request_id=request_id,
        **problem.more,
    )


def _alone(error: Exception) -> Exception:
    """The one error in a group: a handler that works in a task group raises it so."""
    inside: tuple[Exception, ...] = getattr(error, "exceptions", ())
    return _alone(inside[0]) if len(inside) == 1 else error


def _row_of(error: type[Exception]) -> tuple[int, str]:
    for kind in error.__mro__:
        if kind in TABLE:
            return TABLE[kind]
    return TABLE[TrunklineError]


def _headers_of(error: TrunklineError, status: int) -> dict[str, str]:
    if status != HTTPStatus.SERVICE_UNAVAILABLE:
        return {}
    wait: float | None = getattr(error, "retry_after", None)
    return {"Retry-After": str(max(AGAIN, int((wait or 0) + 0.999)))}
