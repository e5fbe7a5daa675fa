"""Platforms without a file, what holds on all platforms, and what a route tells."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from tests.support.routes import AUGUST, MARCH, config_of, key, read, route, seen
from trunkline.core.channels import CurrentConversation, known_channels, rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.values import ChatKind

#: the shortest target that every platform understands, as a word and an id
GOOD = {
    "discord": "user:1",
    "feishu": "ou_1",
    "matrix": "@ana:example.org",
    "mattermost": "user:a1",
    "slack": "user:U1",
    "telegram": "12",
    "voice": "+15551234567",
}


@for_each("channel", [*known_channels(), "customchat"])
@for_each("text", ["", " ", "\t\n"])
def test_a_blank_target_is_none(channel: str, text: str) -> None:
    with pytest.raises(TargetError, match=r"it is empty\. Accepted: "):
        read(channel, text)


@for_each("channel", GOOD)
@for_each("char", ["\x00", "\n", "\x7f", "\u2028", "\ud800"])
def test_a_target_has_no_control_characters(channel: str, char: str) -> None:
    good = GOOD[channel]
    assert read(channel, good).id
    with pytest.raises(TargetError, match="control characters"):
        read(channel, f"{good[:-1]}{char}{good[-1]}")


@for_each("channel", GOOD)
def test_an_empty_id_is_reported_with_what_was_understood_and_what_is_accepted(channel: str) -> None:
    with pytest.raises(TargetError, match=r"understood as a user .*, but there is no id\. Accepted: \S") as caught:
        read(channel, "user:")
    assert repr("user:") in caught.value.facts
    assert caught.value.facts.endswith(", ".join(rules_for(channel).forms))


@for_each("channel", GOOD)
def test_the_name_of_the_platform_may_stand_in_front_in_any_case(channel: str) -> None:
    plain = read(channel, GOOD[channel])
    for name in (channel, channel.upper(), channel.title()):
        assert read(channel, f"{name}:{GOOD[channel]}").id == plain.id


def test_a_missing_channel_is_reported() -> None:
    with pytest.raises(TargetError, match="the channel is missing"):
        route(" ", "user:1")


def test_the_channel_is_read_without_case() -> None:
    assert route(" Slack ", "user:U1").address.channel == "slack"


# ---------------------------------------------------------------- platforms without a file


@for_each(
    ("text", "expected"),
    [
        ("abc", ("direct", "abc")),
        ("user:abc", ("direct", "abc")),
        ("dm:abc", ("direct", "abc")),
        ("room:Lobby", ("group", "Lobby")),
        ("Group:Lobby", ("group", "Lobby")),
        ("channel:Lobby", ("channel", "Lobby")),
        ("conversation:Lobby", ("channel", "Lobby")),
        ("THREAD:7", ("channel", "7")),
        ("customchat:group: Lobby", ("group", "Lobby")),
        ("group:user:Lobby", ("group", "user:Lobby")),
    ],
)
def test_a_word_says_what_kind_it_is(text: str, expected: tuple[str, str]) -> None:
    assert seen("customchat", text) == expected


def test_a_directory_knows_better_than_a_word() -> None:
    assert seen("customchat", "room:Lobby", kind=ChatKind.CHANNEL) == ("channel", "Lobby")


def test_unlike_upstream_in_march_a_room_is_no_person() -> None:
    assert seen("customchat", "room:Lobby", MARCH) == ("direct", "Lobby")
    assert seen("customchat", "room:Lobby", AUGUST) == seen("customchat", "room:Lobby") == ("group", "Lobby")


def test_unlike_upstream_in_march_the_account_is_in_the_key() -> None:
    march = GatewayConfig.model_validate({"profile": MARCH, "session": {"dm_scope": "per-account-channel-peer"}})
    august = march.model_copy(update={"profile": AUGUST})
    assert key("customchat", "user:1", MARCH, account="work", config=march) == "agent:main:customchat:default:direct:1"
    assert key("customchat", "user:1", AUGUST, account="work", config=august) == "agent:main:customchat:work:direct:1"
    assert key("customchat", "user:1", account="work") == "main:customchat:work:direct:1"


def test_unlike_upstream_ids_keep_their_case_in_keys_and_groups_are_not_called_channels() -> None:
    ours, theirs = route("customchat", "group:Lobby"), route("customchat", "group:Lobby", AUGUST)
    assert (str(ours.key), ours.to, ours.sender) == (
        "main:customchat:default:group:%4cobby",
        "group:Lobby",
        "customchat:group:Lobby",
    )
    assert (theirs.to, theirs.sender) == ("channel:Lobby", "customchat:group:Lobby")
    assert key("customchat", "group:Lobby", AUGUST) == "agent:main:customchat:group:lobby"


def test_unlike_upstream_a_named_thread_is_kept_and_a_reply_makes_none() -> None:
    assert route("customchat", "group:Lobby", thread="T1", reply_to="9").address.thread == "T1"
    assert route("customchat", "group:Lobby", reply_to="9").address.thread is None
    assert route("customchat", "group:Lobby", MARCH, thread="T1").thread_id is None


# ---------------------------------------------------------------- routes


@pytest.mark.parametrize(("channel", "target"), [("feishu", "ou_1"), ("whatsapp", "+15551234567"), ("telegram", "1")])
def test_a_thread_or_reply_where_there_is_none_of_that_kind_is_left_out_and_reported(channel: str, target: str) -> None:
    fields: dict[str, Any] = {"reply_to": "9"} if channel == "telegram" else {"thread": "9"}
    found = route(channel, target, **fields)
    assert (found.address.thread, found.thread_id, found.key) == (None, None, found.base)
    assert "no thread: the place has none of that kind" in found.steps


def test_the_account_is_named_or_configured_or_the_default_one() -> None:
    configured = config_of(slack={"default_account": "work"})
    assert route("slack", "user:U1").address.account == "default"
    assert route("slack", "user:U1", config=configured).address.account == "work"
    assert route("slack", "user:U1", config=configured, account=" home ").address.account == "home"
    assert (route("slack", "user:U1", account=" ").account, route("slack", "user:U1", account="x").account) == (
        None,
        "x",
    )


def test_the_base_is_the_key_without_the_thread() -> None:
    found = route("slack", "channel:C1", thread="9.9")
    assert (str(found.base), str(found.key)) == ("main:slack:default:channel:c1", f"{found.base}:thread:9.9")


def test_the_steps_say_how_the_target_the_thread_and_the_key_came_about() -> None:
    assert route("slack", "channel:C1", thread="9.9").steps == (
        "'channel:C1' is a channel, by the prefix channel:, id C1",
        "thread 9.9: named by the caller",
        "mirrored into the session of that place: main:slack:default:channel:c1:thread:9.9",
    )
    assert "thread 9.9: the message that is replied to" in route("slack", "channel:C1", reply_to="9.9").steps
    assert "thread 7: part of the target" in route("telegram", "-1001:topic:7", thread="8").steps
    assert "thread 777 of 555: named by the caller" in route("discord", "channel:555", thread="777").steps
    current = CurrentConversation(conversation="-1001", thread="7")
    assert "thread 7: inherited" in route("telegram", "-1001", current=current).steps[1]


def test_the_steps_write_keys_as_the_profile_does() -> None:
    config = GatewayConfig.model_validate({"profile": MARCH, "session": {"dm_scope": "main"}})
    found = route("slack", "user:U1", config=config, thread="9.9")
    assert found.steps[-1].endswith(": agent:main:main:thread:9.9")


def test_an_ambiguous_target_is_a_target_error() -> None:
    assert issubclass(AmbiguousTarget, TargetError)
