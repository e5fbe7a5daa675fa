"""What an error of the Graph API proves: by its code, never by its words."""

import json
from collections.abc import Mapping

import pytest

from trunkline.core.adapters.whatsapp.errors import error_of, wait_of
from trunkline.core.errors import Ambiguous, PlatformError, RateLimited, Refused, Unauthorized


def failed(status: int, code: int | None, message: str = "", headers: Mapping[str, str] | None = None) -> PlatformError:
    body = json.dumps({"error": {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "A"}})
    return error_of(status, body.encode(), headers or {})


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, 131047, Refused),
        (400, 131026, Refused),
        (400, 100, Refused),
        (400, 131009, Refused),
        (403, 131031, Refused),
        (400, 131053, Refused),
        (401, 190, Unauthorized),
        (401, 0, Unauthorized),
        (403, 10, Unauthorized),
        (403, 200, Unauthorized),
        (400, 80007, RateLimited),
        (429, 130429, RateLimited),
        (400, 131056, RateLimited),
        (400, 131048, RateLimited),
        (500, 131000, Ambiguous),
        (503, 131016, Ambiguous),
        (400, 131000, Ambiguous),
        (503, 2, Ambiguous),
        # a code of a later version: the status decides
        (400, 139999, Refused),
        (500, 139999, Ambiguous),
        (429, 139999, RateLimited),
    ],
)
def test_the_code_decides(status: int, code: int, kind: type[PlatformError]) -> None:
    error = failed(status, code)
    assert type(error) is kind
    assert type(failed(status, code, "Rate limit hit. Re-engagement message. Something went wrong")) is kind
    assert str(code) in error.facts


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (500, b"<html>no</html>", Ambiguous),
        (502, b"", Ambiguous),
        (404, b"<html>no</html>", Refused),
        (401, b"{}", Unauthorized),
        (429, b"[]", RateLimited),
        (400, b'{"error": "no object"}', Refused),
        (500, b'{"error": {"code": "190"}}', Ambiguous),
        (408, b"\xff\xfe", Ambiguous),
        (400, b'{"error": ' * 5000, Refused),
    ],
)
def test_without_a_code_the_status_decides(status: int, body: bytes, kind: type[PlatformError]) -> None:
    assert type(error_of(status, body, {})) is kind


@pytest.mark.parametrize(
    "more",
    [
        {"message": None},
        {"message": 5, "title": {}},
        {"error_data": "a text"},
        {"error_data": None},
        {"error_data": {"details": None, "messaging_product": "whatsapp"}},
        {"error_data": [{"blame": "me"}]},
    ],
)
def test_words_of_another_type_do_not_hide_the_code(more: dict[str, object]) -> None:
    """A limit would count as a refusal for good."""
    error = error_of(400, json.dumps({"error": {"code": 131056, **more}}).encode(), {})
    assert type(error) is RateLimited
    assert "131056" in error.facts


def test_the_facts_say_what_the_code_means_and_what_meta_says() -> None:
    body = {"error": {"code": 131047, "error_data": {"details": "it was yesterday"}}}
    error = error_of(400, json.dumps(body).encode(), {})
    assert "only a template reaches them" in error.facts and "it was yesterday" in error.facts


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-7"}, None),
        ({"retry-after": "soon"}, None),
        ({"x-business-use-case-usage": '{"1": [{"type": "w", "estimated_time_to_regain_access": 2}]}'}, 120.0),
        ({"x-business-use-case-usage": '{"1": [{"type": "w", "estimated_time_to_regain_access": 0}]}'}, None),
        ({"x-business-use-case-usage": "[1, 2"}, None),
        ({"x-business-use-case-usage": '{"1": [{"estimated_time_to_regain_access": 1' + "0" * 400 + "}]}"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], wait: float | None) -> None:
    assert wait_of(headers) == wait
    assert failed(429, 130429, headers=headers).retry_after == wait
