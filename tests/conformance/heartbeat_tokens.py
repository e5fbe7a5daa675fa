"""The area of heartbeat tokens: a reply, and what is left of it without the token."""

from typing import Any

from trunkline.core.heartbeat.token import TokenMode, strip_heartbeat_token
from trunkline.core.profile_rules import Profile, profile_rules

Fields = dict[str, Any]


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers."""
    given = case["given"]
    found = strip_heartbeat_token(
        given.get("text"),
        mode=TokenMode(given.get("mode") or "message"),
        ack_max_chars=given.get("ack_max_chars"),
        by=profile_rules(profile),
    )
    return {"should_skip": found.should_skip, "text": found.text, "did_strip": found.did_strip}
