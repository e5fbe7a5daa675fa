"""The rules of a profile by its name, for tests that compare profiles."""

from typing import cast

from trunkline.core.channels import ChannelRulebook, ChannelRules
from trunkline.core.keys import KeyCodec, SessionKey
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.profiles.openclaw.keys import OpenClawKeys, ParsedKey
from trunkline.core.values import ChatKind

OURS, MARCH, AUGUST = Profile.TRUNKLINE, Profile.OPENCLAW, Profile.OPENCLAW_2026_08


def rules_under(profile: Profile, channel: str) -> ChannelRules:
    """The rules of a channel."""
    return profile_rules(profile)[ChannelRulebook].of(channel)


def key_text(key: SessionKey, profile: Profile, main_key: str = "main") -> str:
    return profile_rules(profile)[KeyCodec].write(key, main_key)


def read_key(text: str, profile: Profile, main_key: str = "main") -> SessionKey:
    return profile_rules(profile)[KeyCodec].read(text, main_key)


def _openclaw(profile: Profile) -> OpenClawKeys:
    return cast("OpenClawKeys", profile_rules(profile)[KeyCodec])


def parse_openclaw(text: str | None, profile: Profile = MARCH) -> ParsedKey | None:
    return _openclaw(profile).parse(text)


def fold_key(text: str | None, profile: Profile = MARCH) -> str:
    return _openclaw(profile).folded(text)


def encode_openclaw(key: SessionKey, main_key: str = "main", profile: Profile = MARCH) -> str:
    return _openclaw(profile).encode(key, main_key)


def key_from_openclaw(text: str | None, main_key: str = "main", profile: Profile = MARCH) -> SessionKey | None:
    return _openclaw(profile).conversation(text, main_key)


def keeps_case(channel: str, kind: ChatKind | None, profile: Profile) -> bool:
    return _openclaw(profile).keeps_case(channel, kind)
