"""OpenClaw's session keys: values, texts, case and ids."""

import pytest

from tests.support.for_each import for_each
from tests.support.openclaw_keys import AUGUST, CHANNEL, GROUP, MARCH, OURS, key
from tests.support.profiles import encode_openclaw, fold_key, key_from_openclaw, key_text, read_key
from trunkline.core.errors import KeyFormatError
from trunkline.core.keys import SessionKey, encode_v1
from trunkline.core.profiles.openclaw.keys import account_id, agent_id

# ---------------------------------------------------------------- value and text


TEXTS = {
    "agent:main:main": SessionKey(agent="main"),
    "agent:main:main:thread:17.5": SessionKey(agent="main", thread=("thread", "17.5")),
    "agent:ops:direct:u1": key(agent="ops", channel=None),
    "agent:main:slack:direct:u1": key(),
    "agent:main:slack:work:direct:u1": key(account="work"),
    "agent:main:slack:direct:u1:thread:17.5": key(thread=("thread", "17.5")),
    "agent:main:slack:channel:c1:thread:17.5": key(CHANNEL, "c1", thread=("thread", "17.5")),
    "agent:main:telegram:group:-1:topic:4": key(GROUP, "-1", channel="telegram", thread=("topic", "4")),
    "agent:main:telegram:direct:5:thread:5:9": key(peer="5", channel="telegram", thread=("thread", "5:9")),
    "agent:main:signal:direct:uuid:abc": key(peer="uuid:abc", channel="signal"),
    "agent:main:matrix:channel:!r:m.example:thread:$e": key(
        CHANNEL, "!r:m.example", channel="matrix", thread=("thread", "$e")
    ),
}


@for_each(("text", "value"), TEXTS.items(), ids=list(TEXTS))
def test_text_and_value_belong_together(text: str, value: SessionKey) -> None:
    assert encode_openclaw(value) == text
    assert key_from_openclaw(text) == value


@for_each(
    ("value", "text"),
    [
        (key(GROUP, "G1", account="work"), "agent:main:slack:group:g1"),
        (key(CHANNEL, "c1", space=("team", "T1")), "agent:main:slack:channel:c1"),
        (key(channel=None, account="work"), "agent:main:unknown:work:direct:u1"),
        (key(GROUP, "g", channel=None), "agent:main:unknown:group:g"),
        (key(peer=""), "agent:main:slack:direct:unknown"),
        (key(peer=" U1 ", agent="Ops Team", account=" BIZ ", channel="Slack"), "agent:ops-team:slack:biz:direct:u1"),
        (key(peer="Ana", linked=True), "agent:main:slack:direct:ana"),
        (key(thread=("topic", "9")), "agent:main:slack:direct:u1:thread:9"),
        (key(thread=("thread", " ")), "agent:main:slack:direct:u1"),
        (key(peer="a:b%"), "agent:main:slack:direct:a:b%"),
    ],
)
def test_what_the_form_has_no_place_for_is_left_out(value: SessionKey, text: str) -> None:
    assert encode_openclaw(value) == text


@for_each(
    ("text", "value"),
    [
        ("Agent:Main:Telegram:DM:1", key(peer="1", channel="telegram")),
        ("agent:main:dm:u1", key(channel=None)),
        ("agent::main::slack:direct:u1", key()),
        ("agent:main:slack:group:a:topic:b:thread:c", key(GROUP, "a:topic:b", thread=("thread", "c"))),
        ("agent:main:direct:group:5", key(channel=None, peer="group:5")),
        ("agent:main:slack:direct:a:thread:b:thread:c", key(peer="a:thread:b", thread=("thread", "c"))),
    ],
)
def test_a_key_of_any_age_is_read(text: str, value: SessionKey) -> None:
    assert key_from_openclaw(text) == value


def test_a_sub_agent_has_a_key_of_its_own_and_is_no_conversation() -> None:
    key = SessionKey(agent="main", subagent="m1.hand1")
    assert encode_openclaw(key) == "agent:main:subagent:m1.hand1"
    assert read_key("agent:main:subagent:m1.hand1", MARCH) == key
    assert key_from_openclaw("agent:main:subagent:m1.hand1") is None


@for_each(
    "text",
    [
        *("", "main", "agent:main", "agent:main:subagent:", "agent:main:acp:1", "agent:main:cron:j:run:r"),
        *("agent:main:+1555", "agent:main:group:x", "agent:main:slack:direct", "global", "x:main:main"),
    ],
)
def test_what_names_no_conversation_is_no_key(text: str) -> None:
    assert key_from_openclaw(text) is None
    with pytest.raises(KeyFormatError, match="expected one of agent:<agent>:main"):
        read_key(text, MARCH)


def test_main_sessions_may_have_another_name() -> None:
    assert key_from_openclaw("agent:main:work", "Work") == SessionKey(agent="main")
    assert key_from_openclaw("agent:main:main", "work") == SessionKey(agent="main")
    assert key_from_openclaw("agent:main:work") is None
    assert encode_openclaw(SessionKey(agent="main", thread=("thread", "1")), " Work ") == "agent:main:work:thread:1"


def test_a_profile_has_a_form() -> None:
    value = key(account="default")
    assert key_text(value, OURS) == encode_v1(value) == "main:slack:default:direct:u1"
    assert key_text(value, MARCH) == "agent:main:slack:default:direct:u1"
    assert read_key(encode_v1(value), OURS) == read_key(key_text(value, AUGUST), AUGUST) == value
    with pytest.raises(KeyFormatError):
        read_key("agent:main:main", OURS)


def test_march_does_not_know_other_names_of_main_sessions() -> None:
    main = SessionKey(agent="main")
    assert key_text(main, MARCH, "work") == "agent:main:main"
    assert key_text(main, AUGUST, "work") == "agent:main:work"
    assert key_text(main, OURS, "work") == "main:main"


# ---------------------------------------------------------------- case


@for_each(
    ("text", "folded"),
    [
        ("Agent:Main:Signal:Group:AbC==:X", "agent:main:signal:group:AbC==:x"),
        ("SIGNAL:GROUP:AbC==", "signal:group:AbC=="),
        ("agent:main:signal:direct:UUID:A", "agent:main:signal:direct:uuid:a"),
        (
            "Agent:Main:Matrix:Channel:!Room:M.example:Thread:$EvT",
            "agent:main:matrix:channel:!Room:M.example:thread:$EvT",
        ),
        ("Matrix:Group:!A", "matrix:group:!A"),
        ("agent:main:matrix:direct:@Ana", "agent:main:matrix:direct:@ana"),
        ("agent:main:slack:channel:C1", "agent:main:slack:channel:c1"),
    ],
)
def test_august_spares_the_ids_that_need_their_case(text: str, folded: str) -> None:
    assert fold_key(f" {text} ", AUGUST) == folded
    assert fold_key(f" {text} ", MARCH) == text.lower()


def test_ids_that_keep_their_case_keep_it_in_keys() -> None:
    room = key(CHANNEL, "!Room:m", channel="matrix", thread=("thread", "$EvT"))
    assert encode_openclaw(room, profile=AUGUST) == "agent:main:matrix:channel:!Room:m:thread:$EvT"
    assert encode_openclaw(room) == "agent:main:matrix:channel:!room:m:thread:$evt"
    assert key_from_openclaw("agent:main:matrix:channel:!Room:m:thread:$EvT", profile=AUGUST) == room
    assert encode_openclaw(key(GROUP, "AbC==", channel="signal"), profile=AUGUST) == "agent:main:signal:group:AbC=="
    assert encode_openclaw(key(CHANNEL, "C1"), profile=AUGUST) == "agent:main:slack:channel:c1"


# ---------------------------------------------------------------- ids


@for_each(
    ("text", "slug"),
    [
        *(("  ", "main"), ("---", "main"), ("A" * 64, "a" * 64), ("ÖPS", "ps"), ("_x", "_x"), ("a__b--", "a__b--")),
        *(("-x-", "x"), ("../etc/passwd", "etc-passwd"), ("main\n", "main"), ("__proto__", "__proto__")),
        # The cut comes after the dashes are stripped, so this one ends in a dash.
        ("a" * 63 + "! b", "a" * 63 + "-"),
        (None, "main"),
    ],
)
def test_an_agent_id_is_a_slug(text: str | None, slug: str) -> None:
    assert agent_id(text) == slug


@for_each(
    ("text", "slug"),
    [
        *((None, "default"), ("__proto__", "default"), ("Constructor", "default"), (" prototype ", "default")),
        *(("!!", "default"), ("x__proto__", "x__proto__"), ("A.B", "a-b")),
    ],
)
def test_an_account_id_is_a_slug_and_no_reserved_word(text: str | None, slug: str) -> None:
    assert account_id(text) == slug
