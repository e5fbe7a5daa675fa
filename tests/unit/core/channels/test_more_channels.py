"""Ten channels: what our own rules read and write, and which quirks of upstream its profiles keep.

A test whose name says `unlike upstream` states a difference of the default profile, both sides of it.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.channels import ChannelRules, Hints, ParsedTarget
from trunkline.core.channels.platforms import (
    bluebubbles,
    imessage,
    msteams,
    nextcloud_talk,
    nostr,
    signal,
    tlon,
    whatsapp,
    zalo,
    zalouser,
)
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.profiles import Profile
from trunkline.core.values import Address, ChatKind

OURS, MARCH, AUGUST = Profile.TRUNKLINE, Profile.OPENCLAW, Profile.OPENCLAW_2026_08
RULES: dict[str, ChannelRules] = {
    module.RULES.channel: module.RULES
    for module in (
        *(whatsapp, signal, imessage, bluebubbles, nextcloud_talk),
        *(zalo, zalouser, nostr, tlon, msteams),
    )
}
UUID = "123e4567-e89b-12d3-a456-426614174000"
#: the pair in the document that defines npub (NIP-19)
NPUB = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"
HEX = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"


def read(channel: str, text: str, profile: Profile = OURS, kind: ChatKind | None = None) -> ParsedTarget:
    return RULES[channel].read(text, Hints(profile=profile, kind=kind))


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
    return found.kind, RULES[channel].fold(found.kind, found.id, profile)


def ends(channel: str, text: str, profile: Profile = OURS) -> tuple[str, str]:
    """From and To."""
    rules = RULES[channel]
    placed = rules.place(rules.read(text, Hints(profile=profile)), None, None, profile)
    return placed.sender, placed.to


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("text", ["", "  ", "\n", "+1555\x00", "user:\u2028x", "a\ud800"])
@pytest.mark.parametrize("channel", RULES)
def test_blank_and_unreadable_texts_are_refused(channel: str, text: str) -> None:
    with pytest.raises(TargetError, match=f"on {channel}: .*Accepted: "):
        read(channel, text)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


def test_signal_directory_tells_a_group() -> None:
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
    assert signal.RULES.fold(ChatKind.DIRECT, f"uuid:{UUID}") == UUID


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


# ---------------------------------------------------------------- iMessage and BlueBubbles


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("channel", ["imessage", "bluebubbles"])
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["chat_id:ops", "chat:", "chat_guid:", "chatident:", "imessage:", "sms: "])
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


# ---------------------------------------------------------------- Nextcloud Talk


@pytest.mark.parametrize(
    "front", ["", "room:", "NC:", "nc-talk:Room:", "nextcloud-talk:nc:room:", "group:", "channel:"]
)
def test_nextcloud_talk_reads_rooms(front: str) -> None:
    assert seen("nextcloud-talk", f"{front}TokX") == "group TokX"


def test_nextcloud_talk_tokens_keep_their_case_unlike_upstream() -> None:
    assert key("nextcloud-talk", "TokX", MARCH) == (ChatKind.GROUP, "tokx")
    assert key("nextcloud-talk", "TokX") == (ChatKind.GROUP, "TokX")


def test_nextcloud_talk_has_conversations_with_one_person_unlike_upstream() -> None:
    assert seen("nextcloud-talk", "user:ana", MARCH) == "group user:ana"
    assert seen("nextcloud-talk", "user:ana") == seen("nextcloud-talk", "dm:ana") == "direct ana"
    assert seen("nextcloud-talk", "tok1", kind=ChatKind.DIRECT) == "direct tok1"
    assert ends("nextcloud-talk", "user:ana") == ("nextcloud-talk:user:ana",) * 2


def test_nextcloud_talk_to_says_room_unlike_upstream() -> None:
    assert ends("nextcloud-talk", "nc:tok1", MARCH) == ("nextcloud-talk:room:tok1", "nextcloud-talk:tok1")
    assert ends("nextcloud-talk", "nc:tok1") == ("nextcloud-talk:room:tok1", "nextcloud-talk:room:tok1")


def test_nextcloud_talk_name_of_a_room_is_no_token_unlike_upstream() -> None:
    assert seen("nextcloud-talk", "Ops Room", MARCH) == "group Ops Room"
    with pytest.raises(TargetError, match="'Ops Room' is no token"):
        read("nextcloud-talk", "Ops Room")


@pytest.mark.parametrize("text", ["NC:", "room:", "nc-talk:room: "])
def test_nextcloud_talk_upstream_refuses_what_is_empty(text: str) -> None:
    assert seen("nextcloud-talk", text, MARCH) == "refused"


# ---------------------------------------------------------------- Zalo and Zalo Personal


@pytest.mark.parametrize("channel", ["zalo", "zalouser"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("123", "direct 123"),
        ("User:123", "direct 123"),
        ("dm:123", "direct 123"),
        ("group:123", "group 123"),
        ("ROOM:123", "group 123"),
        ("channel:123", "refused"),
        ("group:a b", "refused"),
        ("group:user:1", "refused"),
    ],
)
def test_zalo_reads(channel: str, text: str, expected: str) -> None:
    assert seen(channel, text) == expected


@pytest.mark.parametrize("channel", ["zalo", "zalouser"])
def test_zalo_directory_tells_only_where_the_text_does_not(channel: str) -> None:
    assert seen(channel, "123", kind=ChatKind.GROUP) == "group 123"
    assert seen(channel, "123", kind=ChatKind.DIRECT) == "direct 123"
    assert seen(channel, "user:123", kind=ChatKind.GROUP) == "direct 123"


@pytest.mark.parametrize("channel", ["zalo", "zalouser"])
def test_zalo_to_tells_groups_from_people_unlike_upstream(channel: str) -> None:
    assert ends(channel, "group:5", MARCH) == (f"{channel}:group:5", f"{channel}:5")
    assert ends(channel, "5", MARCH) == (f"{channel}:5", f"{channel}:5")
    assert ends(channel, "group:5") == (f"{channel}:group:5", "group:5")
    assert ends(channel, "5") == (f"{channel}:5", "user:5")


@pytest.mark.parametrize(("channel", "short"), [("zalo", "zl"), ("zalouser", "zlu")])
def test_zalo_upstream_strips_each_name_once_and_in_order(channel: str, short: str) -> None:
    assert seen(channel, f"{channel.upper()}:{short}:room:5", MARCH) == "direct 5"
    assert seen(channel, f"{short}:{channel}:5", MARCH) == f"direct {channel}:5"
    assert seen(channel, f"{short}:{channel}:5") == "direct 5"
    assert seen(channel, f"{channel}: {short}:", MARCH) == "refused"


@pytest.mark.parametrize("channel", ["zalo", "zalouser"])
def test_zalo_without_an_id_is_refused_unlike_upstream(channel: str) -> None:
    assert key(channel, "group:", MARCH) == (ChatKind.GROUP, "unknown")
    assert key(channel, "user:", MARCH) == (ChatKind.DIRECT, "unknown")
    assert ends(channel, "group:", MARCH) == (f"{channel}:group:", f"{channel}:")
    assert seen(channel, "group:") == seen(channel, "user:") == "refused"


def test_zalo_personal_knows_short_words_and_marked_ids_unlike_upstream() -> None:
    for text, ours in (("g:5", "group 5"), ("u:5", "direct 5"), ("g-5", "group g-5"), ("u-5", "direct u-5")):
        assert seen("zalouser", text, MARCH) == f"direct {text}"
        assert seen("zalouser", text) == ours
    assert seen("zalouser", "user:g-5") == "direct g-5"
    assert seen("zalo", "g:5") == "refused"


# ---------------------------------------------------------------- Nostr


def test_nostr_spellings_of_a_key_have_one_session_key_unlike_upstream() -> None:
    forms = (NPUB, NPUB.upper(), HEX, HEX.upper(), f"nostr:{NPUB}", f"NOSTR:user:{HEX}")
    assert {key("nostr", form) for form in forms} == {(ChatKind.DIRECT, HEX)}
    assert key("nostr", NPUB, MARCH) != key("nostr", HEX, MARCH)


def test_nostr_keeps_the_spelling_in_from_and_to() -> None:
    assert ends("nostr", NPUB) == (f"nostr:{NPUB}", f"nostr:{NPUB}")
    assert ends("nostr", HEX.upper()) == (f"nostr:{HEX.upper()}",) * 2


@pytest.mark.parametrize("text", ["npub1example", NPUB[:-1], NPUB[:-1] + "h", HEX[:-1], "nsec1" + NPUB[5:], "ana"])
def test_nostr_mistyped_key_is_refused_unlike_upstream(text: str) -> None:
    assert seen("nostr", text, MARCH) == f"direct {text}"
    with pytest.raises(TargetError, match="understood as a public key, and it is mistyped"):
        read("nostr", text)


@given(st.integers(0, len(NPUB) - 6), st.sampled_from("qpzry9x8gf2tvdw0s3jn54khce6mua7l"))
def test_nostr_checksum_notices_one_wrong_letter(at: int, letter: str) -> None:
    typed = NPUB[: at + 5] + letter + NPUB[at + 6 :]
    assert nostr.key_of(typed) == (HEX if typed == NPUB else None)


def test_nostr_ids_that_are_no_keys_are_folded_all_the_same() -> None:
    assert nostr.RULES.fold(ChatKind.DIRECT, "npub1ABC") == "npub1abc"


# ---------------------------------------------------------------- Tlon


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sampel-palnet", "direct ~sampel-palnet"),
        ("~Zod", "direct ~zod"),
        ("dm:zod", "direct ~zod"),
        ("DM/~zod", "direct ~zod"),
        ("group:zod/main", "group chat/~zod/main"),
        ("group/~zod/main", "group chat/~zod/main"),
        ("room/chat/~zod/main", "group chat/~zod/main"),
        ("~zod/main", "group chat/~zod/main"),
        ("Chat/~zod/main", "group chat/~zod/main"),
        ("heap/~zod/links", "group heap/~zod/links"),
        ("~dabnev-nisseb-nomlec-sormug", "direct ~dabnev-nisseb-nomlec-sormug"),
        ("~not a ship", "refused"),
        ("~sampelpalnet", "refused"),
        ("~zod-nec", "refused"),
        ("chat/~somebody/main", "refused"),
        ("chat/~zod", "refused"),
        ("mail/~zod/main", "refused"),
        ("chat/~zod/main/1", "refused"),
        ("room:main", "refused"),
        ("group:~zod", "refused"),
    ],
)
def test_tlon_reads(text: str, expected: str) -> None:
    assert seen("tlon", text) == expected


def test_tlon_refuses_what_is_no_ship_unlike_upstream() -> None:
    assert seen("tlon", "not a ship", MARCH) == "direct ~not a ship"
    with pytest.raises(TargetError, match="'hello' is not the name of a ship"):
        read("tlon", "hello")


def test_tlon_word_may_be_followed_by_a_slash_unlike_upstream() -> None:
    assert seen("tlon", "dm/zod", MARCH) == "group chat/~dm/zod"
    assert seen("tlon", "group/~zod/main", MARCH) == "direct group/~zod/main"
    assert seen("tlon", "dm/zod") == "direct ~zod"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TLON:DM:~zod", "direct ~zod"),
        ("host/chan", "group chat/~host/chan"),
        ("Room:host//chan/", "group chat/~host/chan"),
        ("group:chat/~zod/main", "group chat/~zod/main"),
        ("group:main", "group main"),
        ("CHAT/~zod/Main", "group CHAT/~zod/Main"),
        ("a/b/c", "direct a/b/c"),
        ("tlon:", "refused"),
    ],
)
def test_tlon_upstream_reads(text: str, expected: str) -> None:
    assert seen("tlon", text, MARCH) == seen("tlon", text, AUGUST) == expected


def test_tlon_without_an_id_is_refused_unlike_upstream() -> None:
    assert key("tlon", "group:", MARCH) == (ChatKind.GROUP, "unknown")
    assert key("tlon", "dm:", MARCH) == (ChatKind.DIRECT, "unknown")
    assert seen("tlon", "group:") == seen("tlon", "dm:") == "refused"


# ---------------------------------------------------------------- Teams


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user:29:1aB", "direct 29:1aB"),
        ("29:1aB", "direct 29:1aB"),
        ("user:ana@example.com", "direct ana@example.com"),
        (UUID, f"direct {UUID}"),
        ("conversation:a:1xYz", "direct a:1xYz"),
        ("conversation:19:a_b@unq.gbl.spaces", "direct 19:a_b@unq.gbl.spaces"),
        ("19:x@thread.v2", "group 19:x@thread.v2"),
        ("channel:19:x@thread.v2", "group 19:x@thread.v2"),
        ("group:19:x@thread.tacv2", "channel 19:x@thread.tacv2"),
        ("msteams:teams:Conversation:19:X@thread.TACv2", "channel 19:X@thread.TACv2"),
        ("channel:19:x@thread.skype", "channel 19:x@thread.skype"),
        ("group:19:x@thread.skype", "group 19:x@thread.skype"),
    ],
)
def test_msteams_reads(text: str, expected: str) -> None:
    assert seen("msteams", text) == expected


def test_msteams_asks_what_an_id_is_unlike_upstream() -> None:
    for text in ("19:x@thread.skype", "conversation:ops"):
        assert read("msteams", text, MARCH).kind is ChatKind.GROUP
        with pytest.raises(AmbiguousTarget, match="a user, a group or a channel; say which"):
            read("msteams", text)
        assert read("msteams", text, kind=ChatKind.CHANNEL).kind is ChatKind.CHANNEL


def test_msteams_people_are_told_by_their_ids_unlike_upstream() -> None:
    for text in ("29:1aB", "dm:29:1aB", "conversation:a:1xYz", "19:a_b@unq.gbl.spaces"):
        assert read("msteams", text, MARCH).kind is ChatKind.GROUP
        assert read("msteams", text).kind is ChatKind.DIRECT


def test_msteams_ids_keep_their_case_unlike_upstream() -> None:
    assert key("msteams", "19:aBc@thread.tacv2", MARCH) == (ChatKind.CHANNEL, "19:abc@thread.tacv2")
    assert key("msteams", "19:aBc@thread.tacv2") == (ChatKind.CHANNEL, "19:aBc@thread.tacv2")
    assert key("msteams", UUID.upper()) == (ChatKind.DIRECT, UUID)


def test_msteams_message_id_is_the_thread_of_a_channel_unlike_upstream() -> None:
    rules, text = msteams.RULES, "channel:19:x@thread.tacv2;messageid=17"
    for profile, thread in ((MARCH, None), (AUGUST, None), (OURS, "17")):
        placed = rules.place(rules.read(text, Hints(profile=profile)), None, None, profile)
        assert (placed.conversation, placed.thread) == ("19:x@thread.tacv2", thread)
    named = rules.place(rules.read("channel:19:x@thread.tacv2", Hints()), "18", None, OURS)
    assert (named.thread, named.key_thread) == ("18", ("thread", "18"))
    assert rules.place(rules.read("channel:19:x@thread.tacv2", Hints()), "18", None, MARCH).thread is None


def test_msteams_group_chats_have_no_threads() -> None:
    target = read("msteams", "19:x@thread.v2;messageid=17")
    assert target.thread is None
    assert msteams.RULES.place(target, "18", "19", OURS).thread is None


def test_msteams_keys_have_threads_unlike_upstream() -> None:
    place = Address(
        channel="msteams", account="default", kind=ChatKind.CHANNEL, conversation="19:x@thread.tacv2", thread="17"
    )
    assert msteams.RULES.key_thread(place) == ("thread", "17")
    assert msteams.RULES.key_thread(place, MARCH) is None


def test_msteams_to_says_the_kind_unlike_upstream() -> None:
    assert ends("msteams", "19:x@thread.v2", MARCH) == ("msteams:group:19:x@thread.v2", "conversation:19:x@thread.v2")
    assert ends("msteams", "19:x@thread.v2") == ("msteams:group:19:x@thread.v2", "group:19:x@thread.v2")
    assert ends("msteams", "user:29:a", MARCH) == ends("msteams", "user:29:a") == ("msteams:29:a", "user:29:a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Teams:User:29:aB;x", "direct 29:aB"),
        ("room:19:x@Thread.TacV2;messageid=1", "channel 19:x@Thread.TacV2"),
        ("user:19:x@thread.tacv2", "direct 19:x@thread.tacv2"),
        ("teams:msteams:29:a", "group msteams:29:a"),
        ("user:", "refused"),
        ("msteams:", "refused"),
    ],
)
def test_msteams_upstream_reads(text: str, expected: str) -> None:
    assert seen("msteams", text, MARCH) == seen("msteams", text, AUGUST) == expected


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("channel", "limit"),
    [("whatsapp", 4096), ("signal", 2000), ("nextcloud-talk", 32_000), ("zalo", 2000), ("zalouser", 2000)],
)
def test_text_limits(channel: str, limit: int) -> None:
    assert RULES[channel].text_limit == limit
