"""Problems: errors as ``application/problem+json`` (RFC 9457), with the one table from error classes to statuses."""

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
#: the same while the store refuses writes, which are tried again about as often
LATER = 5
#: what a client does whose request may have been carried out, or not
REPEAT = "Repeat the request, a message with the same message id."

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

#: reasons that say more than the class of the error
BY_REASON: dict[Reason, tuple[int, str]] = {Reason.UNKNOWN_DELEGATION: (404, "unknown-delegation")}


class Problem(Exception):
    """A problem that only HTTP knows. `slug` ends its type, `more` becomes members of the document.

    docs/http.md says what each type means: `HTTP_TABLE` in `tools/doc_http.py`.
    """

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


def unavailable(slug: str, detail: str, *, after: int = AGAIN) -> Problem:
    """A problem that passes. `after`: seconds until a client may ask again."""
    return Problem(503, slug, detail, headers={"Retry-After": str(after)})


def stopping() -> Problem:
    """The problem for every request while the server stops."""
    return unavailable("stopping", f"The gateway is stopping. {REPEAT}")


def refusing(why: str) -> Problem:
    """The problem for every write while the store refuses to commit."""
    detail = f"The store refuses writes ({why}), which are tried again all the time. {REPEAT}"
    return unavailable("store-unavailable", detail, after=LATER)


def not_found() -> Problem:
    """The problem for a path without an endpoint."""
    return Problem(404, "not-found", "There is nothing at this address. `/openapi.json` has all addresses.")


def method_not_allowed(method: str, allowed: str) -> Problem:
    """The problem for a path whose endpoints have other methods."""
    return Problem(405, "method-not-allowed", f"The method {method} is not possible here.", headers={"Allow": allowed})


def document_of(problem: Problem, request_id: str) -> ProblemDocument:
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
