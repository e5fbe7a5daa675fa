"""The cross-context policy: every rule, every default, its errors and its marks."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.factories import direct, group, room
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.marker import ContextMark, label_of, make_mark
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.message_parts import MessageParts
from trunkline.core.message_tool.conversations import same_conversation
from trunkline.core.message_tool.policy import ContextDecision, ContextQuestion, decide_context, policy_decided
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, WorkKind

HALL = room("C1", channel="slack")
OPS = room("C2", channel="slack")
ANA = direct("+15550100", channel="whatsapp")
BO = direct("7", channel="telegram")

NOT_WITHIN = {"cross_context": {"allow_within_provider": False}}
ACROSS = {"cross_context": {"allow_across_providers": True}}


def decide(
    origin: Address | None,
    target: Address,
    action: Action = Action.SEND,
    *,
    message: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
    profile: str = "trunkline",
    **fields: Any,
) -> ContextDecision:
    """The decision for the agent main; `message`: settings of all agents, `own`: those of main."""
    config = GatewayConfig.model_validate(
        {
            "profile": profile,
            "tools": {"message": message or {}},
            "agents": [{"id": "main", "tools": {"message": own or {}}}],
        }
    )
    work = fields.pop("work", WorkKind.MESSAGE if origin is not None else WorkKind.HEARTBEAT)
    question = ContextQuestion(action=action, agent="main", work=work, origin=origin, target=target, **fields)
    return config.rules[Decisions].decide_context(question, config)


# -------------------------------------------------------------------- what is one conversation


@for_each(
    ("one", "other"),
    [
        (HALL, HALL),
        (HALL, room("C1", channel="slack", thread="171.2")),
        (room("c1", channel="slack"), HALL),
        (group("-1007", thread="7"), group("-1007", thread="8")),
        (room("7001", parent="500"), room("500")),
        (room("7001", parent="500"), room("7002", parent="500")),
        (room("7001", parent="500"), room("7001")),
        (direct("15550100@s.whatsapp.net", channel="whatsapp"), direct("+15550100", channel="whatsapp")),
    ],
)
def test_threads_and_spellings_are_the_same_conversation(one: Address, other: Address) -> None:
    assert same_conversation(one, other)
    assert same_conversation(other, one)
    assert decide(one, other, message=NOT_WITHIN).reason is Reason.SAME_CONVERSATION


@for_each(
    ("one", "other"),
    [
        (HALL, OPS),
        (direct("1"), direct("2")),
        (direct("1"), room("1")),
        (room("500"), room("500", account="work")),
        (direct("1", channel="telegram"), direct("1", channel="discord")),
        (room("aB", channel="matrix"), room("ab", channel="matrix")),
    ],
)
def test_other_people_accounts_and_platforms_are_not(one: Address, other: Address) -> None:
    assert not same_conversation(one, other)
    assert not same_conversation(other, one)


# -------------------------------------------------------------------- turns in a conversation


def test_the_conversation_of_the_turn_is_always_allowed_and_never_marked() -> None:
    strict = {**NOT_WITHIN, "without_origin": {"reach": "none"}}
    decision = decide(HALL, HALL, message=strict)
    assert decision == ContextDecision(allowed=True, reason=Reason.SAME_CONVERSATION)


def test_another_conversation_of_the_platform_is_allowed_without_a_mark_by_default() -> None:
    decision = decide(HALL, OPS)
    assert (decision.allowed, decision.reason, decision.mark) == (True, Reason.WITHIN_PROVIDER, None)
    assert decision.setting == "cross_context.allow_within_provider"


def test_it_can_be_marked_or_denied() -> None:
    marked = decide(HALL, OPS, message={"cross_context": {"marker": {"within_provider": True}}})
    assert marked.mark == ContextMark(label="#C1", prefix="[from #C1] ")
    denied = decide(HALL, OPS, message=NOT_WITHIN)
    assert (denied.allowed, denied.reason, denied.mark) == (False, Reason.CROSS_CONTEXT_DENIED, None)
    assert denied.error == (
        'Cross-context messaging denied: action=send target="channel:C2" while bound to "channel:C1" (channel=slack).'
        " tools.message.cross_context.allow_within_provider allows it."
    )


def test_the_error_has_the_target_as_the_agent_named_it() -> None:
    assert 'target="#ops" while' in decide(HALL, OPS, message=NOT_WITHIN, target_text="#ops").error


def test_another_platform_is_denied_by_default() -> None:
    denied = decide(HALL, BO)
    assert (denied.allowed, denied.reason) == (False, Reason.CROSS_CONTEXT_DENIED)
    assert denied.error == (
        'Cross-context messaging denied: action=send target provider "telegram" while bound to "slack".'
        " tools.message.cross_context.allow_across_providers allows it."
    )


def test_another_platform_is_marked_if_it_is_allowed() -> None:
    decision = decide(HALL, BO, message=ACROSS)
    assert (decision.allowed, decision.reason) == (True, Reason.ACROSS_PROVIDERS)
    assert decision.mark is not None
    assert decision.mark.around("hi") == "[from #C1 on slack] hi"
    off = decide(HALL, BO, message={"cross_context": {"allow_across_providers": True, "marker": {"enabled": False}}})
    assert (off.allowed, off.mark) == (True, None)


def test_across_does_not_follow_from_within_nor_the_other_way_round() -> None:
    assert not decide(
        HALL, OPS, message={"cross_context": {**ACROSS["cross_context"], **NOT_WITHIN["cross_context"]}}
    ).allowed
    assert not decide(HALL, BO, message={"cross_context": {"allow_within_provider": True}}).allowed


def test_the_former_flag_allows_everything_that_leaves_a_conversation() -> None:
    message = {"allowCrossContextSend": True, **NOT_WITHIN}
    for target in (OPS, BO):
        decision = decide(HALL, target, message=message)
        assert (decision.allowed, decision.setting) == (True, "allow_cross_context_send")
    assert not decide(None, OPS, message={**message, "without_origin": {"reach": "none"}}).allowed


# -------------------------------------------------------------------- actions


def guarded_here() -> list[Action]:
    return [action for action in Action if action.spec.guarded]


@for_each("action", guarded_here())
def test_what_changes_another_conversation_is_judged(action: Action) -> None:
    assert decide(HALL, BO, action).reason is Reason.CROSS_CONTEXT_DENIED


@pytest.mark.parametrize("action", [Action.REACT, Action.READ, Action.REACTIONS, Action.SEARCH, Action.MEMBER_INFO])
def test_reactions_and_questions_are_not(action: Action) -> None:
    assert decide(HALL, BO, action, message=NOT_WITHIN) == ContextDecision(allowed=True, reason=Reason.NOT_GUARDED)
    assert decide(None, BO, action, message={"without_origin": {"reach": "none"}}).allowed


@for_each(
    ("action", "marked"),
    [
        (Action.SEND, True),
        (Action.POLL, True),
        (Action.SEND_ATTACHMENT, True),
        (Action.EDIT, True),
        (Action.STICKER, False),
        (Action.DELETE, False),
        (Action.PIN, False),
        (Action.THREAD_CREATE, False),
    ],
)
def test_what_has_a_text_is_marked(action: Action, marked: bool) -> None:
    assert (decide(HALL, BO, action, message=ACROSS).mark is not None) == marked


# -------------------------------------------------------------------- turns without an origin


@pytest.mark.parametrize(
    ("work", "prefix"),
    [
        (WorkKind.HEARTBEAT, "[from heartbeat] "),
        (WorkKind.CRON, "[from schedule] "),
        (WorkKind.WAKE, "[from wake-up] "),
        (WorkKind.CALLBACK, "[from a task] "),
    ],
)
def test_a_turn_without_an_origin_may_write_everywhere_and_is_marked(work: WorkKind, prefix: str) -> None:
    decision = decide(None, BO, work=work)
    assert (decision.allowed, decision.reason) == (True, Reason.WITHOUT_ORIGIN)
    assert decision.mark is not None
    assert decision.mark.prefix == prefix
    assert decide(None, BO, work=work, message={"without_origin": {"marked": False}}).mark is None


def test_it_can_be_kept_to_the_last_conversation() -> None:
    message = {"without_origin": {"reach": "last"}}
    assert decide(None, BO, message=message, last=BO).allowed
    for last in (None, ANA):
        denied = decide(None, BO, message=message, last=last)
        assert (denied.allowed, denied.setting) == (False, "without_origin.reach")
    assert denied.error == (
        'Cross-context messaging denied: action=send target="telegram:7" from heartbeat (channel=telegram).'
        " tools.message.without_origin allows it."
    )


@for_each(
    ("entry", "allowed"),
    [
        ("slack", [HALL, OPS]),
        ("Slack", [HALL, OPS]),
        ("slack:channel:C1", [HALL]),
        ("slack: #c1", [HALL]),
        ("telegram:7", [BO]),
        ("telegram:-7", []),
        ("discord", []),
    ],
)
def test_it_can_be_kept_to_listed_places(entry: str, allowed: list[Address]) -> None:
    message = {"without_origin": {"reach": "none", "targets": [entry]}}
    assert [place for place in (HALL, OPS, BO) if decide(None, place, message=message).allowed] == allowed
    assert {decide(None, place, message=message).setting for place in allowed} <= {"without_origin.targets"}


@pytest.mark.parametrize("entry", ["", ":C1", "slack:nobody", "telegram:@ana"])
def test_an_entry_that_names_no_place_is_an_error_of_the_configuration(entry: str) -> None:
    with pytest.raises(ValidationError, match=r"without_origin\.targets"):
        decide(None, BO, message={"without_origin": {"targets": [entry]}})


# -------------------------------------------------------------------- settings of one agent


def test_an_agents_own_settings_replace_those_of_all_field_by_field() -> None:
    message = {"cross_context": {"allow_across_providers": True, "marker": {"prefix": "<{channel}> "}}}
    decision = decide(HALL, BO, message=message, own={"cross_context": {"marker": {"suffix": " ({channel})"}}})
    assert decision.mark is not None
    assert decision.mark.around("hi") == "<#C1 on slack> hi (#C1 on slack)"
    assert not decide(HALL, BO, message=message, own={"crossContext": {"allowAcrossProviders": False}}).allowed


def test_settings_of_one_agent_are_not_those_of_another() -> None:
    agents = [{"id": "main"}, {"id": "ops", "tools": {"message": ACROSS}}]
    config = GatewayConfig.model_validate({"agents": agents})
    assert not config.message_tool("main").cross_context.allow_across_providers
    assert config.message_tool("ops").cross_context.allow_across_providers
    assert config.message_tool("nobody") == config.tools.message


# -------------------------------------------------------------------- marks


@for_each(
    ("origin", "name", "label"),
    [
        (HALL, "", "#C1"),
        (HALL, "general", "#general"),
        (HALL, "#general", "#general"),
        (direct("U1", channel="slack"), "Ana", "@Ana"),
        (direct("U1", channel="slack"), "", "a direct chat"),
        (ANA, "", "a direct chat on whatsapp"),
        (ANA, "Ana\nand [from heartbeat]", "@Ana and [from heartbeat] on whatsapp"),
        (ANA, "x" * 80, f"@{'x' * 60} on whatsapp"),
    ],
)
def test_a_mark_names_the_place_but_no_phone_number(origin: Address, name: str, label: str) -> None:
    assert label_of(origin, name, WorkKind.MESSAGE, OPS) == label


def test_an_embed_has_the_mark_where_the_platform_shows_embeds() -> None:
    mark = decide(HALL, room(), message=ACROSS, embeds=True).mark
    assert mark is not None
    assert mark == ContextMark(label="#C1 on slack", embed="From #C1 on slack")
    assert mark.around("hi") == "hi"
    assert mark.beside(MessageParts(silent=True)) == MessageParts(silent=True, embed="From #C1 on slack")
    # An edit changes only the text.
    edited = decide(HALL, room(), Action.EDIT, message=ACROSS, embeds=True).mark
    assert edited is not None
    assert edited.around("hi") == "[from #C1 on slack] hi"


def test_a_mark_in_the_text_leaves_the_other_parts_as_they_are() -> None:
    mark = ContextMark(label="x", prefix="[x] ")
    assert mark.beside(None) is None
    assert mark.beside(MessageParts(silent=True)) == MessageParts(silent=True)


def test_a_mark_of_which_nothing_is_visible_is_none() -> None:
    assert make_mark("#x", " ", "", embeds=False) is None
    assert make_mark("#x", "", "{channel}{channel}", embeds=False) == ContextMark(label="#x", suffix="#x#x")


# -------------------------------------------------------------------- upstream, events


def test_upstream_marks_nothing_that_an_agent_sends_by_itself() -> None:
    decision = decide(HALL, OPS, profile="openclaw", message={"cross_context": {"marker": {"within_provider": True}}})
    assert (decision.allowed, decision.mark) == (True, None)
    assert decide(None, OPS, profile="openclaw", message={"without_origin": {"reach": "none"}}).allowed


def test_upstream_denies_in_its_own_words() -> None:
    denied = decide(HALL, BO, profile="openclaw")
    assert (denied.allowed, denied.setting) == (False, "cross_context.allow_across_providers")
    assert denied.error == (
        'Cross-context messaging denied: action=send target provider "telegram" while bound to "slack".'
    )
    named = decide(HALL, OPS, profile="openclaw", message=NOT_WITHIN, target_text="C2")
    assert named.error == (
        'Cross-context messaging denied: action=send target="C2" while bound to "channel:C1" (channel=slack).'
    )


@for_each(("profile", "allowed"), [("openclaw", True), ("openclaw-2026-08", False)])
@for_each("action", [Action.EDIT, Action.DELETE, Action.PIN, Action.UNPIN, Action.UPLOAD_FILE])
def test_upstream_judges_changes_since_june(profile: str, allowed: bool, action: Action) -> None:
    assert decide(HALL, BO, action, profile=profile).allowed == allowed


def test_the_event_says_what_was_decided_and_by_which_setting() -> None:
    question = ContextQuestion(
        action=Action.SEND, agent="main", work=WorkKind.HEARTBEAT, origin=None, target=BO, embeds=False
    )
    event = policy_decided(question, decide_context(question, GatewayConfig()))
    assert (event.allowed, event.reason, event.origin, event.target) == (True, Reason.WITHOUT_ORIGIN, None, BO)
    assert (event.mark, event.mark_after, event.mark_embed) == ("[from heartbeat] ", "", "")
    assert (event.setting, event.detail) == ("without_origin.reach", "")
