"""iMessage and BlueBubbles."""

import pytest

from tests.support.channel_cases import AUGUST, MARCH, UUID, ends, key, read, seen
from tests.support.for_each import for_each
from trunkline.core.errors import TargetError
from trunkline.core.values import ChatKind


@for_each(
    ("text", "expected"),
    [
        ("+1 555 123 4567", "direct +15551234567"),
        ("SMS:auto:+15551234567", "direct +15551234567"),
        ("user:Ana@Example.com", "direct Ana@Example.com"),
        ("22000", "direct 22000"),
        ("chat_id:42", "group 42"),
        ("ChatID:42", "group 42"),
        ("chat:42", "group 42"),
        ("sms:chatguid:iMessage;+;chat9", "group iMessage;+;chat9"),
        ("guid:ABC123", "group ABC123"),
        ("chatident:chatABC", "group chatABC"),
        ("chatIdentifier:chatABC", "group chatABC"),
        ("chat123456", "group chat123456"),
        ("iMessage;+;chat9", "group iMessage;+;chat9"),
        ("group:XYZ", "group XYZ"),
        ("room:chat_id:9", "group 9"),
        ("0123456789abcdef0123456789abcdef", "group 0123456789abcdef0123456789abcdef"),
        (UUID, f"group {UUID}"),
        ("chat_id:42abc", "refused"),
        ("chat:ops", "refused"),
        ("hello", "refused"),
        ("a@b@c", "refused"),
        ("group:+15551234567", "refused"),
    ],
)
@for_each("channel", ["imessage", "bluebubbles"])
def test_apple_channels_read(channel: str, text: str, expected: str) -> None:
    assert seen(channel, text) == expected


@pytest.mark.parametrize("channel", ["imessage", "bluebubbles"])
def test_guid_and_identifier_of_a_chat_have_one_key_unlike_upstream(channel: str) -> None:
    forms = ("chat_guid:iMessage;+;chatA9", "any;+;chatA9", "chat_identifier:chatA9")
    assert {key(channel, form) for form in forms} == {(ChatKind.GROUP, "chatA9")}
    both = ("chat_guid:iMessage;+;chatA9", "chat_identifier:chatA9")
    assert len({key(channel, form, MARCH) for form in both}) == 2


@pytest.mark.parametrize("channel", ["imessage", "bluebubbles"])
def test_a_chat_with_one_person_is_direct_unlike_upstream(channel: str) -> None:
    forms = ("+15551234567", "chat_guid:iMessage;-;+15551234567", "SMS;-;+15551234567", "chat_identifier:+15551234567")
    assert {key(channel, form) for form in forms} == {(ChatKind.DIRECT, "+15551234567")}
    assert read(channel, forms[1], MARCH).kind is ChatKind.GROUP


@pytest.mark.parametrize("channel", ["imessage", "bluebubbles"])
def test_apple_channels_fold_handles_and_no_chats(channel: str) -> None:
    assert key(channel, "Ana@Example.com") == (ChatKind.DIRECT, "ana@example.com")
    assert key(channel, "chat_guid:iMessage;+;chatABC") == (ChatKind.GROUP, "chatABC")
    assert key(channel, "chat_guid:ABC", MARCH) == key(channel, "chat_guid:ABC", AUGUST) == (ChatKind.GROUP, "abc")


def test_imessage_handle_without_digits_is_refused_unlike_upstream() -> None:
    assert seen("imessage", "hello", MARCH) == "direct +"
    with pytest.raises(TargetError, match="neither a phone number with its country nor a mail address"):
        read("imessage", "hello")


def test_imessage_numbers_of_services_have_no_country_unlike_upstream() -> None:
    assert seen("imessage", "22000", MARCH) == "direct +22000"
    assert seen("imessage", "22000") == "direct 22000"


def test_imessage_to_says_what_the_id_is() -> None:
    assert ends("imessage", "sms:Ana@Example.com") == ("imessage:Ana@Example.com",) * 2
    assert ends("imessage", "chat_id:42") == ("imessage:group:42", "chat_id:42")
    assert ends("imessage", "guid:iMessage;+;chat9")[1] == "chat_guid:iMessage;+;chat9"
    assert ends("imessage", "guid:ABC") == ("imessage:group:ABC", "chat_identifier:ABC")


@for_each(
    ("text", "expected", "to"),
    [
        ("Chat:42", "group 42", "chat_id:42"),
        ("chatid: 042 of all", "group 42", "chat_id:42"),
        ("SMS:ChatGuid:A;b", "group A;b", "chat_guid:A;b"),
        ("auto:chatident:X", "group X", "chat_identifier:X"),
        ("chatidentifier:X", "group X", "chat_identifier:X"),
        ("guid:iMessage;-;+1555", "group iMessage;-;+1555", "chat_guid:iMessage;-;+1555"),
        ("auto:sms:A@B.c", "direct a@b.c", "imessage:a@b.c"),
        ("chat123", "direct +123", "imessage:+123"),
    ],
)
def test_imessage_upstream_reads(text: str, expected: str, to: str) -> None:
    assert seen("imessage", text, MARCH) == seen("imessage", text, AUGUST) == expected
    assert ends("imessage", text, MARCH)[1] == to


@for_each("text", ["chat_id:ops", "chat:", "chat_guid:", "chatident:", "imessage:", "sms: "])
def test_imessage_upstream_refuses_what_is_empty(text: str) -> None:
    assert seen("imessage", text, MARCH) == "refused"


def test_bluebubbles_normalises_handles_unlike_upstream() -> None:
    assert seen("bluebubbles", "SMS:+1 555", MARCH) == "direct +1 555"
    assert ends("bluebubbles", "SMS:+1 555", MARCH) == ("bluebubbles:+1 555", "bluebubbles:SMS:+1 555")
    assert seen("bluebubbles", "SMS:+1 555") == "direct +1555"
    assert ends("bluebubbles", "SMS:+1 555") == ("bluebubbles:+1555", "bluebubbles:+1555")


def test_bluebubbles_knows_all_words_for_chats_unlike_upstream() -> None:
    for text in ("chat:42", "guid:42", "chatident:42", "chat42"):
        assert read("bluebubbles", text).kind is ChatKind.GROUP
        assert seen("bluebubbles", text, MARCH) == f"direct {text}"


def test_bluebubbles_from_and_to_name_the_platform_unlike_upstream() -> None:
    assert ends("bluebubbles", "chat_guid:A;+;b") == ("bluebubbles:group:A;+;b", "bluebubbles:chat_guid:A;+;b")
    assert ends("bluebubbles", "chat_guid:A;+;b", MARCH) == ("group:A;+;b", "bluebubbles:chat_guid:A;+;b")


def test_bluebubbles_upstream_strips_both_words_from_the_peer_and_none_from_to() -> None:
    text = "BlueBubbles:Group:Chat_ID:9"
    assert seen("bluebubbles", text, MARCH) == "group 9"
    assert ends("bluebubbles", text, MARCH) == ("group:9", "bluebubbles:Group:Chat_ID:9")
    assert seen("bluebubbles", "user:+1555", MARCH) == "direct user:+1555"
    assert seen("bluebubbles", "group:", MARCH) == "refused"
