"""Nextcloud Talk, Zalo, Zalo Personal and Nostr."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.channel_cases import MARCH, ends, key, read, seen
from tests.support.for_each import for_each
from trunkline.core.channels import rules_for
from trunkline.core.channels.platforms import nostr
from trunkline.core.errors import TargetError
from trunkline.core.values import ChatKind

#: the pair in the document that defines npub (NIP-19)
NPUB = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"


HEX = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"


# ---------------------------------------------------------------- Nextcloud Talk


@for_each("front", ["", "room:", "NC:", "nc-talk:Room:", "nextcloud-talk:nc:room:", "group:", "channel:"])
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
    with pytest.raises(TargetError, match="'Ops Room' is not a token"):
        read("nextcloud-talk", "Ops Room")


@pytest.mark.parametrize("text", ["NC:", "room:", "nc-talk:room: "])
def test_nextcloud_talk_upstream_refuses_what_is_empty(text: str) -> None:
    assert seen("nextcloud-talk", text, MARCH) == "refused"


# ---------------------------------------------------------------- Zalo and Zalo Personal


@for_each("channel", ["zalo", "zalouser"])
@for_each(
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
def test_zalo_directory_decides_only_where_the_text_does_not(channel: str) -> None:
    assert seen(channel, "123", kind=ChatKind.GROUP) == "group 123"
    assert seen(channel, "123", kind=ChatKind.DIRECT) == "direct 123"
    assert seen(channel, "user:123", kind=ChatKind.GROUP) == "direct 123"


@pytest.mark.parametrize("channel", ["zalo", "zalouser"])
def test_zalo_to_distinguishes_groups_from_people_unlike_upstream(channel: str) -> None:
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


@for_each("text", ["npub1example", NPUB[:-1], NPUB[:-1] + "h", HEX[:-1], "nsec1" + NPUB[5:], "ana"])
def test_nostr_mistyped_key_is_refused_unlike_upstream(text: str) -> None:
    assert seen("nostr", text, MARCH) == f"direct {text}"
    with pytest.raises(TargetError, match="understood as a public key, but it is mistyped"):
        read("nostr", text)


@given(st.integers(0, len(NPUB) - 6), st.sampled_from("qpzry9x8gf2tvdw0s3jn54khce6mua7l"))
def test_nostr_checksum_notices_one_wrong_letter(at: int, letter: str) -> None:
    typed = NPUB[: at + 5] + letter + NPUB[at + 6 :]
    assert nostr.key_of(typed) == (HEX if typed == NPUB else None)


def test_nostr_ids_that_are_no_keys_are_folded_all_the_same() -> None:
    assert rules_for("nostr").fold(ChatKind.DIRECT, "npub1ABC") == "npub1abc"
