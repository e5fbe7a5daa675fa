"""Canonical keys from what others write, and the plan of a session map's move. Laws: tests/property."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.errors import KeyFormatError, UnknownName
from trunkline.core.keys import Merge, Move, SessionKey, StoredKey, canonical_key, encode_v1, plan_migration
from trunkline.core.values import ChatKind

CANONICAL = {
    # Our own, as it is, padded, in upper case, with the old word.
    "main:main": "main:main",
    "  main:slack:default:direct:u1\n": "main:slack:default:direct:u1",
    "MAIN:Slack:Default:Direct:U1": "main:slack:default:direct:u1",
    "main:slack:default:channel:%43": "main:slack:default:channel:%43",
    "main:slack:default:DM:u1": "main:slack:default:direct:u1",
    # The upstream gateway's.
    "agent:main:main": "main:main",
    "Agent:Ops:Main": "ops:main",
    "agent:main:main:thread:17.5": "main:main",
    "agent:main:telegram:dm:1": "main:telegram:*:direct:1",
    "agent:main:telegram:direct:1": "main:telegram:*:direct:1",
    "agent:main:telegram:tasks:direct:1": "main:telegram:tasks:direct:1",
    "agent:main:direct:1": "main:*:*:direct:1",
    "AGENT:Main:Slack:Channel:C1:Thread:17.5": "main:slack:*:channel:c1:thread:17.5",
    "agent:main:telegram:group:-1:topic:4": "main:telegram:*:group:-1:topic:4",
    "agent:main:telegram:direct:5:thread:5:9": "main:telegram:*:direct:5:topic:9",
    "agent:main:telegram:direct:5:thread:9": "main:telegram:*:direct:5:topic:9",
    "agent:main:signal:direct:uuid:abc": "main:signal:*:direct:uuid%3aabc",
    # Ids whose case matters keep it where the text still has it.
    "agent:main:signal:group:AbC==": "main:signal:*:group:%41b%43%3d%3d",
    # Of two readings, upstream's, unless only ours has a known platform in its place.
    "agent:main:slack:channel:c1": "main:slack:*:channel:c1",
    "agent:main:homemade:channel:c1": "main:homemade:*:channel:c1",
    "agent:slack:default:direct:u1": "agent:slack:default:direct:u1",
    "agent:slack:work:direct:u1": "agent:slack:work:direct:u1",
    "agent:slack:*:direct:u1": "agent:slack:*:direct:u1",
    "agent:homemade:default:direct:u1": "agent:homemade:default:direct:u1",
    "agent:main": "agent:main",
}


@for_each(("text", "canonical"), CANONICAL.items(), ids=[ascii(text) for text in CANONICAL])
def test_a_text_has_one_canonical_key(text: str, canonical: str) -> None:
    key = canonical_key(text)
    assert encode_v1(key) == canonical
    assert canonical_key(canonical) == key


@for_each(
    "text",
    ["", "main", "agent:main:subagent:x", "agent:main:cron:job", "global", "telegram:direct:1", "+1555", "voice:+1555"],
)
def test_what_names_no_conversation_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(KeyFormatError, match="expected one of <agent>:main; <agent>:<channel>:<account>:") as refusal:
        canonical_key(text)
    assert "agent:<agent>:<channel>:group:<id>" in str(refusal.value)


def test_a_key_whose_text_would_mean_another_is_refused() -> None:
    with pytest.raises(KeyFormatError, match="no agent should be called 'agent'"):
        canonical_key("agent:agent:telegram:slack:direct:1")


# -------------------------------------------------------------------- plans


def row(key: str, session: str, updated_at: float = 1) -> StoredKey:
    return StoredKey(key=key, session_id=session, updated_at=updated_at)


def filled(key: SessionKey) -> SessionKey:
    """The default account where there is none, as a configuration with one account says."""
    if key.is_main or key.account is not None:
        return key
    return SessionKey(
        agent=key.agent, channel=key.channel, account="default", kind=key.kind, peer=key.peer, thread=key.thread
    )


def test_a_key_of_today_is_left_alone() -> None:
    rows = [row("main:main", "s1"), row("main:slack:default:channel:c1", "s2")]
    plan = plan_migration(rows, filled)
    assert plan.untouched == tuple(rows)
    assert not plan.changes
    assert str(plan) == "0 moved, 0 left by 0 merges, 2 untouched, 0 unreadable"


def test_an_old_key_moves_and_says_why() -> None:
    plan = plan_migration([row("agent:main:slack:channel:C1", "s1")], filled)
    assert plan.moves == (
        Move(
            old="agent:main:slack:channel:C1",
            new="main:slack:default:channel:c1",
            session_id="s1",
            why="the upstream gateway wrote main:slack:*:channel:c1; "
            "by the configuration account (none) is now default",
        ),
    )
    assert plan.changes


@pytest.mark.parametrize(
    ("old", "why"),
    [
        ("MAIN:slack:default:direct:u1 ", "padding or upper case is gone"),
        ("main:slack:default:dm:u1", "an older form of main:slack:default:direct:u1"),
        ("main:slack:*:direct:u1", "by the configuration account (none) is now default"),
        (
            "main:slack:*:direct:u1:thread:7",
            "by the configuration account (none) is now default, thread thread 7 is now (none)",
        ),
    ],
)
def test_every_move_has_its_reason(old: str, why: str) -> None:
    plan = plan_migration([row(old, "s")], lambda key: filled(SessionKey(**{**_fields(key), "thread": None})))
    assert [move.why for move in plan.moves] == [why]


def _fields(key: SessionKey) -> dict[str, object]:
    return {name: getattr(key, name) for name in SessionKey.__struct_fields__}


def test_a_person_who_is_linked_now_is_a_reason_too() -> None:
    linked = SessionKey(agent="main", channel="slack", account="default", kind=ChatKind.DIRECT, peer="ana", linked=True)
    plan = plan_migration([row("main:slack:default:direct:ana", "s")], lambda _: linked)
    assert [move.why for move in plan.moves] == ["by the configuration the peer is a linked person"]


NEW = "main:slack:default:channel:c1"
OLD = "agent:main:slack:channel:c1"
OLDER = "main:slack:*:channel:c1"


def test_of_rows_that_meet_the_newest_is_kept_and_the_others_are_named() -> None:
    rows = [row(NEW, "s1", 10), row(OLD, "s2", 30), row(OLDER, "s3", 20)]
    plan = plan_migration(rows, filled)
    assert [(move.old, move.new) for move in plan.moves] == [(OLD, NEW)]
    why = f"the newest, used at 30, the next at 20; {OLDER}: by the configuration account (none) is now default"
    assert plan.merged == (Merge(key=NEW, kept=rows[1], left=(rows[0], rows[2]), why=why),)
    assert "keeps session s2, leaves s1 of main:slack:default:channel:c1, s3 of main:slack:*:channel:c1" in str(plan)


def test_of_equally_new_rows_that_with_the_key_is_kept_else_the_first() -> None:
    kept = plan_migration([row(OLD, "s1"), row(NEW, "s2")], filled)
    assert kept.moves == ()
    assert kept.untouched == (row(NEW, "s2"),)
    assert [merge.why.partition(";")[0] for merge in kept.merged] == ["equally new, and this one has the key already"]
    first = plan_migration([row(OLDER, "s1"), row(OLD, "s2")], filled)
    assert [move.old for move in first.moves] == [OLDER]
    assert [merge.why.partition(";")[0] for merge in first.merged] == ["equally new, and the first"]


def test_what_cannot_be_read_or_placed_stays_and_is_reported() -> None:
    def place(key: SessionKey) -> SessionKey:
        raise UnknownName(f"no agent {key.agent!r}")

    plan = plan_migration([row("agent:main:subagent:x", "s1"), row("main:main", "s2")], place)
    assert [stays.key for stays in plan.unreadable] == ["agent:main:subagent:x", "main:main"]
    assert plan.unreadable[0].why.startswith("'agent:main:subagent:x': expected one of")
    assert plan.unreadable[1].why == "no agent 'main'"
    assert "stays  'agent:main:subagent:x' (session s1)" in plan.report()


def test_the_report_has_a_line_for_everything_that_happens() -> None:
    rows = [row(OLD, "s1", 2), row(OLDER, "s2"), row("main:main", "s3"), row("x", "s4")]
    lines = plan_migration(rows, filled).report().splitlines()
    assert [line.split()[0] for line in lines] == ["move", "merge", "stays", "1"]
    assert lines[-1] == "1 moved, 1 left by 1 merges, 1 untouched, 1 unreadable"
