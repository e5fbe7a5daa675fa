"""Decisions as facts: what the Why pane and `trunkline explain` show, made of what the gateway records."""

import pytest

from tests.support.factories import direct, group, room
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.labels.decision_facts import entry_facts, own_facts, place_of, route_facts, target_facts
from trunkline.core.events import Body
from trunkline.core.events.delivery import SendRefused, TargetResolved
from trunkline.core.events.gateway import Candidate, RouteDecided, SessionMoved
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, SessionEntry
from trunkline.sim.events.processes import ProcessStopped

THREAD = room("777", parent="500")


def decided(*candidates: Candidate, **fields) -> RouteDecided:
    given = {
        "agent": "ops",
        "session_key": "ops:discord:default:channel:777",
        "matched_by": "binding.peer",
        "binding": "the room",
        "scope": "per-group",
        "reply_to": THREAD,
        "reply_reason": Reason.REPLY_TO_ORIGIN,
    }
    return RouteDecided(candidates=candidates, **{**given, **fields})


def candidate(name: str, tier: str, reason: Reason) -> Candidate:
    return Candidate(binding=name, tier=tier, chosen=reason is Reason.MATCHED, reason=reason)


def shown(facts) -> list[tuple[str, str]]:
    return [(fact.label, fact.text) for fact in facts]


def test_a_route_shows_agent_session_scope_and_reply_address():
    assert shown(route_facts(decided(), place_of)) == [
        ("route", "agent ops, by route rule the room (binding.peer)"),
        ("session", "ops:discord:default:channel:777"),
        ("scope", "per-group"),
        (
            "answer to",
            "discord:default/777 (channel, under 500)  reply-to-origin: The answer goes to the exact place that the"
            " message came from.",
        ),
    ]


def test_route_rules_are_in_columns_with_mark_name_tier_reason_and_sentence():
    body = decided(
        candidate("the room", "binding.peer", Reason.MATCHED),
        candidate("admins", "binding.guild+roles", Reason.ROLE_MISSING),
        others=3,
    )
    facts = list(route_facts(body, place_of))[4:]
    assert shown(facts) == [
        (
            "rules",
            "✓ the room  binding.peer         matched       Every constraint of the route rule holds, and no more"
            " specific tier matched.",
        ),
        (
            "",
            "✗ admins    binding.guild+roles  role-missing  The sender holds none of the roles that the route rule"
            " lists.",
        ),
        ("", "3 other route rules: unrelated to this message"),
    ]
    assert [fact.tone for fact in facts] == [Tone.GOOD, Tone.DIM, Tone.DIM]


def test_wide_letters_keep_the_columns():
    body = decided(
        candidate("客服", "binding.peer", Reason.MATCHED), candidate("x", "binding.peer", Reason.DECLARED_LATER)
    )
    first, second = (fact.text for fact in route_facts(body, place_of) if "binding.peer  " in fact.text)
    # Two letters of two cells each stand where one letter and three blanks stand.
    assert (first.index("binding.peer"), second.index("binding.peer")) == (6, 8)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"matched_by": "default", "binding": None}, "default: No route rule matched: the default agent answers."),
        ({"matched_by": "binding.channel", "binding": None}, "agent ops, by binding.channel"),
    ],
)
def test_without_a_route_rule_the_default_is_named(fields, text):
    (route, *_) = route_facts(decided(**fields), place_of)
    assert text in route.text


def test_fields_missing_in_older_traces_are_left_out():
    assert "scope" not in dict(shown(route_facts(decided(scope=""), place_of)))


def test_a_later_configuration_is_named():
    assert ("scope", "per-group  (configuration 3)") in shown(route_facts(decided(revision=3), place_of))


def test_the_event_is_named_where_there_is_one():
    facts = list(route_facts(decided(), place_of, seq=12))
    assert facts[0].text.startswith("#12 agent ops")
    assert {fact.seq for fact in facts} == {12}


def test_additional_facts_come_before_the_route_rules():
    body = decided(candidate("the room", "binding.peer", Reason.MATCHED))
    more = [Fact("main", "ops:main")]
    assert [fact.label for fact in route_facts(body, place_of, more=more)][-2:] == ["main", "rules"]


def test_a_target_shows_place_session_and_steps():
    body = TargetResolved(
        channel="slack", target="channel:C1", address=room("C1", channel="slack"), session_key="k", steps=("one", "two")
    )
    more = [Fact("from", "x")]
    assert shown(target_facts(body, place_of, more=more)) == [
        ("target", "“channel:C1” on slack"),
        ("place", "slack:default/C1 (channel)"),
        ("from", "x"),
        ("session", "k"),
        ("steps", "1 one"),
        ("", "2 two"),
    ]


def test_an_entry_shows_how_a_session_describes_its_conversation():
    entry = SessionEntry(
        provider="telegram",
        surface="telegram",
        sender="telegram:group:-1",
        to="telegram:-1",
        chat_type=ChatKind.GROUP,
        account="default",
        thread="7",
        originating_channel="telegram",
        originating_to="telegram:-1",
    )
    assert shown(entry_facts(entry)) == [
        ("entry", "group on telegram (telegram), account default, thread 7"),
        ("", "from telegram:group:-1, to telegram:-1"),
        ("", "origin telegram, telegram:-1"),
    ]


def test_control_characters_do_not_reach_the_terminal():
    wild = "a\x1b[2Jb\nc"
    body = TargetResolved(channel="x", target=wild, address=direct(), session_key=wild, steps=(wild,))
    bodies: list[Body] = [
        body,
        SendRefused(key=wild, reason=Reason.BAD_TARGET, detail=wild),
        SessionMoved(old_key=wild, session_key=wild, session_id=wild, reason=Reason.KEY_MIGRATED, detail=wild),
    ]
    facts = [fact for one in bodies for fact in own_facts(one, place_of)]
    facts += route_facts(decided(candidate(wild, "binding.peer", Reason.MATCHED), binding=wild), place_of)
    assert all(fact.text.isprintable() for fact in facts)


def test_an_event_of_a_message_has_no_facts_of_its_own():
    assert list(own_facts(decided(), place_of)) == []
    assert list(own_facts(ProcessStopped(why="end"), place_of)) == []


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (None, "nowhere"),
        (group(thread="7"), "telegram:default/-1007/7 (group)"),
        (Address(channel="x", account="b", kind=ChatKind.DIRECT, conversation="1"), "x:b/1 (direct)"),
    ],
)
def test_a_place_without_a_name_goes_by_its_ids(address, text):
    assert place_of(address) == text
