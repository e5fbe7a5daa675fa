"""The bound-delivery router: our rules, and each difference from upstream's by name."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.bindings.completion_router import BoundDeliveryRouter, RouterDecision, resolve_destination
from trunkline.core.bindings.conversation_match import place_of, same_place
from trunkline.core.decisions import Decisions
from trunkline.core.errors import TargetError, UsageError
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord, TargetKind
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address, ChatKind

CHILD = "main:subagent:m1.hand1"
MARCH, AUGUST, OURS = Profile.OPENCLAW, Profile.OPENCLAW_2026_08, Profile.TRUNKLINE
NOW = 100.0


def at(conversation: str = "100", channel: str = "discord", account: str = "default", **more: str) -> Address:
    return Address(channel=channel, account=account, kind=ChatKind.CHANNEL, conversation=conversation, **more)


def bound(place: Address, name: str = "b1", session: str = CHILD, **more: object) -> SessionBindingRecord:
    fields: dict = {"bound_at": 0.0, "last_activity_at": 0.0, **more}
    return SessionBindingRecord(
        binding_id=name, target_session_key=session, target_kind=TargetKind.SUBAGENT, conversation=place, **fields
    )


def ask(
    *bindings: SessionBindingRecord,
    requester: Address | ConversationRef | None = None,
    fail_closed: bool = False,
    profile: Profile = OURS,
    key: str = CHILD,
) -> RouterDecision:
    return profile_rules(profile)[Decisions].resolve_destination(
        event_kind="task_completion",
        target_session_key=key,
        requester=requester,
        fail_closed=fail_closed,
        bindings=bindings,
        now=NOW,
    )


def outcome(decision: RouterDecision) -> tuple[str, Reason, str | None]:
    return decision.mode, decision.reason, None if decision.binding is None else decision.binding.binding_id


THREAD = bound(at("201", parent="100"))
SIBLING = bound(at("202", parent="100"), "b2")
ELSEWHERE = bound(at("203", parent="999"), "b3")

# -------------------------------------------------------------------- every profile


@pytest.mark.parametrize("profile", Profile)
def test_the_requesters_own_conversation_wins(profile: Profile) -> None:
    found = ask(THREAD, SIBLING, requester=at("202"), fail_closed=True, profile=profile)
    assert outcome(found) == ("bound", Reason.REQUESTER_MATCH, "b2")


@pytest.mark.parametrize("profile", Profile)
def test_the_only_binding_on_channel_and_account_matches_a_requester_in_the_parent(profile: Profile) -> None:
    assert outcome(ask(THREAD, requester=at("100"), profile=profile)) == ("bound", Reason.REQUESTER_MATCH, "b1")


@for_each("profile", Profile)
@for_each("key", ["", "   "])
def test_a_blank_session_comes_first(profile: Profile, key: str) -> None:
    found = ask(bound(at(), session=key), key=key, profile=profile)
    assert outcome(found) == ("fallback", Reason.MISSING_TARGET_SESSION, None)


@pytest.mark.parametrize("profile", Profile)
def test_what_ends_or_belongs_to_another_session_does_not_count(profile: Profile) -> None:
    ending = bound(at("201"), status=BindingStatus.ENDING)
    ended = bound(at("201"), "b2", status=BindingStatus.ENDED)
    other = bound(at("201"), "b3", session="main:subagent:other")
    found = ask(ending, ended, other, requester=at("201"), profile=profile)
    assert outcome(found) == ("fallback", Reason.NO_ACTIVE_BINDING, None)
    assert [(one.binding, one.reason) for one in found.candidates] == [
        ("b1", Reason.NOT_ACTIVE),
        ("b2", Reason.NOT_ACTIVE),
    ]


@for_each("profile", Profile)
@for_each(
    "requester",
    [at("  "), at(channel=" "), ConversationRef(**dict.fromkeys(("channel", "account_id", "conversation_id"), " "))],
)
def test_a_requester_without_channel_or_conversation_is_invalid(
    profile: Profile, requester: Address | ConversationRef
) -> None:
    assert outcome(ask(THREAD, requester=requester, profile=profile)) == ("fallback", Reason.INVALID_REQUESTER, None)


@pytest.mark.parametrize("kind", ["", "subagent_message", "spawn_ack"])
def test_other_events_are_refused(kind: str) -> None:
    router = BoundDeliveryRouter(lambda _: (THREAD,), resolve_destination, lambda: NOW)
    with pytest.raises(UsageError, match="only task_completion"):
        router.resolve_destination(kind, CHILD, at("100"))


# -------------------------------------------------------------------- ours


def test_every_binding_of_the_session_is_listed_with_its_reason() -> None:
    expired = bound(at("204"), "b4", idle_timeout=60.0)
    elsewhere = bound(at("-1", "telegram"), "b5")
    account = bound(at("205", account="work"), "b6")
    found = ask(SIBLING, expired, elsewhere, account, THREAD, requester=at("201"))
    assert [(one.binding, one.chosen, one.reason) for one in found.candidates] == [
        ("b2", False, Reason.OTHER_CONVERSATION),
        ("b4", False, Reason.IDLE_EXPIRED),
        ("b5", False, Reason.OTHER_CHANNEL),
        ("b6", False, Reason.OTHER_ACCOUNT),
        ("b1", True, Reason.REQUESTER_MATCH),
    ]


def test_without_a_requester_the_losers_lost_for_the_reason_of_the_decision() -> None:
    found = ask(THREAD, SIBLING, fail_closed=True)
    assert {one.reason for one in found.candidates} == {Reason.MISSING_REQUESTER}
    assert outcome(ask(THREAD, SIBLING)) == ("fallback", Reason.AMBIGUOUS_WITHOUT_REQUESTER, None)
    assert outcome(ask(THREAD)) == ("bound", Reason.SINGLE_ACTIVE_BINDING, "b1")


def test_two_threads_under_the_requester_are_no_match() -> None:
    assert outcome(ask(THREAD, SIBLING, requester=at("100"))) == ("fallback", Reason.NO_REQUESTER_MATCH, None)


def test_the_router_fails_closed_by_default_and_reads_the_clock_at_each_call() -> None:
    clock = [0.0]
    record = bound(at("201"), max_age=50.0)
    router = BoundDeliveryRouter(lambda key: (record,) if key == CHILD else (), resolve_destination, lambda: clock[0])
    assert router.resolve_destination("task_completion", CHILD, None).reason is Reason.MISSING_REQUESTER
    assert router.resolve_destination("task_completion", f" {CHILD} ", at("201")).binding is record
    clock[0] = 50.0
    assert router.resolve_destination("task_completion", CHILD, at("201")).reason is Reason.NO_ACTIVE_BINDING


def test_a_topic_matches_its_group_and_itself() -> None:
    topic = bound(at("-100", "telegram", thread="7"))
    other = bound(at("-100", "telegram", thread="8"), "b2")
    by_ref = ConversationRef(channel="Telegram", account_id="default", conversation_id="telegram:-100:topic:7")
    assert outcome(ask(topic, other, requester=by_ref)) == ("bound", Reason.REQUESTER_MATCH, "b1")
    far = bound(at("-200", "telegram", thread="7"), "b3")
    assert outcome(ask(topic, far, requester=at("-100", "telegram"))) == ("bound", Reason.REQUESTER_MATCH, "b1")


# -------------------------------------------------------------------- differences


def test_difference_a_lone_binding_on_another_channel_is_not_used() -> None:
    requester = at("-1", "telegram")
    assert outcome(ask(THREAD, requester=requester)) == ("fallback", Reason.NO_REQUESTER_MATCH, None)
    assert outcome(ask(THREAD, requester=requester, profile=MARCH)) == (
        "bound",
        Reason.SINGLE_ACTIVE_BINDING_FALLBACK,
        "b1",
    )
    assert outcome(ask(THREAD, requester=requester, profile=AUGUST)) == ("fallback", Reason.NO_REQUESTER_MATCH, None)


def test_difference_a_lone_binding_on_another_account_is_not_used() -> None:
    requester = at("201", account="work")
    assert ask(THREAD, requester=requester).binding is None
    assert ask(THREAD, requester=requester, profile=MARCH).reason is Reason.SINGLE_ACTIVE_BINDING_FALLBACK


def test_difference_failing_closed_without_a_requester_guesses_nothing() -> None:
    assert outcome(ask(THREAD, fail_closed=True)) == ("fallback", Reason.MISSING_REQUESTER, None)
    assert outcome(ask(THREAD, fail_closed=True, profile=MARCH)) == ("bound", Reason.SINGLE_ACTIVE_BINDING, "b1")
    assert ask(THREAD, SIBLING, fail_closed=True, profile=MARCH).reason is Reason.AMBIGUOUS_WITHOUT_REQUESTER


def test_difference_failing_open_without_a_requester_takes_the_single_binding_where_august_does_not() -> None:
    assert outcome(ask(THREAD)) == ("bound", Reason.SINGLE_ACTIVE_BINDING, "b1")
    assert outcome(ask(THREAD, profile=AUGUST)) == ("fallback", Reason.MISSING_REQUESTER, None)


def test_difference_an_expired_binding_does_not_count_before_the_sweep_either() -> None:
    expired = bound(at("201"), idle_timeout=NOW)
    found = ask(expired, requester=at("201"))
    assert (outcome(found), found.candidates[0].reason) == (
        ("fallback", Reason.NO_ACTIVE_BINDING, None),
        Reason.IDLE_EXPIRED,
    )
    for profile in (MARCH, AUGUST):
        assert ask(expired, requester=at("201"), profile=profile).reason is Reason.REQUESTER_MATCH


def test_difference_the_binding_under_the_requesters_channel_wins_over_one_elsewhere() -> None:
    assert outcome(ask(ELSEWHERE, THREAD, requester=at("100"))) == ("bound", Reason.REQUESTER_MATCH, "b1")
    for profile in (MARCH, AUGUST):
        assert ask(ELSEWHERE, THREAD, requester=at("100"), profile=profile).binding is None


def test_difference_conversations_are_compared_as_their_channel_folds() -> None:
    room, other = bound(at("AbC", "discord")), bound(at("x"), "b2")
    assert outcome(ask(room, other, requester=at("aBc"))) == ("bound", Reason.REQUESTER_MATCH, "b1")
    assert ask(room, other, requester=at("aBc"), profile=MARCH).binding is None
    # Matrix keeps the case of its ids: two rooms, under every profile.
    rooms = bound(at("!A:m.example", "matrix")), bound(at("!b:m.example", "matrix"), "b2")
    assert ask(*rooms, requester=at("!a:m.example", "matrix")).binding is None


def test_difference_a_prefixed_id_is_the_same_conversation() -> None:
    ref = ConversationRef(channel="discord", account_id="default", conversation_id="channel:202")
    assert outcome(ask(THREAD, SIBLING, requester=ref)) == ("bound", Reason.REQUESTER_MATCH, "b2")
    assert ask(THREAD, SIBLING, requester=ref, profile=MARCH).reason is Reason.NO_REQUESTER_MATCH


def test_difference_august_reads_accounts_as_keys_have_them() -> None:
    ref = ConversationRef(channel=" Discord ", account_id="Default", conversation_id=" 201 ")
    assert ask(THREAD, SIBLING, requester=ref, fail_closed=True, profile=MARCH).binding is None
    assert ask(THREAD, SIBLING, requester=ref, fail_closed=True, profile=AUGUST).binding is THREAD


# -------------------------------------------------------------------- references


@for_each(
    "place",
    [
        at("201", parent="100"),
        at("100"),
        at("-100", "telegram", thread="7"),
        at("!r:m.example", "matrix", thread="$e"),
        at("C1", "slack", thread="17.5"),
        at("AbC", "somewhere"),
    ],
    ids=str,
)
def test_a_reference_names_the_place_that_it_was_made_of(place: Address) -> None:
    assert same_place(place, place_of(ConversationRef.of(place)))


def test_a_reference_may_name_thread_and_room_apart() -> None:
    ref = ConversationRef(
        channel="matrix", account_id="", conversation_id="$e", parent_conversation_id="room:!r:m.example"
    )
    assert same_place(at("!r:m.example", "matrix", thread="$e"), place_of(ref))


def test_a_reference_without_a_conversation_is_no_place() -> None:
    with pytest.raises(TargetError, match="needs a channel and an id"):
        place_of(ConversationRef(channel="discord", account_id="default", conversation_id=" "))
