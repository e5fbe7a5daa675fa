"""What Slack's codes and statuses prove."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.adapters.slack.web import of_code, of_response
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


@for_each(
    ("code", "kind"),
    [
        ("internal_error", Ambiguous),
        ("fatal_error", Ambiguous),
        ("service_unavailable", Ambiguous),
        ("request_timeout", NotSent),
        ("team_added_to_org", PlatformError),
        ("invalid_auth", Unauthorized),
        ("token_revoked", Unauthorized),
        ("account_inactive", Unauthorized),
        ("rate_limited", RateLimited),
        ("channel_not_found", PlaceGone),
        ("not_in_channel", PlaceGone),
        ("is_archived", PlaceArchived),
        ("msg_too_long", Refused),
        ("restricted_action", Refused),
        ("a_code_of_the_future", Refused),
        ("\x1b[31m a text", Refused),
        ("", Refused),
    ],
)
def test_a_code_means_one_thing(code: str, kind: type[PlatformError]) -> None:
    error = of_code(code)
    assert type(error) is kind
    assert "\x1b" not in str(error)


@for_each(
    ("status", "data", "kind"),
    [
        (200, {"ok": False, "error": "is_archived"}, PlaceArchived),
        (200, {"ok": False}, Ambiguous),
        (200, {"ok": False, "error": 5}, Ambiguous),
        (200, None, Ambiguous),
        (200, "<html>", Ambiguous),
        (502, None, Ambiguous),
        (503, {"ok": False, "error": "service_unavailable"}, Ambiguous),
        # Servers in between answer with JSON too, and do not know what Slack has done.
        (504, {"error": "gateway timeout"}, Ambiguous),
        (502, {"error": "bad_gateway"}, Ambiguous),
        (500, {"ok": False, "error": "a_code_of_the_future"}, Ambiguous),
        (500, {"ok": False, "error": "channel_not_found"}, PlaceGone),
        (400, {"ok": False, "error": "a_code_of_the_future"}, Refused),
        (403, None, Refused),
        (401, None, Unauthorized),
        (429, {"ok": False, "error": "ratelimited"}, RateLimited),
        (429, None, RateLimited),
    ],
)
def test_a_response_proves_what_it_says(status: int, data: object, kind: type[PlatformError]) -> None:
    assert type(of_response(status, data, {})) is kind


@pytest.mark.parametrize(
    ("wait", "seconds"), [("7", 7.0), ("0", 0.0), ("soon", None), ("-1", None), ("9" * 400, None), ("٣", None)]
)
def test_the_time_to_wait_is_a_number_or_not_known(wait: str, seconds: float | None) -> None:
    assert of_response(429, None, {"Retry-After": wait}).retry_after == seconds


def test_a_missing_scope_is_named() -> None:
    error = of_response(200, {"ok": False, "error": "missing_scope", "needed": "pins:write"}, {})
    assert type(error) is Refused
    assert "pins:write" in error.facts
