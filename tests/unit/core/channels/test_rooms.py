"""Mattermost, Matrix and Feishu: our own rules, and what upstream does otherwise."""

from typing import Any

import pytest

from tests.conformance.upstream.inbound_places import read_post as read_theirs
from tests.support.for_each import for_each
from tests.support.routes import AUGUST, MARCH, inbound_key, key, read, route, seen, seen_or_none
from trunkline.core.channels import known_channels, rules_for
from trunkline.core.channels.platforms.mattermost import MattermostMessage
from trunkline.core.channels.platforms.mattermost import read_inbound as read_post
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.values import ChatKind, Idempotency

POST = "dthcxgoxhifn3pwh65cut3ud3w"


def test_every_channel_states_a_limit_and_its_forms() -> None:
    for rules in map(rules_for, known_channels()):
        assert rules.text_limit == rules.capabilities.text_limit > 0
        assert rules.forms
        assert rules.channel == rules.channel.lower()
    limits = {name: rules_for(name).text_limit for name in ("discord", "mattermost", "slack", "telegram")}
    assert limits == {"discord": 2000, "mattermost": 16383, "slack": 4000, "telegram": 4096}
    assert rules_for("matrix").capabilities.idempotency is Idempotency.KEY
    assert rules_for("slack").capabilities.idempotency is Idempotency.NONE


# ---------------------------------------------------------------- Mattermost


@for_each(
    ("text", "expected"),
    [
        (f"user:{POST}", ("direct", POST)),
        (f"DM:{POST}", ("direct", POST)),
        ("@alice", ("direct", "alice")),
        ("user:@alice", ("direct", "alice")),
        (f"mattermost:{POST}", ("direct", POST)),
        (f"channel:{POST}", ("channel", POST)),
        (f"mattermost:Channel:{POST}", ("channel", POST)),
        (f"room:{POST}", ("channel", POST)),
        (f"group:{POST}", ("group", POST)),
    ],
)
def test_mattermost_targets(text: str, expected: tuple[str, str]) -> None:
    assert seen("mattermost", text) == expected


def test_a_bare_id_of_mattermost_needs_a_directory() -> None:
    with pytest.raises(AmbiguousTarget, match="look alike"):
        read("mattermost", POST)
    assert seen("mattermost", POST, kind=ChatKind.DIRECT) == ("direct", POST)
    assert seen("mattermost", f"channel:{POST}", kind=ChatKind.GROUP) == ("group", POST)


@pytest.mark.parametrize("text", ["channel:town square", "channel:@alice", "user:a/b", "@", "@ "])
def test_what_is_no_id_of_mattermost_is_an_error(text: str) -> None:
    with pytest.raises(TargetError, match="Accepted: user:ID"):
        read("mattermost", text)


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("dm:abc", ("direct", "abc"), ("channel", "abc")),
        ("group:abc", ("group", "abc"), ("channel", "abc")),
        ("abc", None, ("channel", "abc")),
        ("town square", None, ("channel", "town square")),
    ],
)
def test_unlike_upstream_a_word_means_what_it_says_on_mattermost(
    text: str, ours: tuple[str, str] | None, theirs: tuple[str, str]
) -> None:
    assert seen("mattermost", text, MARCH) == theirs
    assert seen_or_none("mattermost", text) == ours


def test_upstream_believes_a_directory_of_mattermost_first() -> None:
    assert seen("mattermost", "@ops", MARCH, kind=ChatKind.CHANNEL) == ("channel", "ops")
    assert seen("mattermost", "channel:x", MARCH, kind=ChatKind.DIRECT) == ("direct", "x")


@pytest.mark.parametrize("profile", list(Profile))
def test_on_mattermost_a_reply_comes_before_a_thread(profile: Profile) -> None:
    assert route("mattermost", "channel:town", profile, reply_to="r1", thread="r2").thread_id == "r1"
    assert route("mattermost", "channel:town", profile, reply_to=" ", thread="r2").thread_id == "r2"


def post(chat: Any = "channel", **fields: Any) -> MattermostMessage:
    return MattermostMessage(chat=chat, channel_id="town", user_id="u1", post_id="p1", **fields)


@for_each(
    ("message", "mode", "ours", "theirs"),
    [
        (post(), "off", None, None),
        (post(), "first", None, "p1"),
        (post(), "all", None, "p1"),
        (post(root_id="p0"), "off", "p0", None),
        (post(root_id="p0"), "all", "p0", "p0"),
        (post("group", root_id=" "), "all", None, "p1"),
        (post("direct"), "all", None, None),
        (post("direct", root_id="p0"), "all", "p0", "p0"),
    ],
)
def test_unlike_upstream_threads_of_mattermost_do_not_hang_on_the_mode_of_replies(
    message: MattermostMessage, mode: str, ours: str | None, theirs: str | None
) -> None:
    assert read_post(message, "default", mode).address.thread == ours
    found = read_theirs(message, "default", mode)
    assert (found.address.thread, found.inherits_parent) == (theirs, theirs is not None)


def test_an_answer_to_a_post_goes_to_its_thread_where_answers_go_to_threads() -> None:
    assert read_post(post(), "default", "all").message_thread == "p1"
    assert read_post(post(), "default", "off").message_thread is None
    assert read_post(post("direct"), "default", "all").message_thread is None
    assert read_post(post(root_id="p0"), "default", "off").message_thread == "p0"


def test_a_direct_conversation_of_mattermost_goes_by_its_user() -> None:
    place = read_post(post("direct"), "default").address
    assert (place.kind, place.conversation) == (ChatKind.DIRECT, "u1")
    assert inbound_key(place) == key("mattermost", "user:u1")
    assert inbound_key(read_post(post("group"), "default").address) == key("mattermost", "group:town")


# ---------------------------------------------------------------- Matrix

ROOM, USER = "!AbC:example.org", "@Ana:example.org"


@for_each(
    ("text", "expected"),
    [
        (ROOM, ("channel", ROOM)),
        ("!hash_of-a-later-Version", ("channel", "!hash_of-a-later-Version")),
        (f"room:{ROOM}", ("channel", ROOM)),
        (f"matrix:Channel:{ROOM}", ("channel", ROOM)),
        (f"group:{ROOM}", ("channel", ROOM)),
        (USER, ("direct", USER)),
        (f"user:{USER}", ("direct", USER)),
        (f"MATRIX:dm:{USER}", ("direct", USER)),
    ],
)
def test_matrix_targets(text: str, expected: tuple[str, str]) -> None:
    assert seen("matrix", text) == expected


@for_each("text", ["#ops:example.org", "room:#ops:example.org", "ops", "@ana", "user:ana", "!", "room:"])
def test_what_is_no_id_of_matrix_is_an_error(text: str) -> None:
    with pytest.raises(TargetError, match="Accepted: !room:server"):
        read("matrix", text)


@pytest.mark.parametrize("text", [f"user:{ROOM}", f"room:{USER}"])
def test_a_word_may_not_contradict_the_sign_of_an_id(text: str) -> None:
    with pytest.raises(TargetError, match="by its id"):
        read("matrix", text)


def test_the_room_of_a_direct_conversation_does_not_say_who_it_is_with() -> None:
    with pytest.raises(AmbiguousTarget, match="name the user"):
        read("matrix", ROOM, kind=ChatKind.DIRECT)


def test_unlike_upstream_case_counts_on_matrix_in_rooms_users_and_threads() -> None:
    assert (
        key("matrix", ROOM, thread="$XyZ") == "main:matrix:default:channel:%21%41b%43%3aexample.org:thread:%24%58y%5a"
    )
    assert key("matrix", ROOM) != key("matrix", ROOM.lower())
    assert key("matrix", USER) != key("matrix", USER.lower())
    assert key("matrix", ROOM, MARCH) == key("matrix", ROOM.lower(), MARCH)
    assert key("matrix", ROOM, AUGUST, thread="$XyZ") == f"agent:main:matrix:channel:{ROOM}:thread:$XyZ"
    assert key("matrix", USER, AUGUST) == f"agent:main:matrix:direct:{USER.lower()}"


def test_unlike_upstream_a_user_of_matrix_is_no_room() -> None:
    assert route("matrix", USER).to == f"user:{USER}"
    assert route("matrix", USER, MARCH).to == f"room:{USER}"
    assert route("matrix", ROOM).to == route("matrix", ROOM, MARCH).to == f"room:{ROOM}"


def test_unlike_upstream_threads_of_matrix_are_places_and_replies_are_not() -> None:
    found = route("matrix", ROOM, thread="$root", reply_to="$other")
    assert (found.address.thread, found.thread_id) == ("$root", "$root")
    assert route("matrix", ROOM, reply_to="$other").address.thread is None
    assert route("matrix", ROOM, MARCH, thread="$root").thread_id is None
    assert route("matrix", ROOM, AUGUST, thread="$root", reply_to="$other").thread_id == "$other"


def test_unlike_upstream_a_text_that_is_no_id_is_no_room() -> None:
    assert seen("matrix", "ops", MARCH) == ("channel", "ops")
    assert seen("matrix", "dm:ops", MARCH) == ("channel", "ops")
    assert seen("matrix", "ops", MARCH, kind=ChatKind.DIRECT) == ("direct", "ops")
    assert seen_or_none("matrix", "ops") is None


# ---------------------------------------------------------------- Feishu


@for_each(
    ("text", "expected"),
    [
        ("ou_1", ("direct", "ou_1")),
        ("on_1", ("direct", "on_1")),
        ("user:ou_1", ("direct", "ou_1")),
        ("dm:4d7A", ("direct", "4d7A")),
        ("feishu:4d7A", ("direct", "4d7A")),
        ("group:oc_A", ("group", "oc_A")),
        ("chat:oc_A", ("group", "oc_A")),
        ("Lark:Channel:oc_A", ("group", "oc_A")),
    ],
)
def test_feishu_targets(text: str, expected: tuple[str, str]) -> None:
    assert seen("feishu", text) == expected


def test_a_bare_chat_of_feishu_needs_a_directory() -> None:
    for text in ("oc_A", "feishu:oc_A", "4d7A"):
        with pytest.raises(AmbiguousTarget, match="a group or a user"):
            read("feishu", text)
    assert seen("feishu", "oc_A", kind=ChatKind.CHANNEL) == ("group", "oc_A")
    with pytest.raises(TargetError, match="name the user by ou_"):
        read("feishu", "oc_A", kind=ChatKind.DIRECT)


@pytest.mark.parametrize("text", ["user:oc_A", "dm:oc_A", "group:ou_1", "chat:on_1", "user:a b"])
def test_a_word_may_not_contradict_the_beginning_of_an_id(text: str) -> None:
    with pytest.raises(TargetError, match="Accepted: ou_ID"):
        read("feishu", text)


def test_unlike_upstream_a_chat_of_feishu_is_no_user() -> None:
    assert seen("feishu", "oc_A", MARCH) == ("direct", "oc_A")
    assert seen("feishu", "channel:oc_A", MARCH) == ("direct", "channel:oc_A")
    assert seen("feishu", "feishu:lark:group:oc_A", MARCH) == ("group", "oc_A")


def test_unlike_upstream_to_says_what_it_is_on_feishu_and_case_counts() -> None:
    assert (route("feishu", "group:oc_A").to, route("feishu", "group:oc_A", MARCH).to) == ("group:oc_A", "oc_A")
    assert key("feishu", "group:oc_A") == "main:feishu:default:group:oc_%41"
    assert key("feishu", "group:oc_A", MARCH) == "agent:main:feishu:group:oc_a"
