"""Slack's rules: our own, and what upstream does otherwise."""

from typing import Any

import pytest

from tests.conformance.upstream.inbound_places import read_slack as read_theirs
from tests.support.for_each import for_each
from tests.support.routes import AUGUST, MARCH, config_of, inbound_key, key, read, route, seen, seen_or_none
from trunkline.core.channels import CurrentConversation, rules_for
from trunkline.core.channels.platforms.slack import SlackMessage, read_inbound
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.values import Address, ChatKind

# ---------------------------------------------------------------- targets


@for_each(
    ("text", "expected"),
    [
        ("user:U1", ("direct", "U1")),
        ("User:U1", ("direct", "U1")),
        ("dm:U1", ("direct", "U1")),
        ("<@U1>", ("direct", "U1")),
        ("<@U1|ana>", ("direct", "U1")),
        ("@U1", ("direct", "U1")),
        ("slack:U1", ("direct", "U1")),
        ("slack:user:U1", ("direct", "U1")),
        ("U0123ABCD", ("direct", "U0123ABCD")),
        ("W0123ABCD", ("direct", "W0123ABCD")),
        ("channel:C1", ("channel", "C1")),
        ("CHANNEL: C1", ("channel", "C1")),
        ("slack:channel:C1", ("channel", "C1")),
        ("#C1", ("channel", "C1")),
        ("<#C1|general>", ("channel", "C1")),
        ("C0123ABCD", ("channel", "C0123ABCD")),
        ("channel:G1", ("channel", "G1")),
        ("group:G1", ("group", "G1")),
        ("group:C1", ("group", "C1")),
    ],
)
def test_targets(text: str, expected: tuple[str, str]) -> None:
    assert seen("slack", text) == expected


@for_each("text", ["#general-chat", "@ana", "channel:town square", "general", "user:ana", "Ops1", "@", "#"])
def test_a_name_is_no_target(text: str) -> None:
    with pytest.raises(TargetError, match=r"Accepted: user:U1") as caught:
        read("slack", text)
    assert not isinstance(caught.value, AmbiguousTarget)


def test_ids_that_lost_their_capitals_get_them_back() -> None:
    for text in ("u0123abcd", "user:u0123abcd", "<@u0123abcd>"):
        assert seen("slack", text) == ("direct", "U0123ABCD")
    assert seen("slack", "channel:c0abc") == ("channel", "C0ABC")
    assert key("slack", "channel:c0abc") == inbound_key(
        Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C0ABC")
    )


@pytest.mark.parametrize("text", ["D0123ABCD", "channel:D0123ABCD", "user:D1", "d0123abcd"])
def test_the_id_of_a_direct_conversation_does_not_say_who_it_is_with(text: str) -> None:
    with pytest.raises(AmbiguousTarget, match="name the user"):
        read("slack", text)
    with pytest.raises(AmbiguousTarget, match="name the user"):
        read("slack", text, kind=ChatKind.DIRECT)


def test_a_group_or_private_channel_is_known_by_prefix_directory_or_configuration() -> None:
    with pytest.raises(AmbiguousTarget, match="several people"):
        read("slack", "G0123ABCD")
    assert seen("slack", "G1", kind=ChatKind.GROUP) == ("group", "G1")
    assert seen("slack", "G1", kind=ChatKind.CHANNEL) == ("channel", "G1")
    assert seen("slack", "G1", group_dms=frozenset({"g1"})) == ("group", "G1")
    assert seen("slack", "G1", rooms=frozenset({"#G1"})) == ("channel", "G1")
    assert seen("slack", "channel:G1", group_dms=frozenset({"mpim:G1"})) == ("group", "G1")
    assert seen("slack", "channel:G1", kind=ChatKind.GROUP) == ("group", "G1")


def test_a_user_is_a_user_whatever_stands_before_and_a_channel_is_none() -> None:
    assert seen("slack", "channel:U1") == ("direct", "U1")
    with pytest.raises(TargetError, match="'C1' is the id of a channel"):
        read("slack", "user:C1")


def test_unlike_upstream_a_group_is_a_group_in_to_and_chat_type() -> None:
    listed = {"group_dms": ["G1"]}
    ours = route("slack", "channel:G1", config=config_of(slack=listed))
    theirs = route("slack", "channel:G1", config=config_of(MARCH, slack=listed))
    assert (ours.to, ours.chat_type, ours.sender) == ("group:G1", ChatKind.GROUP, "slack:group:G1")
    assert (theirs.to, theirs.chat_type, theirs.sender) == ("channel:G1", ChatKind.CHANNEL, "slack:group:G1")


@for_each(
    ("text", "ours", "theirs"),
    [
        ("Channel:C9", ("channel", "C9"), ("channel", "Channel:C9")),
        ("<@U1|ana>", ("direct", "U1"), ("channel", "<@U1|ana>")),
        ("group:G1", ("group", "G1"), ("channel", "group:G1")),
        ("U0123ABCD", ("direct", "U0123ABCD"), ("channel", "U0123ABCD")),
        ("user:u1", ("direct", "U1"), ("direct", "u1")),
        ("user:", None, ("channel", "user:")),
        ("general", None, ("channel", "general")),
        ("slack:C1", ("channel", "C1"), ("direct", "C1")),
    ],
)
def test_unlike_upstream_prefixes_are_read_in_any_case_and_only_ids_are_targets(
    text: str, ours: tuple[str, str] | None, theirs: tuple[str, str]
) -> None:
    assert seen("slack", text, MARCH) == theirs
    assert seen_or_none("slack", text) == ours


def test_upstream_refuses_signs_before_names_and_in_august_ids_of_direct_conversations() -> None:
    for text in ("#general-chat", "@ana bo"):
        with pytest.raises(TargetError):
            read("slack", text, MARCH)
    assert seen("slack", "channel:D1", MARCH) == ("channel", "D1")
    with pytest.raises(TargetError):
        read("slack", "channel:D1", AUGUST)


# ---------------------------------------------------------------- threads


def test_a_thread_comes_before_a_reply_and_in_august_the_other_way_round() -> None:
    both: dict[str, Any] = {"thread": "1.1", "reply_to": "2.2"}
    assert route("slack", "channel:C1", **both).address.thread == "1.1"
    assert route("slack", "channel:C1", reply_to="2.2").address.thread == "2.2"
    assert route("slack", "channel:C1", MARCH, **both).thread_id == "1.1"
    assert route("slack", "channel:C1", AUGUST, **both).thread_id == "2.2"


HERE = CurrentConversation(conversation="C0ABC", thread="1.1", reply_mode="all")


@for_each(
    ("target", "current", "thread"),
    [
        ("channel:C0ABC", HERE, "1.1"),
        ("channel:c0abc", HERE, "1.1"),
        ("channel:C9", HERE, None),
        ("user:U1", HERE, None),
        ("channel:C0ABC", CurrentConversation(conversation="C0ABC", thread="1.1", reply_mode="off"), None),
        ("channel:C0ABC", CurrentConversation(conversation="C0ABC", thread="1.1", reply_mode="first"), "1.1"),
        (
            "channel:C0ABC",
            CurrentConversation(conversation="C0ABC", thread="1.1", reply_mode="first", has_replied=True),
            None,
        ),
        (
            "channel:C0ABC",
            CurrentConversation(conversation="C0ABC", thread="1.1", reply_mode="all", has_replied=True),
            "1.1",
        ),
        ("channel:C0ABC", CurrentConversation(conversation="C0ABC", reply_mode="all"), None),
        ("channel:C0ABC", CurrentConversation(thread="1.1", reply_mode="all"), None),
    ],
)
@for_each("profile", list(Profile))
def test_a_send_to_the_channel_at_hand_inherits_its_thread(
    target: str, current: CurrentConversation, thread: str | None, profile: Profile
) -> None:
    assert route("slack", target, profile, current=current).thread_id == thread


def test_a_named_thread_or_a_reply_comes_before_an_inherited_one() -> None:
    assert route("slack", "channel:C0ABC", current=HERE, thread="3.3").thread_id == "3.3"
    assert route("slack", "channel:C0ABC", current=HERE, reply_to="3.3").thread_id == "3.3"


def test_a_thread_on_a_message_has_its_id() -> None:
    room = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C1")
    assert rules_for("slack").thread_on(room, "1.1").thread == "1.1"


# ---------------------------------------------------------------- inbound


def said(conversation: str = "channel", **fields: Any) -> SlackMessage:
    channels = {"channel": "C1", "im": "D1", "mpim": "G1"}
    whole = {"conversation": conversation, "channel_id": channels[conversation], "user": "U1", "ts": "10.1", **fields}
    return SlackMessage(**whole)


@pytest.mark.parametrize("mode", ["off", "first", "all"])
def test_a_message_outside_of_threads_is_in_the_room_whatever_the_mode(mode: str) -> None:
    found = read_inbound(said(), "default", mode)
    assert (found.address.thread, found.is_thread_reply, found.reply_to) == (None, False, "10.1")
    assert found.message_thread == ("10.1" if mode == "all" else None)
    assert inbound_key(found.address) == "main:slack:default:channel:c1" == key("slack", "channel:C1")


def test_an_answer_is_in_the_thread_and_its_root_is_not() -> None:
    answer = read_inbound(said(ts="11.1", thread_ts="10.1"), "default")
    assert (answer.address.thread, answer.is_thread_reply, answer.message_thread) == ("10.1", True, "10.1")
    assert inbound_key(answer.address) == key("slack", "channel:C1", thread="10.1")
    assert read_inbound(said(thread_ts="10.1"), "default").address.thread is None
    assert read_inbound(said(thread_ts="10.1", parent_user_id="U2"), "default").is_thread_reply


@pytest.mark.parametrize(
    ("conversation", "kind", "peer"),
    [("im", ChatKind.DIRECT, "U1"), ("mpim", ChatKind.GROUP, "G1"), ("channel", ChatKind.CHANNEL, "C1")],
)
def test_a_direct_conversation_goes_by_its_user(conversation: str, kind: ChatKind, peer: str) -> None:
    place = read_inbound(said(conversation), "work").address
    assert (place.account, place.kind, place.conversation) == ("work", kind, peer)


def test_unlike_upstream_messages_to_a_user_do_not_fork_sessions() -> None:
    ours, theirs = (read(said("im"), "default", "all") for read in (read_inbound, read_theirs))
    assert inbound_key(ours.address) == key("slack", "user:U1")
    assert inbound_key(theirs.address, MARCH) == "agent:main:slack:direct:u1:thread:10.1"
    assert ours.message_thread == theirs.message_thread == "10.1"


def test_a_thread_starts_from_its_room_where_that_is_wished() -> None:
    answer = said(ts="11.1", thread_ts="10.1")
    assert read_inbound(answer, "default", inherit_parent=True).inherits_parent
    assert not read_inbound(answer, "default").inherits_parent
    assert not read_inbound(said(), "default", inherit_parent=True).inherits_parent
