"""Questions about OpenClaw's keys: their shape, how they are built, and how stores and messages use them."""

from typing import Any

import pytest

from tests.conformance.upstream.key_builder import build_key
from tests.conformance.upstream.key_context import (
    GroupOfContext,
    MessageContext,
    context_key,
    explicit_key,
    group_of_context,
)
from tests.conformance.upstream.key_store import lookup, migrate_key, migrate_store
from tests.conformance.upstream.key_text import (
    KeyShape,
    agent_of,
    chat_type_of,
    flags,
    history_key,
    key_shape,
    thread_parent,
    to_request_key,
    to_store_key,
    with_thread,
)
from tests.support.for_each import for_each
from tests.support.openclaw_keys import AUGUST, CHANNEL, DIRECT, GROUP, MARCH
from tests.support.profiles import parse_openclaw
from trunkline.core.config import SessionConfig
from trunkline.core.errors import KeyFormatError
from trunkline.core.keys import StoredKey
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import ParsedKey, main_text
from trunkline.core.values import ChatKind

# ---------------------------------------------------------------- questions about texts


def test_parsing_drops_empty_segments_and_needs_three() -> None:
    assert parse_openclaw(" agent::Ops:: a::B ") == ParsedKey(agent="ops", rest=" a:b")
    for text in (None, "", "agent", "agent:a", "agent:a:", "agent:::", "agents:a:b", "agent: :b", "x:agent:a:b"):
        assert parse_openclaw(text) is None


@for_each(
    ("text", "shape"),
    [
        *((None, KeyShape.MISSING), ("  ", KeyShape.MISSING), ("AGENT:a:b", KeyShape.AGENT)),
        *(("Agent:", KeyShape.MALFORMED_AGENT), ("agent::x", KeyShape.MALFORMED_AGENT)),
        *(("agent", KeyShape.LEGACY_OR_ALIAS), ("subagent:x", KeyShape.LEGACY_OR_ALIAS)),
    ],
)
def test_a_text_has_a_shape(text: str | None, shape: KeyShape) -> None:
    assert key_shape(text) is shape


@for_each(
    ("request_key", "store_key"),
    [
        *((None, "agent:ops:work"), (" MAIN ", "agent:ops:work"), ("agent:Main:X:Y", "agent:main:x:y")),
        *(("agent:X", "agent:x"), ("Global", "agent:ops:global"), ("agent:main:main", "agent:main:main")),
    ],
)
def test_a_request_key_becomes_a_store_key(request_key: str | None, store_key: str) -> None:
    assert to_store_key(request_key, " Ops ", "Work") == store_key


def test_a_store_key_becomes_a_request_key() -> None:
    assert to_request_key("AGENT:A:B:C") == "b:c"
    assert to_request_key(" Legacy ") == "Legacy"
    assert to_request_key(" ") is None


def test_august_does_not_guess_the_agent_of_a_key() -> None:
    assert (agent_of(None), agent_of("agent:x"), agent_of("agent:Ops Team:x")) == ("main", "main", "ops-team")
    assert agent_of("x", MARCH, "ops") == "main"
    assert agent_of("x", AUGUST, "Ops") == "ops"
    with pytest.raises(KeyFormatError, match="names no session"):
        agent_of("agent:x", AUGUST, "ops")
    with pytest.raises(KeyFormatError, match="no default agent"):
        agent_of("x", AUGUST)


def test_a_thread_is_a_suffix_that_stacks() -> None:
    once = with_thread("Agent:main:x:y", " T1 ", "parent")
    assert (once.key, once.parent) == ("Agent:main:x:y:thread:t1", "parent")
    assert with_thread(once.key, "T1").key == "Agent:main:x:y:thread:t1:thread:t1"
    for blank in (None, "", "  "):
        assert (with_thread("a:b", blank, "parent").key, with_thread("a:b", blank, "parent").parent) == ("a:b", None)
    assert with_thread("a:b", "t", "parent", suffix=False).key == "a:b"


@for_each(
    ("text", "parent"),
    [
        *((None, None), (":thread:1", None), (":thread:1:topic:2", ":thread:1"), ("x:thread", None)),
        *((" A:B:Thread:1:TOPIC:2 ", "A:B:Thread:1"), ("a:topic:1:thread:2", "a:topic:1"), ("a:thread:", "a")),
    ],
)
def test_a_parent_is_what_stands_before_the_last_mark(text: str | None, parent: str | None) -> None:
    assert thread_parent(text) == parent


def test_sessions_that_are_no_conversations_are_recognised() -> None:
    nested = flags("agent:main:subagent:a:SUBAGENT:b")
    assert (nested.subagent, nested.subagent_depth) == (True, 2)
    assert (flags("SubAgent:x").subagent, flags("SubAgent:x").subagent_depth) == (True, 0)
    assert flags(" ACP:1").acp
    assert not flags("cron:job").cron
    assert flags("agent:a:cron:job:run:1").cron_run
    assert not flags("agent:a:cron:job").cron_run
    assert not flags("agent:a:cron:job:run:1:x").cron_run
    assert flags("agent:main:slack:channel:c:subagent:x").subagent_depth == 1
    assert not flags("agent:main:slack:channel:c:subagent:x").subagent
    assert flags(None) == flags("agent:main:main")


@for_each(
    ("text", "kind"),
    [
        *((None, None), ("agent:main", None), ("telegram:DM:1", DIRECT), ("agent:m:direct:group:1", GROUP)),
        *(("agent:m:x:channel:direct", CHANNEL), ("discord:acc:guild-1:channel-2", CHANNEL), ("x:dmx:1", None)),
        *(("agent:m:discord:guild-1:channel-2", CHANNEL), ("slack:guild-1:channel-2", None)),
    ],
)
def test_the_words_of_a_key_decide_its_kind(text: str | None, kind: ChatKind | None) -> None:
    assert chat_type_of(text) is kind


def test_a_history_key_has_its_account_and_no_blanks() -> None:
    assert history_key(" ", "BIZ ", GROUP, "  ") == "unknown:biz:group:unknown"


# ---------------------------------------------------------------- building


def built(profile: Profile = MARCH, kind: ChatKind | None = DIRECT, peer: str | None = "U1", **session: Any) -> str:
    settings = SessionConfig.model_validate({"dm_scope": "per-account-channel-peer", **session})
    return build_key("main", "Slack", account=None, kind=kind, peer=peer, session=settings, profile=profile)


def test_missing_parts_have_names() -> None:
    settings = SessionConfig.model_validate({"dm_scope": "per-channel-peer"})
    assert build_key(None, " ", account=None, kind=DIRECT, peer="1", session=settings) == "agent:main:unknown:direct:1"
    assert built(peer="  ") == built(peer=None) == "agent:main:slack:default:direct:unknown"
    assert built(kind=None, peer=None) == "agent:main:main"
    assert built(kind=None) == "agent:main:slack:default:direct:u1"
    assert built(peer="", dm_scope="main") == "agent:main:main"


def test_the_first_declared_link_wins_and_groups_have_none() -> None:
    links = {" ": ["u1"], "Zoe ": ["SLACK:u1 "], "ana": ["u1"]}
    assert built(identity_links=links) == "agent:main:slack:default:direct:zoe"
    assert built(identity_links=links, dm_scope="main") == "agent:main:main"
    assert built(kind=GROUP, identity_links=links) == "agent:main:slack:group:u1"
    assert built(identity_links={"ana": ["discord:u1"]}) == "agent:main:slack:default:direct:u1"


def test_august_has_a_group_scope_and_other_names_of_main_sessions() -> None:
    for kind in (GROUP, CHANNEL):
        assert built(kind=kind, group_scope="main", main_key="Work") == f"agent:main:slack:{kind}:u1"
        assert built(AUGUST, kind, group_scope="main", main_key="Work") == "agent:main:work"
    assert built(dm_scope="main", main_key="work") == "agent:main:main"
    assert built(AUGUST, dm_scope="main", main_key="work") == "agent:main:work"


# ---------------------------------------------------------------- stores


@for_each(
    ("old", "new"),
    [
        *((" ", ""), ("Unknown", "unknown"), ("work", "agent:ops:work"), ("agent:ops:main", "agent:ops:work")),
        *(("agent:main:main", "agent:main:main"), ("Agent:X", "agent:x"), ("SubAgent:X", "agent:ops:subagent:x")),
        *(("group:", "group:"), ("group:X", "agent:ops:unknown:group:x"), ("GROUP:X", "agent:ops:group:x")),
        *(("WhatsApp:Group:1@G.us", "agent:ops:whatsapp:group:1@g.us"), ("1@G.US", "agent:ops:whatsapp:group:1@g.us")),
        *(("whatsapp:group:1@g.us", "agent:ops:whatsapp:group:1@g.us"), ("Hook:A", "agent:ops:hook:a")),
        ("telegram:group:-1:topic:4", "agent:ops:telegram:group:-1:topic:4"),
    ],
)
def test_an_old_key_becomes_a_scoped_one(old: str, new: str) -> None:
    assert migrate_key(old, "Ops", "Work") == new


def test_one_global_session_takes_the_place_of_main_sessions() -> None:
    assert [migrate_key(old, "a", shared=True) for old in ("main", "agent:a:main", "agent:b:main", "x")] == [
        *("global", "global", "agent:b:main", "agent:a:x")
    ]


def row(key: str, session: str, updated_at: float = 1) -> StoredKey:
    return StoredKey(key=key, session_id=session, updated_at=updated_at)


def test_of_equally_new_rows_the_canonical_stays_else_the_first() -> None:
    store = migrate_store([row("X:Y", "a"), row("agent:m:x:y", "b"), row("Q", "c", 2), row("q", "d", 2)], "m")
    assert store.rows == (row("agent:m:x:y", "b"), row("agent:m:q", "c", 2))
    assert store.legacy == ("X:Y", "Q", "q")


def test_the_latest_direct_conversation_of_old_seeds_the_main_session() -> None:
    rows = [row("+1555", "a", 3), row("+1666", "b", 5), row("group:x", "c", 9), row("1@g.us", "d", 9)]
    others = [row("agent:m:x:y", "e", 9), row("global", "f", 9), row("slack:channel:c", "g", 9)]
    assert migrate_store(rows + others, "m").main_seed == rows[1]
    assert migrate_store(others, "m").main_seed is None


def test_a_lookup_prefers_the_newest_then_the_canonical_then_what_was_asked_for() -> None:
    canonical, upper, mixed = row("a:b", "c"), row("A:B", "u"), row("A:b", "m")
    assert lookup(" A:b", [upper, mixed, canonical]).row == canonical
    assert lookup("A:b", [upper, mixed]).row == mixed
    assert lookup("a:b", [upper, mixed]).row == upper
    assert lookup("A:b", [upper, mixed, canonical]).legacy == ("A:b", "A:B")
    assert lookup("a:b", [row("A:B", "n", 2), canonical]).row == row("A:B", "n", 2)
    nothing = lookup("X", [canonical])
    assert (nothing.key, nothing.row, nothing.legacy) == ("x", None, ())


# ---------------------------------------------------------------- contexts


@for_each(
    ("text", "fields", "expect"),
    [
        ("discord:dm:1", {"chat_type": "DM"}, "discord:direct:1"),
        ("agent:a:discord:dm:1", {"chat_type": "group"}, "agent:a:discord:dm:1"),
        ("agent:a:discord:dm:1", {}, "agent:a:discord:dm:1"),
        ("agent:a:slack:dm:1", {"chat_type": "direct"}, "agent:a:slack:dm:1"),
        ("x:discord:dm:1", {"chat_type": "direct"}, "x:discord:dm:1"),
        ("discord:channel:7", {"chat_type": "direct", "sender_id": "7"}, "discord:direct:7"),
        ("discord:channel:7", {"chat_type": "direct", "sender": "Discord:7", "sender_id": "8"}, "discord:channel:7"),
        ("discord:channel:7", {"chat_type": "direct", "sender": "discord:channel:7"}, "discord:channel:7"),
        ("discord:channel:7:thread:1", {"chat_type": "direct", "sender_id": "7"}, "discord:channel:7:thread:1"),
    ],
)
def test_a_key_that_is_asked_for_is_rewritten_on_discord_only(text: str, fields: Any, expect: str) -> None:
    assert explicit_key(f" {text.upper()} ", MessageContext(**fields)) == expect


@for_each(
    ("sender", "fields", "expect"),
    [
        ("x", {"chat_type": "group"}, None),
        ("", {"chat_type": "group", "provider": "slack"}, None),
        ("slack:", {"chat_type": "group"}, None),
        ("1@G.us", {}, ("whatsapp", GROUP, "1@g.us")),
        ("slack:C1", {"chat_type": " Channel "}, ("slack", CHANNEL, "c1")),
        ("slack:group:G1", {"chat_type": "channel"}, ("slack", GROUP, "g1")),
        ("discord:channel:7", {"chat_type": "direct"}, ("discord", CHANNEL, "7")),
        ("other:channel:7", {"provider": "Custom"}, ("custom", CHANNEL, "other:channel:7")),
        ("other:x:group:7", {}, None),
    ],
)
def test_the_group_of_a_message_is_read_from_its_sender(sender: str, fields: Any, expect: Any) -> None:
    found = group_of_context(MessageContext(sender=sender, **fields))
    assert found == (None if expect is None else GroupOfContext(channel=expect[0], kind=expect[1], id=expect[2]))


def test_a_message_is_filed_under_its_key_its_group_or_main() -> None:
    room = MessageContext(sender="slack:channel:C1")
    asked = MessageContext(sender="slack:channel:C1", session_key=" Discord:DM:1 ", chat_type="direct")
    assert context_key(room, "work") == "agent:main:slack:channel:c1"
    assert context_key(MessageContext(sender="+1"), "Work") == main_text("main", "work") == "agent:main:work"
    assert context_key(room, shared=True) == "global"
    assert context_key(asked, shared=True) == "discord:direct:1"
    signal = MessageContext(sender="signal:group:AbC==")
    assert context_key(signal, profile=AUGUST) == "agent:main:signal:group:AbC=="
    assert context_key(signal) == "agent:main:signal:group:abc=="
