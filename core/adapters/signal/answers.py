"""The evidence in an answer of signal-cli: error codes and the result of each recipient. Pure."""

from collections.abc import Sequence

import msgspec

from trunkline.core.adapters.evidence import of_status
from trunkline.core.errors import Ambiguous, PlatformError, RateLimited, Refused

_SUCCESS = range(200, 300)
#: error codes of signal-cli and of JSON-RPC. Refused before anything was sent: a wrong request, an unknown group, a
#: recipient who is not registered, a key that is not trusted, a captcha that is not accepted
_REFUSED = frozenset({-1, -4, -6, -32600, -32601, -32602, -32700})
_RATE_LIMIT = -5
#: types of results
_DONE, _LIMITED = "SUCCESS", "RATE_LIMIT_FAILURE"
_MEANING = {
    "UNREGISTERED_FAILURE": "is not registered",
    "IDENTITY_FAILURE": "has a new safety number, which has to be trusted first",
    "INVALID_PRE_KEY_FAILURE": "has no usable key",
}


class _Recipient(msgspec.Struct, frozen=True):
    number: str | None = None
    uuid: str | None = None


class RecipientResult(msgspec.Struct, frozen=True, rename="camel"):
    """The outcome of a message for a recipient, separately for each member of a group."""

    type: str
    recipient_address: _Recipient | None = None
    retry_after_seconds: float | None = None

    @property
    def name(self) -> str:
        found = self.recipient_address
        return "" if found is None else found.number or found.uuid or ""

    @property
    def facts(self) -> str:
        """The failure, for people."""
        return f"{self.name or 'the recipient'} {_MEANING.get(self.type, f'has the result {self.type[:60]}')}"


class SentResult(msgspec.Struct, frozen=True):
    """The result of a send, an edit, a deletion or a reaction."""

    timestamp: int
    results: tuple[RecipientResult, ...] = ()

    @property
    def failed(self) -> tuple[RecipientResult, ...]:
        return tuple(result for result in self.results if result.type != _DONE)


class _Response(msgspec.Struct, frozen=True):
    results: tuple[RecipientResult, ...] = ()


class _Data(msgspec.Struct, frozen=True):
    response: _Response | None = None


class _Error(msgspec.Struct, frozen=True):
    code: int
    message: str = ""
    data: _Data | None = None


class _Answer(msgspec.Struct, frozen=True):
    id: str | int | None = None
    result: msgspec.Raw = msgspec.Raw(b"")
    error: _Error | None = None


def result_of(status: int, body: bytes, id: str) -> bytes:  # noqa: A002 -- the word of JSON-RPC
    """The result in the response to the request with an id, as JSON. Raises a `PlatformError`."""
    if status not in _SUCCESS:
        raise of_status(status, "signal-cli's server answers with an error")
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Ambiguous("the response is not one of signal-cli") from error
    if answer.error is not None:
        raise error_of(answer.error.code, answer.error.message, _results(answer.error))
    if answer.id != id or not bytes(answer.result):
        raise Ambiguous("the response belongs to another request")
    return bytes(answer.result)


def _results(error: _Error) -> tuple[RecipientResult, ...]:
    return error.data.response.results if error.data is not None and error.data.response is not None else ()


def error_of(code: int, message: str, results: Sequence[RecipientResult] = ()) -> PlatformError:
    """The error of a code; the results of the recipients, if any, say more.

    Code -3 is a failure of the network while something was being sent, -32603 any failure that signal-cli did not
    foresee: both leave doubt.
    """
    found = failure_of(results)
    if found is not None:
        return found
    facts = f"error {code}: {message[:300]}"
    if results:
        return Ambiguous(f"some got it: {facts}")
    if code == _RATE_LIMIT:
        return RateLimited(facts)
    return Refused(facts) if code in _REFUSED else Ambiguous(facts)


def failure_of(results: Sequence[RecipientResult]) -> PlatformError | None:
    """The error of a send to nobody; None if a recipient got the message, or if there was no other recipient.

    A failure of the network says nothing: the server may have had the message before.
    """
    types = {result.type for result in results}
    if not results or _DONE in types:
        return None
    unsure = types - {_LIMITED, *_MEANING}
    if unsure:
        return Ambiguous(f"no response for a recipient: {', '.join(sorted(unsure))[:200]}")
    if _LIMITED in types:
        waits = [result.retry_after_seconds for result in results if result.retry_after_seconds is not None]
        return RateLimited("Signal asks to wait, or for a captcha", retry_after=max(waits, default=None))
    return Refused(results[0].facts)


def sent_of(result: bytes) -> SentResult:
    """The result of a send to at least a single recipient. Raises a `PlatformError`."""
    try:
        sent = msgspec.json.decode(result, type=SentResult)
    except (msgspec.MsgspecError, ValueError) as error:
        raise Ambiguous("the result names no timestamp") from error
    failure = failure_of(sent.results)
    if failure is not None:
        raise failure
    return sent


class _Status(msgspec.Struct, frozen=True):
    uuid: str | None = None


def account_id(result: bytes) -> str | None:
    """The account id of a number, by the result of ``getUserStatus``. Raises `msgspec.MsgspecError`."""
    found = msgspec.json.decode(result, type=tuple[_Status, ...])
    return found[0].uuid if found else None


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    is_member: bool = True


def is_member(result: bytes, group: str) -> bool:
    """Whether the account is a member of a group, by the result of ``listGroups``. Raises `msgspec.MsgspecError`."""
    found = msgspec.json.decode(result, type=tuple[_Group, ...])
    return any(listed.id == group and listed.is_member for listed in found)
