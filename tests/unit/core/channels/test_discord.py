"""Discord's rules: our own, and what upstream does otherwise."""

import pytest

from tests.conformance.upstream.inbound_places import read_discord as read_theirs
from tests.support.for_each import for_each
from tests.support.routes import AUGUST, MARCH, inbound_key, key, read, route, seen, seen_or_none
from trunkline.core.channels import rules_for
from trunkline.core.channels.platforms.discord import DiscordMessage, read_inbound
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.values import Address, ChatKind


@for_each(
    ("text", "expected"),
    [
        ("user:1", ("direct", "1")),
        ("USER:1", ("direct", "1")),
        ("dm:1", ("direct", "1")),
        ("<@1>", ("direct", "1")),
        ("<@!1>", ("direct", "1")),
        ("@1", ("direct", "1")),
        ("@ 1", ("direct", "1")),
        ("discord:1", ("direct", "1")),
        ("discord:user:1", ("direct", "1")),
        ("channel:1", ("channel", "1")),
        ("Channel: 1", ("channel", "1")),
        ("discord:channel:1", ("channel", "1")),
        ("<#1>", ("channel", "1")),
        ("thread:1", ("channel", "1")),
        ("room:1", ("channel", "1")),
        ("group:1", ("group", "1")),
    ],
)
def test_targets(text: str, expected: tuple[str, str]) -> None:
    assert seen("discord", text) == expected


def test_digits_alone_need_a_directory() -> None:
    with pytest.raises(AmbiguousTarget, match="write user:123 for a direct message, channel:123 for a channel"):
        read("discord", "123")
    assert seen("discord", "123", kind=ChatKind.DIRECT) == ("direct", "123")
    assert seen("discord", "123", kind=ChatKind.CHANNEL) == ("channel", "123")
    assert seen("discord", "123", kind=ChatKind.GROUP) == ("channel", "123")


@for_each("text", ["general", "#general", "@ana", "user:ana", "channel:general", "<@&1>", "<@x>", "١٢٣"])
def test_a_name_is_no_target(text: str) -> None:
    with pytest.raises(TargetError, match="Accepted: user:1") as caught:
        read("discord", text)
    assert not isinstance(caught.value, AmbiguousTarget)


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("Channel:5", ("channel", "5"), ("channel", "Channel:5")),
        ("discord:channel:5", ("channel", "5"), ("direct", "channel:5")),
        ("<#5>", ("channel", "5"), ("channel", "<#5>")),
        ("general", None, ("channel", "general")),
        ("user:", None, ("channel", "user:")),
    ],
)
def test_unlike_upstream_prefixes_are_read_in_any_case_and_only_ids_are_targets(
    text: str, ours: tuple[str, str] | None, theirs: tuple[str, str]
) -> None:
    assert seen("discord", text, MARCH) == theirs
    assert seen_or_none("discord", text) == ours


@pytest.mark.parametrize("profile", [MARCH, AUGUST])
def test_upstream_refuses_names_behind_a_sign_and_bare_digits(profile: Profile) -> None:
    with pytest.raises(TargetError):
        read("discord", "@ana", profile)
    with pytest.raises(AmbiguousTarget):
        read("discord", "123", profile)


# ---------------------------------------------------------------- threads

THREAD = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="777", parent="555")


def test_unlike_upstream_a_named_thread_is_the_conversation_as_it_is_inbound() -> None:
    ours, theirs = route("discord", "channel:555", thread="777"), route("discord", "channel:555", MARCH, thread="777")
    assert ours.address == theirs.address == THREAD
    assert (ours.peer, ours.to, ours.sender) == ("777", "channel:777", "discord:channel:777")
    assert (theirs.peer, theirs.to, theirs.sender) == ("555", "channel:555", "discord:channel:555")
    assert ours.thread_id == theirs.thread_id == "777"
    assert key("discord", "channel:555", thread="777") == inbound_key(THREAD)
    assert key("discord", "channel:555", MARCH, thread="777") == "agent:main:discord:channel:555"
    assert inbound_key(THREAD, MARCH) == "agent:main:discord:channel:777"


def test_a_thread_by_its_own_id_is_the_same_conversation() -> None:
    assert key("discord", "channel:777") == key("discord", "thread:777", thread="777") == inbound_key(THREAD)


def test_a_reply_is_no_thread_and_people_and_groups_have_none() -> None:
    assert route("discord", "channel:555", reply_to="777").address.conversation == "555"
    for target in ("user:42", "group:42"):
        found = route("discord", target, thread="777")
        assert (found.address.conversation, found.address.parent, found.thread_id) == ("42", None, None)


def test_a_thread_that_is_no_id_is_an_error() -> None:
    with pytest.raises(TargetError, match="a thread's id is digits"):
        route("discord", "channel:555", thread="general")


def test_a_thread_on_a_message_has_its_id_and_the_channel_as_parent() -> None:
    room = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="555")
    assert rules_for("discord").thread_on(room, "777") == THREAD


# ---------------------------------------------------------------- inbound


def test_a_thread_is_a_conversation_with_a_parent() -> None:
    said = DiscordMessage(kind="guild_thread", conversation_id="777", parent_id="555", guild_id="1")
    found = read_inbound(said, "default")
    assert (found.address, found.is_thread_reply) == (THREAD, True)


def test_a_channel_has_no_parent_although_it_stands_in_a_category() -> None:
    said = DiscordMessage(kind="guild_channel", conversation_id="555", parent_id="1", guild_id="1")
    assert read_inbound(said, "default").address.parent is None


def test_a_direct_conversation_goes_by_its_user_and_a_group_by_its_id() -> None:
    direct = read_inbound(DiscordMessage(kind="dm", conversation_id="9", user_id="42"), "work").address
    assert (direct.account, direct.kind, direct.conversation) == ("work", ChatKind.DIRECT, "42")
    group = read_inbound(DiscordMessage(kind="group_dm", conversation_id="9", user_id="42"), "work").address
    assert (group.kind, group.conversation) == (ChatKind.GROUP, "9")


def test_unlike_upstream_a_direct_message_without_its_user_is_an_error() -> None:
    said = DiscordMessage(kind="dm", conversation_id="9")
    assert read_theirs(said, "default").address.conversation == "9"
    with pytest.raises(TargetError, match="its user is missing"):
        read_inbound(said, "default")
