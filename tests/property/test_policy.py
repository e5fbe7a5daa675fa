"""The cross-context policy over places, actions and settings of any combination."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.action_catalogue import Action
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.message_tool.conversations import same_conversation
from trunkline.core.message_tool.policy import ContextDecision, ContextQuestion
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, WorkKind

flags = st.booleans()
templates = st.sampled_from(["", "[from {channel}] ", "{channel}{channel}"])
settings = st.fixed_dictionaries(
    {},
    optional={
        "allow_cross_context_send": flags,
        "cross_context": st.fixed_dictionaries(
            {},
            optional={
                "allow_within_provider": flags,
                "allow_across_providers": flags,
                "marker": st.fixed_dictionaries(
                    {}, optional={"enabled": flags, "within_provider": flags, "prefix": templates, "suffix": templates}
                ),
            },
        ),
        "without_origin": st.fixed_dictionaries(
            {},
            optional={
                "reach": st.sampled_from(["any", "last", "none"]),
                "targets": st.lists(st.sampled_from(["slack", "telegram:1", "discord:channel:1"]), max_size=2),
                "marked": flags,
            },
        ),
    },
)


@st.composite
def places(draw: st.DrawFn) -> Address:
    kind = draw(st.sampled_from(ChatKind))
    few = st.sampled_from(["1", "2"])
    return Address(
        channel=draw(st.sampled_from(["discord", "telegram", "slack", "pager"])),
        account=draw(st.sampled_from(["default", "work"])),
        kind=kind,
        conversation=draw(few),
        thread=draw(st.none() | few),
        parent=draw(st.none() | few) if kind is not ChatKind.DIRECT else None,
    )


GUARDED = [action for action in Action if action.spec.guarded]
FREE = [action for action in Action if action not in GUARDED]


@st.composite
def questions(
    draw: st.DrawFn, actions: Sequence[Action] = tuple(Action), origins: st.SearchStrategy[Address | None] | None = None
) -> ContextQuestion:
    origin = draw(st.none() | places() if origins is None else origins)
    return ContextQuestion(
        action=draw(st.sampled_from(actions)),
        agent="main",
        work=draw(st.sampled_from(WorkKind)),
        origin=origin,
        target=draw(places()),
        label=draw(st.text(max_size=5)),
        last=draw(st.none() | places()),
        embeds=draw(flags),
    )


def decide(question: ContextQuestion, message: dict[str, Any], profile: str = "trunkline") -> ContextDecision:
    config = GatewayConfig.model_validate({"profile": profile, "tools": {"message": message}})
    return config.rules[Decisions].decide_context(question, config)


@given(questions(), settings)
def test_a_denial_has_an_error_and_no_mark_and_an_allowance_has_no_error(
    question: ContextQuestion, message: dict[str, Any]
) -> None:
    decision = decide(question, message)
    assert decision.allowed == (decision.error == "") == (decision.reason is not Reason.CROSS_CONTEXT_DENIED)
    assert decision.allowed or (decision.mark is None and decision.setting != "")


@given(questions(), settings, st.none() | st.sampled_from(["1", "2"]))
def test_the_same_conversation_is_always_allowed_unmarked(
    question: ContextQuestion, message: dict[str, Any], thread: str | None
) -> None:
    origin = msgspec.structs.replace(question.target, thread=thread)
    decision = decide(msgspec.structs.replace(question, origin=origin), message)
    assert (decision.allowed, decision.mark) == (True, None)


@given(questions(FREE), settings)
def test_what_no_rule_judges_is_allowed_unmarked(question: ContextQuestion, message: dict[str, Any]) -> None:
    assert decide(question, message) == ContextDecision(allowed=True, reason=Reason.NOT_GUARDED)


@given(questions(GUARDED, places()), settings)
def test_nothing_crosses_platforms_unless_a_setting_says_so(question: ContextQuestion, message: dict[str, Any]) -> None:
    assert question.origin is not None
    elsewhere = msgspec.structs.replace(question.origin, channel=f"not {question.target.channel}")
    across = message.get("cross_context", {}).get("allow_across_providers", False)
    decision = decide(msgspec.structs.replace(question, origin=elsewhere), message)
    assert decision.allowed == (across or message.get("allow_cross_context_send", False))


EVERYWHERE = {"cross_context": {"allow_across_providers": True, "marker": {"within_provider": True}}}


@given(questions([Action.SEND, Action.POLL, Action.REPLY, Action.EDIT]))
def test_a_mark_says_where_every_crossing_message_comes_from(question: ContextQuestion) -> None:
    origin, mark = question.origin, decide(question, EVERYWHERE).mark
    assert (mark is None) == (origin is not None and same_conversation(origin, question.target))
    if mark is None:
        return
    assert mark.label in mark.around("text") + (mark.embed or "")
    assert "text" in mark.around("text")
    if origin is not None and origin.kind is ChatKind.DIRECT and not question.label.strip():
        assert mark.label.startswith("a direct chat")


@given(places(), places())
def test_being_one_conversation_goes_both_ways(one: Address, other: Address) -> None:
    assert same_conversation(one, one)
    assert same_conversation(one, other) == same_conversation(other, one)


@given(questions(), settings, st.sampled_from(["openclaw", "openclaw-2026-08"]))
def test_upstream_never_denies_a_turn_that_works_nowhere(
    question: ContextQuestion, message: dict[str, Any], profile: str
) -> None:
    decision = decide(question, message, profile)
    assert decision.mark is None
    assert decision.allowed or question.origin is not None
