"""Where a heartbeat delivers, by our own rules; the table `heartbeat_targets` has upstream's."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.heartbeat.targets import HeartbeatTargets, Route, TargetQuestion, resolve_heartbeat_target
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind

CHANNELS = ("telegram", "whatsapp", "discord", "slack", "signal")
GROUP = Address(channel="telegram", account="ops", kind=ChatKind.GROUP, conversation="-100", thread="7")
FROM_GROUP = Route(channel="telegram", to="telegram:-100:topic:7", account="ops", place=GROUP)


def resolve(**facts: Any) -> tuple[str | None, str | None, Reason | None]:
    found = resolve_heartbeat_target(TargetQuestion(**{"default": "owner", "channels": CHANNELS, **facts}))
    return found.channel, found.to, found.reason


def test_the_default_depends_on_the_profile() -> None:
    assert [profile_rules(profile)[HeartbeatTargets].default for profile in Profile] == ["owner", "none", "owner"]


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (Profile.TRUNKLINE, Reason.NO_ROUTE),
        (Profile.OPENCLAW, Reason.NO_TARGET),
        (Profile.OPENCLAW_2026_08, Reason.NO_ROUTE),
    ],
)
def test_a_session_without_a_route_is_no_route_since_august(profile: Profile, reason: Reason) -> None:
    assert resolve(target="last", by=profile_rules(profile)) == (None, None, reason)
    # A channel without a recipient is another thing.
    assert resolve(target="slack", by=profile_rules(profile)) == (None, None, Reason.NO_TARGET)


def test_a_thread_is_not_inherited_and_the_place_is_kept() -> None:
    found = resolve_heartbeat_target(TargetQuestion(target="last", default="owner", channels=CHANNELS, last=FROM_GROUP))
    assert found.place == Address(channel="telegram", account="ops", kind=ChatKind.GROUP, conversation="-100")
    assert found.account == "ops"
    named = resolve_heartbeat_target(
        TargetQuestion(target="last", to="5", default="owner", channels=CHANNELS, last=FROM_GROUP)
    )
    assert (named.to, named.place) == ("5", None)


# -------------------------------------------------------------------- owner


def test_the_owner_is_looked_for_on_the_channel_of_the_session_first() -> None:
    owners = ("discord:user:9", "telegram:5")
    assert resolve(target="owner", owners=owners, last=FROM_GROUP) == ("telegram", "5", None)
    assert resolve(target="owner", owners=owners) == ("telegram", "5", None)
    assert resolve(target="owner", owners=("slack:user:U1",), last=FROM_GROUP) == ("slack", "user:U1", None)


def test_without_an_owner_the_first_recipient_of_a_channel_counts() -> None:
    recipients = {"telegram": ("*",), "whatsapp": ("*", "+1555", "+1666")}
    assert resolve(target="owner", recipients=recipients) == ("whatsapp", "+1555", None)
    assert resolve(target="owner", owners=("signal:+1777",), recipients=recipients) == ("signal", "+1777", None)


@for_each("owner", ["telegram:-100", "discord:9", "discord:channel:9", "slack:C1", "telegram:", "x:5", ""])
def test_an_owner_must_be_provably_one_person(owner: str) -> None:
    assert resolve(target="owner", owners=(owner,)) == (None, None, Reason.NO_ROUTE)


# -------------------------------------------------------------------- whom


@for_each(
    ("channel", "to", "ours", "upstream"),
    [
        ("telegram", "5", Reason.DM_BLOCKED, Reason.DM_BLOCKED),
        ("telegram", "-100", None, None),
        # A text that does not prove its kind: we do not risk it.
        ("telegram", "@somebody", Reason.DM_BLOCKED, None),
        ("discord", "9", Reason.DM_BLOCKED, None),
        ("discord", "user:9", Reason.DM_BLOCKED, Reason.DM_BLOCKED),
        ("slack", "U123", Reason.DM_BLOCKED, None),
        ("slack", "C123", None, None),
        ("whatsapp", "+1555", Reason.DM_BLOCKED, Reason.DM_BLOCKED),
        ("whatsapp", "120@g.us", None, None),
        ("signal", "+1555", Reason.DM_BLOCKED, Reason.DM_BLOCKED),
        ("signal", "group:abc=", None, None),
    ],
)
def test_direct_chats_can_be_excluded(channel: str, to: str, ours: Reason | None, upstream: Reason | None) -> None:
    facts: dict[str, Any] = {"target": channel, "to": to, "direct_policy": "block"}
    assert resolve(**facts)[2] is ours
    assert resolve(**facts, by=profile_rules(Profile.OPENCLAW))[2] is upstream
    assert resolve(target=channel, to=to)[0] == channel


def test_a_place_proves_its_kind() -> None:
    direct = Address(channel="telegram", account="ops", kind=ChatKind.DIRECT, conversation="5")
    last = Route(channel="telegram", to="@somebody", account="ops", place=direct)
    assert resolve(target="last", last=last, direct_policy="block")[2] is Reason.DM_BLOCKED
    known = Route(channel="telegram", to="@somewhere", kind=ChatKind.DIRECT)
    for profile in Profile:
        assert (
            resolve(target="last", last=known, direct_policy="block", by=profile_rules(profile))[2] is Reason.DM_BLOCKED
        )
    group = Route(channel="telegram", to="@somewhere", account="ops", place=GROUP)
    assert resolve(target="last", last=group, direct_policy="block") == ("telegram", "@somewhere", None)


@pytest.mark.parametrize("profile", list(Profile))
def test_whatsapp_replaces_a_person_who_is_not_listed(profile: Profile) -> None:
    def to(named: str, *listed: str) -> tuple[str | None, Reason | None]:
        _, found, reason = resolve(
            target="whatsapp", to=named, recipients={"whatsapp": listed}, by=profile_rules(profile)
        )
        return found, reason

    assert to("+1999", "+1 555") == ("+1555", Reason.ALLOW_FROM_FALLBACK)
    # A JID is the number of the same person.
    assert to("1555@s.whatsapp.net", "+1 555")[1] is None
    assert to("+1999", "+1555", "*") == ("+1999", None)
    assert to("120@G.US", "+1555") == ("120@g.us", None)
    # A text that is no recipient has nobody to be replaced for.
    assert to("x@y", "+1555") == ("+1555", None)
    assert to("x@y") == (None, Reason.NO_TARGET)


def test_a_list_that_cannot_be_read_permits_nobody() -> None:
    facts: dict[str, Any] = {"target": "whatsapp", "to": "+1999", "recipients": {"whatsapp": ("ana",)}}
    assert resolve(**facts) == (None, None, Reason.NO_TARGET)
    assert resolve(**facts, by=profile_rules(Profile.OPENCLAW)) == ("whatsapp", "+1999", None)


def test_an_account_is_one_of_the_channel_in_any_case() -> None:
    def account(**facts: Any) -> tuple[str | None, Reason | None]:
        question = {"target": "telegram", "to": "5", "default": "owner", "channels": CHANNELS, **facts}
        found = resolve_heartbeat_target(TargetQuestion(**question))
        return found.account, found.reason

    accounts = {"telegram": ("Main", "Ops")}
    assert account(account="ops", accounts=accounts) == ("Ops", None)
    assert account(account="ops", accounts=accounts, by=profile_rules(Profile.OPENCLAW)) == ("ops", None)
    assert account(account="nope", accounts=accounts) == ("nope", Reason.UNKNOWN_HEARTBEAT_ACCOUNT)
    assert account(account="nope", accounts={"slack": ("x",)}) == ("nope", None)
    assert account(account=" ", last=FROM_GROUP) == ("ops", None)


# -------------------------------------------------------------------- the web chat


@pytest.mark.parametrize(
    ("profile", "channel"), [(Profile.TRUNKLINE, "webchat"), (Profile.OPENCLAW, None), (Profile.OPENCLAW_2026_08, None)]
)
def test_a_web_chat_that_is_served_can_be_written_to_and_that_of_upstream_cannot(
    profile: Profile, channel: str | None
) -> None:
    served = (*CHANNELS, "webchat")
    assert resolve(target="webchat", to="ana", default="none", channels=served, by=profile_rules(profile))[0] == channel
    last = Route(channel="webchat", to="ana")
    assert resolve(target="last", default="none", channels=served, last=last, by=profile_rules(profile))[0] == channel
