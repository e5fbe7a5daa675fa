"""Telegram's rules: our own, and what upstream does otherwise."""

from typing import Any

import pytest

from tests.conformance.upstream.inbound_places import read_telegram as read_theirs
from tests.support.for_each import for_each
from tests.support.profiles import rules_under
from tests.support.routes import AUGUST, MARCH, inbound_key, key, read, route, seen, seen_or_none
from trunkline.core.channels import CurrentConversation, rules_for
from trunkline.core.channels.platforms.telegram import TelegramMessage, read_inbound
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.values import Address, ChatKind

# ---------------------------------------------------------------- targets


@for_each(
    ("text", "expected"),
    [
        ("42", ("direct", "42")),
        ("-1001", ("group", "-1001")),
        ("telegram:42", ("direct", "42")),
        ("TG:telegram: 42", ("direct", "42")),
        ("telegram:group:-1001", ("group", "-1001")),
        ("user:42", ("direct", "42")),
        ("channel:-1001", ("group", "-1001")),
        ("chat:-1001", ("group", "-1001")),
        ("-1001:topic:7", ("group", "-1001")),
        ("-1001:TOPIC:7", ("group", "-1001")),
        ("-1001:7", ("group", "-1001")),
        ("telegram:group:-1001:topic:7", ("group", "-1001")),
        ("42:topic:7", ("direct", "42")),
    ],
)
def test_targets(text: str, expected: tuple[str, str]) -> None:
    assert seen("telegram", text) == expected
    assert read("telegram", text).thread == ("7" if text.endswith("7") else None)


@for_each(
    "text",
    ["@ana", "ana_bot", "https://t.me/ana", "-", "0", "-0", "007", "--1", "-1001:topic:x", "-1001:-7", "1.5", "٤٢"],
)
def test_a_name_is_no_target(text: str) -> None:
    with pytest.raises(TargetError, match="Accepted: -1001"):
        read("telegram", text)
    with pytest.raises(TargetError):
        read("telegram", text, kind=ChatKind.GROUP)


@pytest.mark.parametrize("text", ["user:-1001", "dm:-1001", "group:42", "telegram:group:42:topic:7"])
def test_what_is_meant_for_one_is_not_sent_to_many_nor_the_reverse(text: str) -> None:
    with pytest.raises(TargetError, match=r"by the prefix .* by its id"):
        read("telegram", text)


@for_each(
    ("text", "ours", "theirs"),
    [
        ("@ana", None, ("direct", "@ana")),
        ("-1001:topic:x", None, ("direct", "-1001:topic:x")),
        ("user:42", ("direct", "42"), ("direct", "user")),
        ("group:-1001", ("group", "-1001"), ("direct", "group:-1001")),
        ("telegram:group:42", None, ("direct", "42")),
        ("telegram:group:tg:-1001", None, ("group", "-1001")),
    ],
)
def test_unlike_upstream_only_numbers_are_targets(
    text: str, ours: tuple[str, str] | None, theirs: tuple[str, str]
) -> None:
    assert seen("telegram", text, MARCH) == theirs
    assert seen_or_none("telegram", text) == ours


def test_upstream_asks_a_directory_what_a_name_is() -> None:
    assert seen("telegram", "@grp", MARCH, kind=ChatKind.CHANNEL) == ("group", "@grp")
    assert seen("telegram", "@grp", MARCH, kind=ChatKind.DIRECT) == ("direct", "@grp")
    assert seen("telegram", "-1001", MARCH, kind=ChatKind.DIRECT) == ("group", "-1001")
    with pytest.raises(TargetError):
        read("telegram", "telegram:", MARCH)


# ---------------------------------------------------------------- topics


@pytest.mark.parametrize("target", ["-1001:topic:7", "-1001:7"])
def test_a_topic_is_the_same_however_it_is_named(target: str) -> None:
    whole = route("telegram", target)
    assert whole.address == route("telegram", "-1001", thread="7").address
    assert route("telegram", "-1001", thread="-1001:topic:7").address == whole.address
    assert (whole.address.conversation, whole.address.thread) == ("-1001", "7")
    assert str(whole.key) == "main:telegram:default:group:-1001:topic:7"
    assert (whole.peer, whole.to, whole.sender) == (
        "-1001:topic:7",
        "telegram:-1001:topic:7",
        "telegram:group:-1001:topic:7",
    )


def test_the_topic_of_the_target_comes_before_the_thread() -> None:
    for profile in Profile:
        assert route("telegram", "-1001:topic:7", profile, thread="8").address.thread == "7"


def test_topics_of_direct_conversations_agree_with_inbound_messages() -> None:
    said = TelegramMessage(chat_id=42, chat_type="private", sender_id=42, thread_id=99, is_topic=True)
    place = read_inbound(said, "default").address
    found = route("telegram", "42", thread="99")
    assert found.address == place
    assert str(found.key) == inbound_key(place) == "main:telegram:default:direct:42:topic:99"
    assert (found.to, found.sender, found.peer) == ("telegram:42:topic:99", "telegram:42:topic:99", "42")


def test_unlike_upstream_in_march_a_direct_topic_has_one_key_in_both_directions() -> None:
    said = TelegramMessage(chat_id=42, chat_type="private", sender_id=42, thread_id=99)
    inbound = inbound_key(read_theirs(said, "default").address, MARCH)
    assert inbound == "agent:main:telegram:direct:42:thread:42:99"
    assert key("telegram", "42", MARCH, thread="99") == "agent:main:telegram:direct:42:thread:99"
    assert key("telegram", "42", AUGUST, thread="99") == inbound


def test_unlike_upstream_general_is_the_group_itself() -> None:
    assert route("telegram", "-1001:topic:1").address == route("telegram", "-1001").address
    assert route("telegram", "-1001", thread="1").to == "telegram:-1001"
    assert route("telegram", "42", thread="1").address.thread == "1"
    assert key("telegram", "-1001", MARCH, thread="1") == "agent:main:telegram:group:-1001:topic:1"


def test_a_person_who_writes_to_a_channel_has_one_key_in_both_directions() -> None:
    said = TelegramMessage(chat_id=-1001, chat_type="supergroup", sender_id=42, direct_topic=55)
    place = read_inbound(said, "default").address
    for profile in Profile:
        written = rules_under(profile, "telegram").write(place).target
        assert route("telegram", "-1001:topic:dm55", profile).address.thread == "dm55"
        assert key("telegram", "-1001", profile, thread="dm55") == inbound_key(place, profile)
        assert key("telegram", written, profile) == inbound_key(place, profile)
    assert inbound_key(place) == "main:telegram:default:group:-1001:topic:dm55"
    assert route("telegram", "-1001:DM055").address == place


def test_zero_is_no_topic() -> None:
    assert route("telegram", "-1001:topic:0").address.thread is None
    assert route("telegram", "-1001", thread="0").address.thread is None
    for profile in (MARCH, AUGUST):
        found = route("telegram", "-1001", profile, thread="0")
        assert (found.peer, found.thread_id, found.key.thread) == ("-1001", 0, None)


@pytest.mark.parametrize("thread", ["x", "7x", "-7", "-1002:7", "1.5"])
def test_unlike_upstream_a_thread_that_is_no_topic_of_the_chat_is_an_error(thread: str) -> None:
    with pytest.raises(TargetError, match="is not a topic of -1001"):
        route("telegram", "-1001", thread=thread)
    assert route("telegram", "-1001", MARCH, thread="x").thread_id is None
    assert route("telegram", "-1001", MARCH, thread="-1002:7").thread_id == 7


def test_upstream_reports_numbers_and_in_march_keeps_topics_out_of_to() -> None:
    march, august = (route("telegram", "-1001", profile, thread="007") for profile in (MARCH, AUGUST))
    assert (march.thread_id, march.to) == (7, "telegram:-1001")
    assert (august.thread_id, august.to) == (7, "telegram:-1001:topic:7")
    assert route("telegram", "-1001", thread="007").thread_id == "7"


def test_upstream_has_the_topic_of_a_group_in_the_base_key_and_that_of_a_user_behind_it() -> None:
    group, user = route("telegram", "-1001", MARCH, thread="7"), route("telegram", "42", MARCH, thread="7")
    assert group.base == group.key
    assert (user.base.thread, user.key.thread) == (None, ("thread", "7"))
    config = GatewayConfig.model_validate({"profile": AUGUST, "session": {"group_scope": "main"}})
    assert route("telegram", "-1001", config=config, thread="7").key.is_main


def test_a_reply_is_no_topic() -> None:
    for profile in Profile:
        assert route("telegram", "-1001", profile, reply_to="7").address.thread is None


@for_each(
    ("target", "here", "thread"),
    [
        ("-1001", "-1001", "7"),
        ("-1001", "telegram:-1001", "7"),
        ("telegram:-1001", "TG:group:-1001:topic:7", "7"),
        ("-1002", "-1001", None),
        ("-1001:topic:8", "-1001", "8"),
        ("-1001", None, None),
    ],
)
@for_each("profile", list(Profile))
def test_a_send_to_the_chat_at_hand_stays_in_its_topic(
    target: str, here: str | None, thread: str | None, profile: Profile
) -> None:
    found = route("telegram", target, profile, current=CurrentConversation(conversation=here, thread="7"))
    assert found.address.thread == thread
    assert (
        route(
            "telegram", "-1001", profile, current=CurrentConversation(conversation="-1001", thread="7"), reply_to="5"
        ).peer
        == "-1001"
    )


# ---------------------------------------------------------------- inbound


def said(chat_type: str = "supergroup", **fields: Any) -> TelegramMessage:
    whole = {"chat_id": 42 if chat_type == "private" else -1001, "chat_type": chat_type, "sender_id": 42, **fields}
    return TelegramMessage(**whole)


@pytest.mark.parametrize("chat_type", ["group", "supergroup", "channel"])
def test_groups_and_channels_are_groups_by_their_number(chat_type: str) -> None:
    place = read_inbound(said(chat_type), "work").address
    assert (place.account, place.kind, place.conversation, place.thread) == ("work", ChatKind.GROUP, "-1001", None)


def test_a_direct_conversation_goes_by_its_sender_else_by_its_chat() -> None:
    for place_of in (read_inbound, read_theirs):
        assert place_of(said("private", chat_id=7), "default").address.conversation == "42"
        assert place_of(said("private", chat_id=7, sender_id=None), "default").address.conversation == "7"


def test_upstream_names_the_chat_in_the_key_of_a_direct_topic() -> None:
    place = read_theirs(said("private", chat_id=7, thread_id=99), "default").address
    assert inbound_key(place, MARCH) == "agent:main:telegram:direct:42:thread:7:99"
    assert place.thread == "99"


@for_each(
    ("fields", "thread", "threaded"),
    [
        ({"is_forum": True, "thread_id": 7}, "7", True),
        ({"is_forum": True, "thread_id": 7, "is_topic": True}, "7", True),
        ({"thread_id": 7, "is_topic": True}, "7", True),
        ({"is_forum": True, "thread_id": 7, "is_topic": False}, None, False),
        ({"thread_id": 7}, None, False),
        ({"is_forum": True, "thread_id": 1, "is_topic": True}, None, True),
        ({"is_forum": True}, None, True),
        ({}, None, True),
        ({"chat_type": "private", "thread_id": 7}, None, False),
        ({"chat_type": "private", "thread_id": 7, "is_topic": True}, "7", True),
    ],
)
def test_only_topics_are_threads(fields: dict[str, Any], thread: str | None, threaded: bool) -> None:
    found = read_inbound(said(**fields), "default")
    assert (found.address.thread, found.message_thread, found.threaded) == (thread, thread, threaded)


@pytest.mark.parametrize(
    ("fields", "topic"),
    [
        ({"is_forum": True}, "1"),
        ({"is_forum": True, "thread_id": 1}, "1"),
        ({"is_forum": True, "thread_id": "7"}, "7"),
        ({"thread_id": 7}, None),
        ({"chat_type": "private", "thread_id": 7}, "7"),
    ],
)
def test_unlike_upstream_chains_of_answers_are_no_topics_and_general_is_none(
    fields: dict[str, Any], topic: str | None
) -> None:
    assert read_theirs(said(**fields), "default").address.thread == topic


def test_upstream_isolates_direct_conversations_of_named_accounts() -> None:
    private = said("private")
    assert read_theirs(private, "work").isolates
    assert not read_theirs(private, "default").isolates
    assert not hasattr(read_inbound(private, "work"), "isolates")
    assert not read_theirs(said(), "work").isolates


def test_an_answer_hangs_on_the_message() -> None:
    assert read_inbound(said(message_id=5), "default").reply_to == "5"
    assert read_inbound(said(), "default").reply_to is None


def test_a_topic_in_a_key_is_distinguished_from_a_thread() -> None:
    place = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-1001", thread="7")
    assert rules_for("telegram").key_thread(place) == ("topic", "7")
    assert rules_under(MARCH, "telegram").key_thread(place) == ("topic", "7")
