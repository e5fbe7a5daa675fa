"""What the tests of more channels share."""

from tests.support.profiles import rules_under
from trunkline.core.channels import ChannelRules, Hints, ParsedTarget, rules_for
from trunkline.core.errors import TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.values import ChatKind

OURS, MARCH, AUGUST = Profile.TRUNKLINE, Profile.OPENCLAW, Profile.OPENCLAW_2026_08


RULES: dict[str, ChannelRules] = {
    name: rules_for(name)
    for name in (
        *("whatsapp", "signal", "imessage", "bluebubbles", "nextcloud-talk"),
        *("zalo", "zalouser", "nostr", "tlon", "msteams"),
    )
}


UUID = "123e4567-e89b-12d3-a456-426614174000"


def read(channel: str, text: str, profile: Profile = OURS, kind: ChatKind | None = None) -> ParsedTarget:
    return rules_under(profile, channel).read(text, Hints(kind=kind))


def seen(channel: str, text: str, profile: Profile = OURS, kind: ChatKind | None = None) -> str:
    """Kind and id in short: ``direct +1555``; ``refused`` for a text that names no place."""
    try:
        found = read(channel, text, profile, kind)
    except TargetError:
        return "refused"
    return f"{found.kind.value} {found.id}"


def key(channel: str, text: str, profile: Profile = OURS) -> tuple[ChatKind, str]:
    """What the session key says of a target."""
    found = read(channel, text, profile)
    return found.kind, rules_under(profile, channel).fold(found.kind, found.id)


def ends(channel: str, text: str, profile: Profile = OURS) -> tuple[str, str]:
    """From and To."""
    rules = rules_under(profile, channel)
    placed = rules.place(rules.read(text, Hints()), None, None)
    return placed.sender, placed.to
