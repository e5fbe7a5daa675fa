"""What the responses of a homeserver prove."""

import json

import pytest

from tests.support.for_each import for_each
from trunkline.core.adapters.matrix.api import MatrixRefused, error_of
from trunkline.core.errors import Ambiguous, PlatformError, RateLimited, Refused, Unauthorized


@for_each(
    ("status", "code", "error"),
    [
        (403, "M_FORBIDDEN", MatrixRefused),
        (404, "M_NOT_FOUND", MatrixRefused),
        (400, "M_UNKNOWN", MatrixRefused),
        (413, "M_TOO_LARGE", MatrixRefused),
        (401, "M_UNKNOWN_TOKEN", Unauthorized),
        (403, "M_USER_DEACTIVATED", Unauthorized),
        (429, "M_LIMIT_EXCEEDED", RateLimited),
        # The code counts, also with an unusual status.
        (400, "M_LIMIT_EXCEEDED", RateLimited),
        (500, "M_UNKNOWN", Ambiguous),
        (408, "", Ambiguous),
        (504, "", Ambiguous),
    ],
)
def test_codes_and_statuses(status: int, code: str, error: type[PlatformError]) -> None:
    found = error_of(status, json.dumps({"errcode": code, "error": "no"}).encode())
    assert type(found) is error
    if isinstance(found, MatrixRefused):
        assert (found.code, found.status) == (code, status)
        assert isinstance(found, Refused)
        assert not found.retryable


@pytest.mark.parametrize(
    ("body", "header", "wait"),
    [
        ({"retry_after_ms": 2500}, "9", 2.5),
        ({}, "9", 9.0),
        ({"retry_after_ms": "soon"}, None, None),
        ({"retry_after_ms": True}, "soon", None),
        ({"retry_after_ms": -1}, None, None),
    ],
)
def test_the_time_to_wait(body: dict[str, object], header: str | None, wait: float | None) -> None:
    found = error_of(429, json.dumps({"errcode": "M_LIMIT_EXCEEDED", **body}).encode(), header)
    assert isinstance(found, RateLimited)
    assert found.retry_after == wait


@for_each("body", [b"", b"<html>", b"[]", b"7", b'{"errcode": 7}', b'{"error": "\xff"}', b"[" * 100_000])
def test_a_body_that_is_none_leaves_the_status(body: bytes) -> None:
    assert type(error_of(403, body)) is MatrixRefused
    assert type(error_of(502, body)) is Ambiguous
    assert type(error_of(401, body)) is Unauthorized
