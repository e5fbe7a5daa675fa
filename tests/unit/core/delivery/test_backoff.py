"""Waits and permanent errors: tables of cases."""

import re
import time

from tests.support.for_each import for_each
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import AttemptOutcome, is_permanent, outcome_of, outcome_of_error, wait_after
from trunkline.core.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.reasons import Reason

NOW = 1_000_000.0
WAITS = DeliveryConfig().backoff

# ---------------------------------------------------------------- waits


def test_the_waits_are_those_of_the_configuration() -> None:
    assert [wait_after(count, WAITS) for count in range(-1, 7)] == [0, 0, 5, 25, 120, 600, 600, 600]
    assert [wait_after(count, (7.0,)) for count in range(3)] == [0, 7, 7]


# ---------------------------------------------------------------- errors for good

#: what upstream's own expressions find; ours are no expressions
UPSTREAM = [
    r"no conversation reference found",
    r"chat not found",
    r"user not found",
    r"bot.*not.*member",
    r"bot was blocked by the user",
    r"forbidden: bot was kicked",
    r"chat_id is empty",
    r"recipient is not a valid",
    r"ambiguous .* recipient",
    r"user .* not in room",
]
FOR_GOOD = [
    "No conversation reference found for user:abc",
    "400 Bad Request: chat not found",
    "USER NOT FOUND",
    "403: Forbidden: bot is not a member of the channel chat",
    "the Bot may not write: no member of this group",
    "Forbidden: bot was blocked by the user",
    "Forbidden: bot was kicked from the supergroup chat",
    "Bad Request: chat_id is empty",
    "The recipient is not a valid WhatsApp user",
    'Ambiguous Discord recipient "123"',
    "ambiguous Slack or Teams recipient: C1",
    "first line\nM_FORBIDDEN: User @bot:example.org not in room !a:example.org",
]
PASSING = [
    "",
    "network down",
    "ETIMEDOUT",
    "socket hang up",
    "rate limited",
    "500 Internal Server Error",
    "chat was not found",
    "user  not found",
    "ambiguous recipient",
    "bot is a member, but not an admin",
    "member of what? not a bot",
    # One line does not go on in the next one.
    "the bot is\nnot a member",
    "User x\r\n not in room",
    "bot was kicked",
    "Outbound not configured for channel: telegram",
]


@for_each("text", [*FOR_GOOD, *PASSING])
def test_an_error_is_for_good_if_upstream_finds_it_so(text: str) -> None:
    found = any(re.search(pattern, text, re.IGNORECASE) for pattern in UPSTREAM)
    assert found is (text in FOR_GOOD)
    assert is_permanent(text) is found
    assert is_permanent(text.swapcase()) is found


def test_a_long_error_takes_no_longer_than_its_length() -> None:
    # To `bot.*not.*member` this costs the third power of the length: hours.
    text = "bot not " * 100_000
    before = time.process_time()
    assert not is_permanent(text)
    assert is_permanent(f"{text} member")
    assert time.process_time() - before < 1.0


# ---------------------------------------------------------------- what an adapter raises


@for_each(
    "error",
    [
        PlatformError("chat not found"),
        NotSent("the thread could not be opened (PlatformError: user not found)"),
        RateLimited("bot is not a member", retry_after=3.0),
        Unauthorized("Forbidden: bot was kicked"),
        RuntimeError("Telegram said: chat not found"),
        KeyError("user not found"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_words_that_no_retry_mends_refuse_for_good(error: Exception) -> None:
    outcome = outcome_of_error(error)
    assert (outcome.reason, outcome.retryable, outcome.ambiguous, outcome.unsent) == (
        Reason.REFUSED,
        False,
        False,
        False,
    )
    assert is_permanent(outcome.detail)


@for_each(
    "error",
    [
        Ambiguous("chat not found"),
        Ambiguous("connection reset"),
        PlaceGone("chat not found"),
        Refused("user not found"),
        PlatformError("500 Internal Server Error"),
        NotSent("connection refused"),
        RateLimited("slow down", retry_after=9.0),
        Unauthorized("bad token"),
    ],
    ids=lambda error: f"{type(error).__name__}-{error.facts}",
)
def test_an_error_keeps_what_it_says(error: PlatformError) -> None:
    assert outcome_of_error(error) == outcome_of(error)


def test_after_a_defect_of_the_adapter_nobody_knows() -> None:
    expected = AttemptOutcome(
        reason=Reason.RESPONSE_LOST, retryable=True, ambiguous=True, detail="ValueError: bad json"
    )
    assert outcome_of_error(ValueError("bad json")) == expected


def test_an_error_that_cannot_say_what_it_is_is_a_defect_too() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise AttributeError("code")

    outcome = outcome_of_error(Mute())
    assert (outcome.ambiguous, outcome.detail) == (True, "Mute: unprintable error")
