"""What is asked when a conversation is to be bound: each bad input of issue 5 is refused, with place and remedy."""

import math
from typing import Any

import pytest

from tests.support.factories import config, direct, room
from tests.support.for_each import for_each
from trunkline.core.bindings.bind_request import (
    BindRequest,
    check_replace,
    check_request,
    choose_placement,
    is_same,
    normal,
    read_target,
    record_of,
    request_of,
    shown,
)
from trunkline.core.config import ThreadBindingsConfig
from trunkline.core.errors import BindingError
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement, SessionBindingRecord, TargetKind
from trunkline.core.values import Address

KEY = "main:discord:default:channel:500"
BOTH = (Placement.CURRENT, Placement.CHILD)


def asked(**fields: Any) -> BindRequest:
    return BindRequest(**{"target_session_key": KEY, "conversation": room("501"), **fields})


def refused(request: BindRequest, **settings: Any) -> tuple[Reason, str]:
    with pytest.raises(BindingError) as caught:
        check_request(normal(request), config(**settings))
    return caught.value.reason, caught.value.facts


@for_each("name", ["ttl", "idle_timeout", "max_age"])
@for_each("seconds", [-1.0, -math.inf, math.inf, math.nan, "30s", True])
def test_a_time_that_is_none_is_refused(name: str, seconds: Any) -> None:
    reason, facts = refused(asked(**{name: seconds}))
    assert reason is Reason.BAD_TTL
    assert facts.startswith(f"{name} is {seconds!r}: give a positive number of seconds")


def test_nothing_lives_for_no_time_but_may_live_for_ever() -> None:
    assert refused(asked(ttl=0))[0] is Reason.BAD_TTL
    assert check_request(asked(idle_timeout=0, max_age=0), config()) == room("501")
    assert check_request(asked(ttl=math.ulp(0.0)), config()) == room("501")


@pytest.mark.parametrize("kind", [TargetKind.ACP, "acp"])
def test_acp_is_refused_today(kind: Any) -> None:
    reason, facts = refused(asked(target_kind=kind))
    assert (reason, "use 'session' or 'subagent'" in facts) == (Reason.UNSUPPORTED, True)


@pytest.mark.parametrize(
    ("key", "reason", "words"),
    [
        ("", Reason.UNKNOWN_SESSION, "no session is named"),
        ("   ", Reason.UNKNOWN_SESSION, "no session is named"),
        ("nonsense", Reason.BAD_SESSION_KEY, "'nonsense'"),
        ("main:discord:default:nowhere:500", Reason.BAD_SESSION_KEY, "nowhere"),
        ("nobody:main", Reason.UNKNOWN_SESSION, "no agent 'nobody'; there are: main, ops, dev"),
    ],
)
def test_a_session_that_is_none_is_refused(key: str, reason: Reason, words: str) -> None:
    with pytest.raises(BindingError) as caught:
        read_target(key, config(), {})
    assert (caught.value.reason, words in caught.value.facts) == (reason, True)


@pytest.mark.parametrize(
    "place",
    [
        ConversationRef(channel="", account_id="default", conversation_id="500"),
        ConversationRef(channel="discord", account_id="default", conversation_id="  "),
        room(" "),
        room("500", channel=" "),
        room("\udcff"),
    ],
)
def test_a_conversation_without_its_ids_is_refused(place: Address | ConversationRef) -> None:
    reason, facts = refused(asked(conversation=place))
    assert reason is Reason.BAD_TARGET
    assert facts


def test_a_channel_that_is_switched_off_is_refused() -> None:
    reason, facts = refused(asked(), channels={"discord": {"thread_bindings": {"enabled": False}}})
    assert reason is Reason.BINDING_CAPABILITY_UNSUPPORTED
    assert facts == "channels.discord.thread_bindings.enabled is off: switch it on"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"target_kind": "robot"}, Reason.UNSUPPORTED),
        ({"placement": "below"}, Reason.BINDING_CAPABILITY_UNSUPPORTED),
        ({"metadata": {"n": 1}}, Reason.BAD_TARGET),
        ({"metadata": {1: "n"}}, Reason.BAD_TARGET),
    ],
)
def test_a_word_that_is_none_is_refused_before_it_is_stored(fields: dict[str, Any], reason: Reason) -> None:
    with pytest.raises(BindingError) as caught:
        normal(asked(**fields))
    assert caught.value.reason is reason


def test_what_is_asked_is_brought_into_the_form_that_is_stored() -> None:
    found = normal(
        asked(
            target_session_key=f" {KEY} ",
            target_kind="subagent",
            placement="child",
            label="\udcff",
            metadata={"\udcff": "\udcff"},
        )
    )
    assert (found.label, found.metadata) == ("?", {"?": "?"})
    assert found.target_kind is TargetKind.SUBAGENT
    assert found.placement is Placement.CHILD


# ---------------------------------------------------------------- fields instead of a request


def test_fields_make_the_request_that_they_are_the_fields_of() -> None:
    place = room("501")
    assert request_of(None, {"target_session_key": KEY, "conversation": place, "ttl": 5.0}) == asked(ttl=5.0)
    assert request_of(request := asked(), {}) is request


@pytest.mark.parametrize(
    ("request_", "fields", "reason"),
    [
        (None, {}, Reason.UNKNOWN_SESSION),
        (None, {"conversation": room("501")}, Reason.UNKNOWN_SESSION),
        (None, {"target_session_key": KEY}, Reason.BAD_TARGET),
        (asked(), {"ttl": 5.0}, Reason.BAD_TARGET),
    ],
)
def test_half_a_request_is_refused(request_: BindRequest | None, fields: Any, reason: Reason) -> None:
    with pytest.raises(BindingError) as caught:
        request_of(request_, fields)
    assert caught.value.reason is reason


def test_a_refusal_says_what_was_asked_however_it_was() -> None:
    ref = ConversationRef(channel="discord", account_id="work", conversation_id="7")
    assert shown(asked(by="discord:7"), {}) == ("discord:default/501", KEY, "discord:7")
    assert shown(None, {"conversation": ref, "target_session_key": KEY}) == ("discord:work/7", KEY, "operator")
    assert shown(None, {}) == ("", "", "operator")


# ---------------------------------------------------------------- placement


@pytest.mark.parametrize(
    ("place", "fields", "offered", "words"),
    [
        (room("501"), {}, (), "discord:default/501: the adapter of discord:default cannot bind conversations"),
        (room("501"), {"placement": Placement.CHILD}, (Placement.CURRENT,), "cannot bind a child conversation"),
        (room("501"), {}, (Placement.CHILD,), "it can: child"),
        (direct("100"), {"placement": Placement.CHILD}, BOTH, "has no threads: bind it itself"),
    ],
)
def test_a_placement_that_there_is_not_is_refused(place: Address, fields: Any, offered: Any, words: str) -> None:
    with pytest.raises(BindingError) as caught:
        choose_placement(asked(**fields), place, offered)
    assert (caught.value.reason, words in caught.value.facts) == (Reason.BINDING_CAPABILITY_UNSUPPORTED, True)


def test_the_conversation_itself_is_bound_unless_a_thread_is_asked_for() -> None:
    assert choose_placement(asked(), room("501"), BOTH) is Placement.CURRENT
    assert choose_placement(asked(placement=Placement.CHILD), room("501"), BOTH) is Placement.CHILD


# ---------------------------------------------------------------- what is bound already


def had(by: str = "discord:7", **fields: Any) -> SessionBindingRecord:
    record = record_of(asked(by=by), room("501"), "b1", 10.0, ThreadBindingsConfig())
    return SessionBindingRecord(**{name: getattr(record, name) for name in record.__struct_fields__} | fields)


@pytest.mark.parametrize(("by", "rebind"), [("operator", False), ("discord:7", False), ("discord:8", True)])
def test_the_binder_and_who_may_do_everything_replace_a_binding(by: str, rebind: bool) -> None:
    check_replace(asked(by=by, rebind=rebind), had())


@pytest.mark.parametrize("by", ["discord:8", "telegram:7", "spawn", ""])
def test_nobody_else_does(by: str) -> None:
    with pytest.raises(BindingError) as caught:
        check_replace(asked(by=by), had())
    assert caught.value.reason is Reason.BOUND_BY_ANOTHER
    assert caught.value.facts == f"discord:default/501 is bound to {KEY} by discord:7: unbind it first"


def test_what_is_bound_as_asked_is_left_as_it_is() -> None:
    assert is_same(asked(by="discord:8"), room("501"), had())
    assert not is_same(asked(target_session_key="main:main"), room("501"), had())
    assert not is_same(asked(target_kind=TargetKind.SUBAGENT), room("501"), had())
    assert not is_same(asked(ttl=5.0), room("501"), had())


def test_binding_again_restores_a_lost_identity_for_those_who_may() -> None:
    lost = had(degraded=Reason.IDENTITY_GONE)
    assert not is_same(asked(by="discord:7"), room("501"), lost)
    assert is_same(asked(by="discord:8"), room("501"), lost)


@for_each(
    ("fields", "settings", "idle", "age"),
    [
        ({}, {}, 86400.0, 0.0),
        ({}, {"idle_timeout": 5.0, "max_age": 7.0}, 5.0, 7.0),
        ({"idle_timeout": 0.0, "max_age": 9.0}, {"idle_timeout": 5.0, "max_age": 7.0}, 0.0, 9.0),
        ({"ttl": 3.0}, {}, 86400.0, 3.0),
        ({"ttl": 3.0}, {"max_age": 2.0}, 86400.0, 2.0),
        ({"ttl": 3.0, "max_age": 0.0}, {"max_age": 2.0}, 86400.0, 3.0),
        ({"ttl": 3.0, "max_age": 4.0}, {}, 86400.0, 3.0),
    ],
)
def test_times_are_those_asked_for_else_those_of_the_channel(fields: Any, settings: Any, idle: Any, age: Any) -> None:
    record = record_of(asked(**fields), room("501"), "b1", 10.0, ThreadBindingsConfig(**settings))
    assert (record.idle_timeout, record.max_age, record.bound_at, record.last_activity_at) == (idle, age, 10.0, 10.0)
