"""The token: where our rule differs from upstream's, and what both take from a reply."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.heartbeat.token import StrippedReply, TokenMode, strip_heartbeat_token
from trunkline.core.profile_rules import Profile, profile_rules


def message(text: str, profile: Profile = Profile.TRUNKLINE) -> str:
    return strip_heartbeat_token(text, mode=TokenMode.MESSAGE, by=profile_rules(profile)).text


@pytest.mark.parametrize(
    ("text", "ours", "upstream"),
    [
        # The marks around a token are not a message.
        ("**HEARTBEAT_OK**", "", "****"),
        ("<b>**HEARTBEAT_OK**</b>", "", "****"),
        # The token is a word.
        ("HEARTBEAT_OKAY then", "HEARTBEAT_OKAY then", "AY then"),
        ("NOT_HEARTBEAT_OK", "NOT_HEARTBEAT_OK", "NOT_"),
        # What is left is markup.
        ("HEARTBEAT_OK&nbsp;<br>", "", "&nbsp;<br>"),
    ],
)
def test_our_rule_differs_from_upstream(text: str, ours: str, upstream: str) -> None:
    assert message(text) == ours
    assert message(text, Profile.OPENCLAW) == upstream


@for_each("profile", list(Profile))
@for_each(
    ("text", "rest"),
    [
        ("HEARTBEAT_OK HEARTBEAT_OK done HEARTBEAT_OK", "done"),
        ("Done\n\nand  dusted\nHEARTBEAT_OK", "Done and dusted"),
        ("It works HEARTBEAT_OK ...", "It works..."),
        ("It works HEARTBEAT_OK .....", "It works HEARTBEAT_OK ....."),
        ("It works HEARTBEAT_OK🦞🦞", "It works🦞🦞"),
        ("It works HEARTBEAT_OK 🦞🦞.", "It works HEARTBEAT_OK 🦞🦞."),
        ("see <code>HEARTBEAT_OK</code>", "see"),
        ("done _HEARTBEAT_OK", "done _"),
        ("\ufeffHEARTBEAT_OK\u00a0", ""),
        ("say HEARTBEAT_OK or else", "say HEARTBEAT_OK or else"),
        ("  keeps   its blanks  ", "keeps   its blanks"),
    ],
)
def test_what_is_left_of_a_message(text: str, rest: str, profile: Profile) -> None:
    assert message(text, profile) == rest


@pytest.mark.parametrize("limit", [None, float("nan"), float("inf"), 300])
def test_a_limit_that_is_none_is_300(limit: float | None) -> None:
    assert strip_heartbeat_token(f"{'a' * 300} HEARTBEAT_OK", ack_max_chars=limit).should_skip
    assert not strip_heartbeat_token(f"{'a' * 301} HEARTBEAT_OK", ack_max_chars=limit).should_skip


def test_a_negative_limit_is_0_and_lengths_are_those_of_platforms() -> None:
    assert strip_heartbeat_token("a HEARTBEAT_OK", ack_max_chars=-5) == StrippedReply(
        should_skip=False, text="a", did_strip=True
    )
    assert not strip_heartbeat_token("HEARTBEAT_OK 🦞", ack_max_chars=1).should_skip
    assert strip_heartbeat_token("HEARTBEAT_OK 🦞", ack_max_chars=2).should_skip
