"""The text form of session keys under a profile: ``v1`` by default, ``openclaw`` for upstream profiles."""

from __future__ import annotations

from trunkline.core.errors import KeyFormatError
from trunkline.core.keys.openclaw import DEFAULT_MAIN_KEY, encode_openclaw, key_from_openclaw, subagent_of
from trunkline.core.keys.v1 import SessionKey, encode_v1, parse_v1
from trunkline.core.profile_rules import Profile

OPENCLAW_FORMS = (
    "agent:<agent>:main",
    "agent:<agent>:subagent:<id>",
    "agent:<agent>:[<channel>:[<account>:]]direct:<peer>",
    "agent:<agent>:<channel>:group:<id> or channel:<id>, all with :thread:<id> behind",
)


def key_text(key: SessionKey, profile: Profile, main_key: str = DEFAULT_MAIN_KEY) -> str:
    """The text of a key under a profile."""
    if not profile.upstream:
        return encode_v1(key)
    # March: the router always writes `main`, even if the main session was renamed. August writes the name.
    return encode_openclaw(key, main_key if profile.august else DEFAULT_MAIN_KEY, profile)


def read_key(text: str, profile: Profile, main_key: str = DEFAULT_MAIN_KEY) -> SessionKey:
    """The key of a text under a profile. Raises `KeyFormatError` naming the expected forms."""
    if not profile.upstream:
        return parse_v1(text)
    key = key_from_openclaw(text, main_key, profile) or subagent_of(text, profile)
    if key is None:
        raise KeyFormatError(f"{text!r}: expected one of {'; '.join(OPENCLAW_FORMS)}")
    return key
