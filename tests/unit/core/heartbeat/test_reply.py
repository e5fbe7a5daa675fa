"""What becomes of a heartbeat's reply: the table of visibility, tokens, reasoning, prefixes, and repetitions."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.config import GatewayConfig
from trunkline.core.heartbeat.reply import ReplyDecision, ReplyFacts, decide_reply, is_duplicate, split_reasoning
from trunkline.core.heartbeat.visibility import Visibility, resolve_visibility
from trunkline.core.heartbeat.wake import WakeKind
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.reasons import Reason

ALERT = "The disk is almost full"
BOOLS = (False, True)


def decide(reply: str | None, **facts: Any) -> ReplyDecision:
    return decide_reply(reply, ReplyFacts(**facts))


@for_each("show_ok", BOOLS)
@for_each("show_alerts", BOOLS)
@for_each("use_indicator", BOOLS)
def test_visibility_decides_what_people_see(show_ok: bool, show_alerts: bool, use_indicator: bool) -> None:
    seen = Visibility(show_ok=show_ok, show_alerts=show_alerts, use_indicator=use_indicator)
    assert seen.nothing is (not (show_ok or show_alerts or use_indicator))
    for reply, reason in ((None, Reason.OK_EMPTY), (" ", Reason.OK_EMPTY), ("HEARTBEAT_OK fine", Reason.OK_TOKEN)):
        ok = decide(reply, visibility=seen)
        assert (ok.reason, ok.text, ok.says) == (reason, "HEARTBEAT_OK" if show_ok else "", "")
        assert ok.indicator == ("ok" if use_indicator else None)
    alert = decide(ALERT, visibility=seen)
    assert alert.text == (ALERT if show_alerts else "")
    assert alert.reason is (Reason.HEARTBEAT_TARGET if show_alerts else Reason.ALERTS_DISABLED)
    assert alert.indicator == ("alert" if use_indicator else None)
    assert (alert.says, alert.preview) == (ALERT, ALERT)


def test_a_text_that_can_go_nowhere_says_why() -> None:
    found = decide(ALERT, undeliverable=Reason.NO_TARGET)
    assert (found.reason, found.delivers, found.preview) == (Reason.NO_TARGET, False, ALERT)
    shown = Visibility(show_ok=True)
    assert not decide("HEARTBEAT_OK", undeliverable=Reason.TARGET_NONE, visibility=shown).delivers


def test_a_preview_has_200_characters() -> None:
    assert decide("x" * 500, visibility=Visibility(show_alerts=False)).preview == "x" * 200


def test_a_prefix_stands_before_what_is_delivered_once() -> None:
    assert decide(ALERT, response_prefix="[bot] ").text == f"[bot] {ALERT}"
    assert decide(f"[bot] {ALERT}", response_prefix="[bot]").text == f"[bot] {ALERT}"
    assert decide("[bot] HEARTBEAT_OK", response_prefix="[bot]").reason is Reason.OK_TOKEN
    # The rule of 24 hours concerns what the agent said.
    assert decide(ALERT, response_prefix="[bot]").says == ALERT
    shown = decide("HEARTBEAT_OK", response_prefix="[bot]", visibility=Visibility(show_ok=True))
    assert shown.text == "[bot] HEARTBEAT_OK"


@pytest.mark.parametrize(
    ("reply", "reasoning", "rest"),
    [
        (f"Reasoning: I looked.\nTwice.\n\n{ALERT}", "Reasoning: I looked.\nTwice.", ALERT),
        ("Reasoning: nothing to do", "Reasoning: nothing to do", ""),
        (f"{ALERT}\n\nReasoning: none", "", f"{ALERT}\n\nReasoning: none"),
        ("", "", ""),
    ],
)
def test_reasoning_is_the_first_paragraph(reply: str, reasoning: str, rest: str) -> None:
    assert split_reasoning(reply) == (reasoning, rest)


def test_reasoning_is_delivered_if_wanted_and_never_an_alert_of_its_own() -> None:
    reply = f"Reasoning: I looked.\n\n{ALERT}"
    assert decide(reply).reasoning == ""
    found = decide(reply, include_reasoning=True)
    assert (found.reasoning, found.text) == ("Reasoning: I looked.", ALERT)
    quiet = decide("Reasoning: I looked.\n\nHEARTBEAT_OK", include_reasoning=True)
    assert (quiet.reason, quiet.reasoning) == (Reason.OK_TOKEN, "")


def test_the_result_of_a_command_is_relayed_even_if_it_is_short() -> None:
    assert decide("HEARTBEAT_OK done").reason is Reason.OK_TOKEN
    assert decide("HEARTBEAT_OK done", kind=WakeKind.EXEC_EVENT).text == "done"
    assert decide("HEARTBEAT_OK", kind=WakeKind.EXEC_EVENT).reason is Reason.OK_TOKEN
    upstream = decide("HEARTBEAT_OK", kind=WakeKind.EXEC_EVENT, by=profile_rules(Profile.OPENCLAW))
    assert (upstream.reason, upstream.text) == (Reason.HEARTBEAT_TARGET, "HEARTBEAT_OK")
    assert decide(" ", kind=WakeKind.EXEC_EVENT, by=profile_rules(Profile.OPENCLAW)).reason is Reason.OK_EMPTY


def test_the_limit_of_an_acknowledgement_is_configured() -> None:
    assert decide("HEARTBEAT_OK lobster").reason is Reason.OK_TOKEN
    assert decide("HEARTBEAT_OK lobster", ack_max_chars=0).text == "lobster"


# -------------------------------------------------------------------- visibility


def test_the_account_counts_before_the_channel_and_that_before_the_defaults() -> None:
    config = GatewayConfig.model_validate(
        {
            "channels": {
                "defaults": {"heartbeat": {"showOk": True, "showAlerts": False, "useIndicator": False}},
                "telegram": {
                    "heartbeat": {"showAlerts": True, "useIndicator": True},
                    "accounts": {"Ops": {"heartbeat": {"useIndicator": False}}},
                },
            }
        }
    )

    def flags(channel: str | None, account: str | None = None) -> tuple[bool, bool, bool]:
        found = resolve_visibility(config, channel, account)
        return found.show_ok, found.show_alerts, found.use_indicator

    assert flags("telegram", "ops") == (True, True, False)
    assert flags("telegram", "main") == (True, True, True)
    assert flags("telegram") == (True, True, True)
    assert flags("slack") == (True, False, False)
    assert flags("webchat") == (True, False, False)
    assert flags(None) == (False, True, True)
    assert resolve_visibility(GatewayConfig(), "slack") == Visibility()


def test_the_web_chat_of_upstream_has_the_defaults_only() -> None:
    own = {"channels": {"webchat": {"heartbeat": {"showOk": True}}}}
    assert not resolve_visibility(GatewayConfig.model_validate({**own, "profile": "openclaw"}), "webchat").show_ok
    assert resolve_visibility(GatewayConfig.model_validate(own), "webchat").show_ok


# -------------------------------------------------------------------- repetitions


@for_each(
    ("text", "previous", "seconds", "expected"),
    [
        (ALERT, ALERT, 0.0, True),
        (ALERT, ALERT, 86_399.999, True),
        (ALERT, ALERT, 86_400.0, False),
        (f" {ALERT}\n", ALERT, 1.0, True),
        (ALERT, f"{ALERT}!", 1.0, False),
        (ALERT, None, 1.0, False),
        (" ", " ", 1.0, False),
    ],
)
def test_the_same_text_is_a_repetition_for_24_hours(
    text: str, previous: str | None, seconds: float, expected: bool
) -> None:
    assert is_duplicate(text, previous, 1000.0, 1000.0 + seconds) is expected
    assert not is_duplicate(text, previous, None, 1000.0 + seconds)
