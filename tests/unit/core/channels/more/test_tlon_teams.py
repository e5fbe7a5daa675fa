"""Tlon and Microsoft Teams."""

import pytest

from tests.support.channel_cases import AUGUST, MARCH, OURS, UUID, ends, key, read, seen
from tests.support.for_each import for_each
from tests.support.profiles import rules_under
from trunkline.core.channels import Hints, rules_for
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.values import Address, ChatKind

# ---------------------------------------------------------------- Tlon


@for_each(
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


@for_each(
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


@for_each(
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
        with pytest.raises(AmbiguousTarget, match="a user, a group or a channel; add the word"):
            read("msteams", text)
        assert read("msteams", text, kind=ChatKind.CHANNEL).kind is ChatKind.CHANNEL


def test_msteams_people_are_recognised_by_their_ids_unlike_upstream() -> None:
    for text in ("29:1aB", "dm:29:1aB", "conversation:a:1xYz", "19:a_b@unq.gbl.spaces"):
        assert read("msteams", text, MARCH).kind is ChatKind.GROUP
        assert read("msteams", text).kind is ChatKind.DIRECT


def test_msteams_ids_keep_their_case_unlike_upstream() -> None:
    assert key("msteams", "19:aBc@thread.tacv2", MARCH) == (ChatKind.CHANNEL, "19:abc@thread.tacv2")
    assert key("msteams", "19:aBc@thread.tacv2") == (ChatKind.CHANNEL, "19:aBc@thread.tacv2")
    assert key("msteams", UUID.upper()) == (ChatKind.DIRECT, UUID)


def test_msteams_message_id_is_the_thread_of_a_channel_unlike_upstream() -> None:
    text = "channel:19:x@thread.tacv2;messageid=17"
    for profile, thread, named in ((MARCH, None, None), (AUGUST, None, None), (OURS, "17", "18")):
        rules = rules_under(profile, "msteams")
        placed = rules.place(rules.read(text, Hints()), None, None)
        assert (placed.conversation, placed.thread) == ("19:x@thread.tacv2", thread)
        assert rules.place(rules.read("channel:19:x@thread.tacv2", Hints()), "18", None).thread == named


def test_msteams_group_chats_have_no_threads() -> None:
    target = read("msteams", "19:x@thread.v2;messageid=17")
    assert target.thread is None
    assert rules_for("msteams").place(target, "18", "19").thread is None


def test_msteams_keys_have_threads_unlike_upstream() -> None:
    place = Address(
        channel="msteams", account="default", kind=ChatKind.CHANNEL, conversation="19:x@thread.tacv2", thread="17"
    )
    assert rules_for("msteams").key_thread(place) == ("thread", "17")
    assert rules_under(MARCH, "msteams").key_thread(place) is None


def test_msteams_to_says_the_kind_unlike_upstream() -> None:
    assert ends("msteams", "19:x@thread.v2", MARCH) == ("msteams:group:19:x@thread.v2", "conversation:19:x@thread.v2")
    assert ends("msteams", "19:x@thread.v2") == ("msteams:group:19:x@thread.v2", "group:19:x@thread.v2")
    assert ends("msteams", "user:29:a", MARCH) == ends("msteams", "user:29:a") == ("msteams:29:a", "user:29:a")


@for_each(
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
