"""What Discord's errors prove: by status and code, never by a text."""

import json

import pytest

from tests.support.for_each import for_each
from trunkline.core.adapters.discord.errors import DiscordRefused, error_of, of_close, unsent
from trunkline.core.errors import (
    Ambiguous,
    IdentityGone,
    NotSent,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    Unauthorized,
)


def body(code: int, message: str = "?") -> bytes:
    return json.dumps({"code": code, "message": message}).encode()


@for_each(
    ("status", "code", "kind"),
    [
        (404, 10003, PlaceGone),
        (403, 50001, PlaceGone),
        (400, 50083, PlaceArchived),
        (400, 160005, PlaceArchived),
        (404, 10015, IdentityGone),
        (401, 50027, IdentityGone),
        (404, 10008, DiscordRefused),
        (403, 50013, DiscordRefused),
        (400, 50035, DiscordRefused),
        (400, 40060, DiscordRefused),
        (401, 0, Unauthorized),
        (413, 40005, DiscordRefused),
        (418, 0, DiscordRefused),
        (408, 0, Ambiguous),
        (500, 0, Ambiguous),
        (502, 10003, Ambiguous),
        (524, 0, Ambiguous),
    ],
)
def test_codes(status: int, code: int, kind: type[PlatformError]) -> None:
    assert type(error_of(status, {}, body(code))) is kind


@for_each("text", [b"<html>Unknown Channel</html>", b"", b'{"code": "x"}', b"[1]", b'"10003"', b"\xff\xfe"])
def test_a_page_of_a_proxy_has_no_code(text: bytes) -> None:
    assert type(error_of(404, {}, text)) is DiscordRefused
    assert type(error_of(502, {}, text)) is Ambiguous


def test_the_words_of_an_error_decide_nothing() -> None:
    assert type(error_of(400, {}, body(50035, "Unknown Channel: the server had an internal error"))) is DiscordRefused


@pytest.mark.parametrize(
    ("headers", "text", "wait"),
    [
        ({"Retry-After": "3"}, json.dumps({"retry_after": 2.5, "message": "x"}).encode(), 2.5),
        ({"Retry-After": "3"}, b"<html>", 3.0),
        ({"Retry-After": "soon"}, b"<html>", None),
        ({}, json.dumps({"retry_after": -1}).encode(), None),
        ({}, b"", None),
    ],
)
def test_waits(headers: dict[str, str], text: bytes, wait: float | None) -> None:
    error = error_of(429, headers, text)
    assert (type(error), error.retry_after) == (RateLimited, wait)


@pytest.mark.parametrize(
    ("code", "kind"), [(4004, Unauthorized), (4014, Refused), (4013, Refused), (4000, NotSent), (None, NotSent)]
)
def test_close_codes(code: int | None, kind: type[PlatformError]) -> None:
    assert type(of_close(code)) is kind


def test_doubt_about_what_comes_before_a_message_is_none_about_the_message() -> None:
    assert type(unsent(Ambiguous("x"))) is NotSent
    gone = PlaceGone("x")
    assert unsent(gone) is gone
