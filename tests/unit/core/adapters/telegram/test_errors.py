"""What an answer without success proves."""

import json
from typing import Any

import httpx
import pytest
from telegram.error import NetworkError, TimedOut

from tests.support.for_each import for_each
from trunkline.core.adapters.telegram.sends import evidence_of, read_answer
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


def error_of(status: int, description: str = "", **parameters: Any) -> PlatformError:
    body = {"ok": False, "error_code": status, "description": description, "parameters": parameters}
    answer = read_answer(status, json.dumps(body).encode())
    assert answer is not None
    return answer.error()


@for_each(
    ("status", "description", "error"),
    [
        (400, "Bad Request: chat not found", PlaceGone),
        (400, "Bad Request: message thread not found", PlaceGone),
        (400, "Bad Request: TOPIC_DELETED", PlaceGone),
        (400, "Bad Request: TOPIC_CLOSED", PlaceArchived),
        (400, "Bad Request: message is too long", Refused),
        (400, "Bad Request: a wording of next year", Refused),
        (400, "Bad Request: reply to chat not found in it", Refused),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden: bot was kicked from the supergroup chat", PlaceGone),
        (403, "Forbidden: bot was blocked by the user", PlaceGone),
        (404, "Not Found", Unauthorized),
        (409, "Conflict: terminated by other getUpdates request", Refused),
        (413, "Request Entity Too Large", Refused),
        (500, "Internal Server Error", Ambiguous),
        (502, "Bad Gateway: chat not found", Ambiguous),
    ],
)
def test_the_status_decides_between_refusal_and_doubt(status: int, description: str, error: type[Exception]) -> None:
    assert type(error_of(status, description)) is error


def test_a_limit_has_its_time() -> None:
    error = error_of(429, "Too Many Requests: retry after 7", retry_after=7)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 7.0


@pytest.mark.parametrize("wait", [None, "7", True, {"a": 1}])
def test_a_limit_without_a_usable_time_is_a_limit(wait: Any) -> None:
    error = error_of(429, "Too Many Requests", retry_after=wait)
    assert isinstance(error, RateLimited)
    assert error.retry_after is None


def test_a_group_that_became_a_supergroup_is_named_and_nothing_is_sent_there() -> None:
    error = error_of(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-1009)
    assert type(error) is PlaceGone
    assert "-1009" in error.facts


@for_each("body", [b"", b"<html>", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"ok": true}'])
@for_each(("status", "error"), [(200, Ambiguous), (302, Ambiguous), (403, Refused), (502, Ambiguous)])
def test_an_answer_that_is_not_telegrams_proves_what_its_status_proves(
    body: bytes, status: int, error: type[Exception]
) -> None:
    answer = read_answer(status, body)
    assert answer is not None
    assert type(answer.error()) is error


def test_a_success_is_none() -> None:
    assert read_answer(200, b'{"ok": true, "result": true}') is None
    answer = read_answer(200, b'{"ok": false, "description": "no"}')
    assert answer is not None
    assert isinstance(answer.error(), Ambiguous)


@for_each(
    ("cause", "error"),
    [
        (httpx.ConnectError(""), NotSent),
        (httpx.ConnectTimeout(""), NotSent),
        (httpx.PoolTimeout(""), NotSent),
        (httpx.ReadTimeout(""), Ambiguous),
        (httpx.WriteError(""), Ambiguous),
        (httpx.RemoteProtocolError(""), Ambiguous),
        (TimeoutError(), Ambiguous),
        (KeyError("result"), Ambiguous),
    ],
)
@for_each("kind", [NetworkError, TimedOut])
def test_the_cause_of_the_librarys_error_decides(cause: Exception, error: type[Exception], kind: Any) -> None:
    wrapped = kind("says something about not being sent")
    wrapped.__cause__ = cause
    assert type(evidence_of(wrapped)) is error


def test_a_library_error_without_a_cause_is_doubt() -> None:
    assert isinstance(evidence_of(NetworkError("not sent, it says")), Ambiguous)
