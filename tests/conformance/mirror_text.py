"""The area of mirrors: the text that a transcript remembers, and whether it is put there."""

from typing import Any

from tests.conformance.upstream.transcript_append import MirroredLine, names_or_text, plan_append
from trunkline.core.profile_rules import Profile

Fields = dict[str, Any]


def run(case: Fields, _: Profile) -> Fields:
    """What our code answers."""
    given = case["given"]
    if given["kind"] == "text":
        return {"mirror_text": names_or_text(given.get("text"), given.get("media_urls"))}
    if given["kind"] != "append":
        raise ValueError(f"unknown kind {given['kind']!r}")
    plan = plan_append(
        given["session_key"],
        given.get("text"),
        given.get("media_urls"),
        key=given.get("idempotency_key"),
        sessions={known.lower() for known in given["known_sessions"]},
        # Lines that cannot be read are passed over.
        lines=[_line(line) for line in given["existing"] if isinstance(line, dict)],
    )
    return {"ok": plan.refused is None, "appended": plan.append, "reason": plan.refused, "text": plan.text}


def _line(given: Fields) -> MirroredLine:
    text, key = given.get("text"), given.get("idempotency_key")
    return MirroredLine(role=given.get("role") or "", text=text if isinstance(text, str) else "", key=key)
