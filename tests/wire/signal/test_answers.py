"""What an answer of signal-cli proves: by codes and types of results, never by words."""

import json
from typing import Any

import pytest

from trunkline.core.adapters.signal.answers import is_member, result_of, sent_of
from trunkline.core.errors import Ambiguous, PlatformError, RateLimited, Refused


def one(kind: str, **fields: Any) -> dict[str, Any]:
    return {"recipientAddress": {"uuid": "u", "number": "+15550001111"}, "type": kind, **fields}


def answer(**parts: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": "1", **parts}).encode()


def error(code: Any, message: str = "", results: list[dict[str, Any]] | None = None) -> bytes:
    data = None if results is None else {"response": {"timestamp": 1, "results": results}}
    return answer(error={"code": code, "message": message, "data": data})


def raised(body: bytes, status: int = 200) -> PlatformError:
    with pytest.raises(PlatformError) as found:
        sent_of(result_of(status, body, "1"))
    return found.value


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-1, Refused),
        (-4, Refused),
        (-6, Refused),
        (-32600, Refused),
        (-32601, Refused),
        (-32602, Refused),
        (-5, RateLimited),
        (-3, Ambiguous),
        (-32603, Ambiguous),
        (-99, Ambiguous),
    ],
)
def test_the_code_decides(code: int, kind: type[PlatformError]) -> None:
    for words in ("", "Failed to send message due to rate limiting", "Network failure", "Group not found"):
        assert type(raised(error(code, words))) is kind


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [
        (["UNREGISTERED_FAILURE"], Refused),
        (["IDENTITY_FAILURE"], Refused),
        (["INVALID_PRE_KEY_FAILURE"], Refused),
        (["RATE_LIMIT_FAILURE"], RateLimited),
        (["UNREGISTERED_FAILURE", "RATE_LIMIT_FAILURE"], RateLimited),
        (["NETWORK_FAILURE"], Ambiguous),
        (["UNREGISTERED_FAILURE", "NETWORK_FAILURE"], Ambiguous),
        (["SOMETHING_OF_2031"], Ambiguous),
    ],
)
def test_the_results_decide_when_nobody_got_it(kinds: list[str], kind: type[PlatformError]) -> None:
    results = [one(name) for name in kinds]
    assert type(raised(answer(result={"timestamp": 1, "results": results}))) is kind
    # The same inside an error, whatever its code.
    for code in (-1, -3, -4, -5):
        assert type(raised(error(code, results=results))) is kind


def test_a_rate_limit_says_how_long() -> None:
    results = [one("RATE_LIMIT_FAILURE", retryAfterSeconds=86400, token="t"), one("RATE_LIMIT_FAILURE")]
    assert raised(answer(result={"timestamp": 1, "results": results})).retry_after == 86400.0


def test_an_error_after_which_some_got_it_is_in_doubt() -> None:
    assert type(raised(error(-1, results=[one("SUCCESS"), one("NETWORK_FAILURE")]))) is Ambiguous


def test_what_somebody_got_is_sent_and_the_others_are_known() -> None:
    results = [one("SUCCESS"), one("UNREGISTERED_FAILURE", new_in_2031=[1])]
    sent = sent_of(result_of(200, answer(result={"timestamp": 1700000000000, "results": results}), "1"))
    assert sent.timestamp == 1700000000000
    assert [failed.facts for failed in sent.failed] == ["+15550001111 is not registered"]
    # A group of one, and a note to oneself, have no results.
    assert sent_of(result_of(200, answer(result={"timestamp": 1, "results": []}), "1")).failed == ()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>no</html>", Ambiguous),
        (200, b"", Ambiguous),
        (200, b"\xff", Ambiguous),
        (200, b"[]", Ambiguous),
        (200, b"[" * 100_000, Ambiguous),
        (200, b'{"jsonrpc": "2.0", "id": "1"}', Ambiguous),
        (200, b'{"jsonrpc": "2.0", "id": "2", "result": {"timestamp": 1}}', Ambiguous),
        (200, b'{"jsonrpc": "2.0", "id": "1", "result": {}}', Ambiguous),
        (200, b'{"jsonrpc": "2.0", "id": "1", "result": {"timestamp": "soon"}}', Ambiguous),
        (200, b'{"jsonrpc": "2.0", "id": "1", "error": {"code": "x"}}', Ambiguous),
        (502, b"<html>no</html>", Ambiguous),
        (404, b"", Refused),
        (421, b"", Refused),
        (429, b"", RateLimited),
    ],
)
def test_what_is_no_answer(status: int, body: bytes, kind: type[PlatformError]) -> None:
    assert type(raised(body, status)) is kind


def test_who_is_a_member() -> None:
    groups = json.dumps(
        [{"id": "a=", "isMember": True}, {"id": "b=", "isMember": False}, {"id": "c=", "x": 1}]
    ).encode()
    assert [is_member(groups, name) for name in ("a=", "b=", "c=", "d=")] == [True, False, True, False]
