"""WhatsApp, Signal, and what all channels have in common."""

import pytest

from tests.support.channel_cases import AUGUST, MARCH, RULES, UUID, ends, key, read, seen
from tests.support.for_each import for_each
from trunkline.core.channels import rules_for
from trunkline.core.errors import TargetError
from trunkline.core.values import ChatKind

# ---------------------------------------------------------------- all of them


@for_each("text", ["", "  ", "\n", "+1555\x00", "user:\u2028x", "a\ud800"])
@for_each("channel", RULES)
def test_blank_and_unreadable_texts_are_refused(channel: str, text: str) -> None:
    with pytest.raises(TargetError, match=f"on {channel}: .*Accepted: "):
        read(channel, text)


@for_each(
    ("channel", "text", "understood"),
    [
        ("whatsapp", "whatsapp:", "a user (by the prefix whatsapp:)"),
        ("whatsapp", "group:", "a group (by the prefix group:)"),
        ("signal", "group: ", "a group (by the prefix group:)"),
        ("signal", "username:", "a user (by the prefix username:)"),
        ("imessage", "sms:", "a user (by the prefix imessage:)"),
        ("imessage", "chat_guid:", "a group (by the prefix chat_guid:)"),
        ("bluebubbles", "bluebubbles:group:", "a group (by the prefix group:)"),
        ("bluebubbles", "chat:", "a group (by the prefix chat_id:)"),
        ("nextcloud-talk", "nc:room:", "a group (by the prefix room:)"),
        ("zalo", "group:", "a group (by the prefix group:)"),
        ("zalouser", "u:", "a user (by the prefix u:)"),
        ("nostr", "nostr:", "a user"),
        ("tlon", "room:", "a group (by the prefix room:)"),
        ("tlon", "dm/", "a user (by the prefix dm:)"),
        ("msteams", "teams:user:", "a user (by the prefix user:)"),
        ("msteams", "channel:;messageid=1", "a channel (by the prefix channel:)"),
    ],
)
def test_a_prefix_without_an_id_is_named_in_the_error(channel: str, text: str, understood: str) -> None:
    with pytest.raises(TargetError) as caught:
        read(channel, text)
    assert f"it was understood as {understood}" in str(caught.value)
    assert "there is no id" in str(caught.value)


@pytest.mark.parametrize("channel", ["whatsapp", "imessage", "bluebubbles", "tlon", "msteams"])
def test_what_is_called_one_person_is_never_sent_to_many(channel: str) -> None:
    group = {
        "whatsapp": "1203630400@g.us",
        "imessage": "iMessage;+;chat1",
        "bluebubbles": "chat123",
        "tlon": "~zod/main",
        "msteams": "19:x@thread.v2",
    }[channel]
    assert seen(channel, group) == seen(channel, f"group:{group}") == seen(channel, f"channel:{group}")
    with pytest.raises(TargetError, match="with one person, by its id one with several people"):
        read(channel, f"user:{group}")


# ---------------------------------------------------------------- WhatsApp


@for_each(
    ("text", "expected"),
    [
        ("+1 (555) 123-4567", "direct +15551234567"),
        ("15551234567@S.WhatsApp.net", "direct 15551234567@s.whatsapp.net"),
        ("15551234567:3@s.whatsapp.net", "direct 15551234567@s.whatsapp.net"),
        ("120363040000000000@G.US", "group 120363040000000000@g.us"),
        ("4915112345-1600000000@g.us", "group 4915112345-1600000000@g.us"),
        ("group:120363040000000000", "group 120363040000000000@g.us"),
        ("dm:+15551234567", "direct +15551234567"),
        ("someone@example.org", "refused"),
        ("status@broadcast", "refused"),
        ("@g.us", "refused"),
        ("hello", "refused"),
        ("group:+15551234567", "refused"),
    ],
)
def test_whatsapp_reads(text: str, expected: str) -> None:
    assert seen("whatsapp", text) == expected


def test_whatsapp_number_and_jid_of_a_person_have_one_key() -> None:
    forms = ("+1 555 1234567", "15551234567@s.whatsapp.net", "15551234567:12@s.whatsapp.net", "15551234567@c.us")
    assert {key("whatsapp", form) for form in forms} == {(ChatKind.DIRECT, "+15551234567")}


def test_whatsapp_keeps_jids_unlike_upstream() -> None:
    assert seen("whatsapp", "15551234567:3@s.whatsapp.net", MARCH) == "direct +15551234567"
    assert seen("whatsapp", "15551234567:3@s.whatsapp.net") == "direct 15551234567@s.whatsapp.net"


def test_whatsapp_hidden_id_is_no_number_unlike_upstream() -> None:
    assert key("whatsapp", "123@lid", MARCH) == (ChatKind.DIRECT, "+123")
    assert key("whatsapp", "123@lid") == (ChatKind.DIRECT, "123@lid")
    assert seen("whatsapp", "123:4@lid", MARCH) == "refused"


def test_whatsapp_newsletters_and_old_jids_are_known_unlike_upstream() -> None:
    assert seen("whatsapp", "120363@newsletter", MARCH) == seen("whatsapp", "1555@c.us", MARCH) == "refused"
    assert seen("whatsapp", "120363@newsletter") == "channel 120363@newsletter"
    assert seen("whatsapp", "1555@c.us") == "direct 1555@c.us"


def test_whatsapp_digits_of_a_group_are_no_number_unlike_upstream() -> None:
    assert seen("whatsapp", "120363040000000000", MARCH) == "direct +120363040000000000"
    assert seen("whatsapp", "120363040000000000") == "refused"


@for_each(
    ("text", "expected"),
    [
        ("WhatsApp: whatsapp:+1 555", "direct +1555"),
        ("group:120", "direct +120"),
        ("123-456@G.US", "group 123-456@g.us"),
        ("ask 4 two 2", "direct +42"),
        ("no digits", "refused"),
        ("x@g.us", "refused"),
    ],
)
def test_whatsapp_upstream_makes_a_number_of_what_is_no_group(text: str, expected: str) -> None:
    assert seen("whatsapp", text, MARCH) == seen("whatsapp", text, AUGUST) == expected


# ---------------------------------------------------------------- Signal


@for_each(
    ("text", "expected"),
    [
        ("+1 555 000 1111", "direct +15550001111"),
        ("user:+15550001111", "direct +15550001111"),
        (UUID, f"direct {UUID}"),
        (f"UUID:{UUID.upper()}", f"direct {UUID.upper()}"),
        (UUID.replace("-", ""), f"direct {UUID}"),
        (f"dm:uuid:{UUID}", f"direct {UUID}"),
        ("GROUP:AbC==", "group AbC=="),
        ("uuid:hello", "refused"),
        ("uuid:+15550001111", "refused"),
        ("username:alice", "refused"),
        ("alice", "refused"),
        ("AbC==", "refused"),
    ],
)
def test_signal_reads(text: str, expected: str) -> None:
    assert seen("signal", text) == expected


def test_signal_directory_knows_a_group() -> None:
    assert seen("signal", "AbC==", kind=ChatKind.GROUP) == "group AbC=="


def test_signal_username_stays_one_unlike_upstream() -> None:
    for text in ("username:alice.01", "u:alice.01", "alice.01", "user:u:alice.01"):
        assert seen("signal", text) == "direct username:alice.01"
    assert seen("signal", "username:alice.01", MARCH) == seen("signal", "u:alice.01", MARCH) == "direct +01"
    assert ends("signal", "u:Alice.01") == ("signal:username:Alice.01", "signal:username:Alice.01")
    assert key("signal", "u:Alice.01") == key("signal", "alice.01")


def test_signal_uuid_has_no_mark_in_keys_unlike_upstream() -> None:
    assert key("signal", f"uuid:{UUID.upper()}") == key("signal", UUID) == (ChatKind.DIRECT, UUID)
    assert key("signal", UUID, MARCH) == (ChatKind.DIRECT, f"uuid:{UUID}")
    # An adapter that marks them all the same gives the same key.
    assert rules_for("signal").fold(ChatKind.DIRECT, f"uuid:{UUID}") == UUID


def test_signal_groups_keep_their_case_unlike_upstream_in_march() -> None:
    assert key("signal", "group:AbC==", MARCH) == (ChatKind.GROUP, "abc==")
    assert key("signal", "group:AbC==", AUGUST) == key("signal", "group:AbC==") == (ChatKind.GROUP, "AbC==")


def test_signal_from_of_a_group_names_the_platform_unlike_upstream() -> None:
    assert ends("signal", "group:AbC==", MARCH) == ("group:AbC==", "group:AbC==")
    assert ends("signal", "group:AbC==") == ("signal:group:AbC==", "group:AbC==")


@pytest.mark.parametrize("text", [UUID, f"uuid:{UUID}", f"u:{UUID}", f"signal:username:UUID:{UUID}"])
def test_signal_upstream_marks_uuids_in_the_peer_only(text: str) -> None:
    assert seen("signal", text, MARCH) == f"direct uuid:{UUID}"
    assert ends("signal", text, MARCH) == (f"signal:{UUID}", f"signal:{UUID}")


def test_signal_upstream_makes_a_number_of_what_is_no_uuid() -> None:
    assert seen("signal", "uuid:hello", MARCH) == seen("signal", "alice", MARCH) == "direct +"
    assert seen("signal", "deadbeef", MARCH) == "direct uuid:deadbeef"
    assert seen("signal", "group:", MARCH) == seen("signal", "signal:", MARCH) == "refused"


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("channel", "limit"),
    [("whatsapp", 4096), ("signal", 2000), ("nextcloud-talk", 32_000), ("zalo", 2000), ("zalouser", 2000)],
)
def test_text_limits(channel: str, limit: int) -> None:
    assert RULES[channel].text_limit == limit
