"""The system prompts of a turn: which there are, in which order, and what a decision of the user may return."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.factories import direct
from tests.support.for_each import for_each
from trunkline import GatewayConfig
from trunkline.core.config import HandsConfig
from trunkline.core.prompts import Prompt, PromptKind, PromptQuestion, check_prompts, compose_prompts, joined

ANA = direct("100")


def prompts(config: dict[str, Any], *, callback: bool = False, here: bool = True) -> list[tuple[str, str]]:
    question = PromptQuestion(agent="main", reply_to=ANA if here else None, callback=callback)
    return [(one.kind.value, one.text) for one in compose_prompts(question, GatewayConfig.model_validate(config))]


FULL: dict[str, Any] = {
    "agents": [{"id": "main", "prompt": "You are Jeeves."}, {"id": "ops", "prompt": "You are ops."}],
    "channels": {"discord": {"prompt": "Short lines."}, "telegram": {"prompt": "No markdown."}},
    "hands": {"prompt": "A result follows."},
}


def test_a_callback_has_base_channel_and_callback_prompt_in_that_order() -> None:
    assert prompts(FULL, callback=True) == [
        ("base", "You are Jeeves."),
        ("channel", "Short lines."),
        ("callback", "A result follows."),
    ]


def test_another_turn_has_the_same_without_that_of_callbacks() -> None:
    assert prompts(FULL) == [("base", "You are Jeeves."), ("channel", "Short lines.")]


def test_a_turn_without_a_place_to_answer_has_no_prompt_of_a_channel() -> None:
    assert prompts(FULL, callback=True, here=False) == [("base", "You are Jeeves."), ("callback", "A result follows.")]


def test_without_settings_only_a_callback_has_a_prompt() -> None:
    assert prompts({}) == []
    assert prompts({}, callback=True) == [("callback", HandsConfig().prompt)]


def test_a_blank_prompt_is_none() -> None:
    assert prompts({"agents": [{"id": "main", "prompt": " \n"}], "hands": {"prompt": ""}}, callback=True) == []


@for_each(
    ("settings", "expected"),
    [
        ({"prompt": "all"}, ["all"]),
        ({"prompt": "all", "prompts": {"main": "mine"}}, ["mine"]),
        ({"prompt": "all", "prompts": {"ops": "other"}}, ["all"]),
        ({"prompt": "all", "prompts": {"main": ""}}, []),
        ({"prompt": "all", "prompts": {"main": "mine"}, "accounts": {"Default": {"prompt": "here"}}}, ["here"]),
        ({"prompt": "all", "prompts": {"main": "mine"}, "accounts": {"default": {"prompt": ""}}}, []),
        ({"prompt": "all", "prompts": {"main": "mine"}, "accounts": {"default": {"text_limit": 9}}}, ["mine"]),
        ({"prompt": "all", "accounts": {"second": {"prompt": "there"}}}, ["all"]),
    ],
)
def test_the_most_specific_prompt_of_a_channel_counts(settings: dict[str, Any], expected: list[str]) -> None:
    config = {"agents": [{"id": "main"}, {"id": "ops"}], "channels": {"discord": settings}}
    assert prompts(config) == [("channel", text) for text in expected]


def test_a_prompt_for_an_agent_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match=r"channels\.discord\.prompts: no agent 'mian'; there are: main"):
        GatewayConfig.model_validate({"channels": {"discord": {"prompts": {"mian": "x"}}}})
    upstream = {"profile": "openclaw", "channels": {"discord": {"prompts": {"mian": "x"}}}}
    assert GatewayConfig.model_validate(upstream).channel("discord").prompts == {"mian": "x"}


def test_prompts_are_joined_by_a_blank_line() -> None:
    question = PromptQuestion(agent="main", reply_to=ANA, callback=True)
    composed = compose_prompts(question, GatewayConfig.model_validate(FULL))
    assert joined(composed) == "You are Jeeves.\n\nShort lines.\n\nA result follows."
    assert joined(()) is None


@for_each(
    ("value", "wrong"),
    [
        (None, "of type NoneType instead of a tuple"),
        ("You are Jeeves.", "of type str instead of a tuple"),
        (["x"], "of type list instead of a tuple"),
        (("x",), "number 0 is of type str instead of a Prompt"),
        ((Prompt(kind="loud", text="x"),), "number 0 has the kind 'loud'"),  # pyright: ignore[reportArgumentType]
        ((Prompt(kind=PromptKind.BASE, text=7),), r"number 0 \(base\) is no text"),  # pyright: ignore[reportArgumentType]
        ((Prompt(kind=PromptKind.BASE, text="\ud800"),), r"number 0 \(base\) is no text, or has half a character"),
    ],
)
def test_what_is_no_tuple_of_prompts_is_named(value: object, wrong: str) -> None:
    assert re.match(wrong, check_prompts(value))


def test_usable_prompts_have_nothing_wrong() -> None:
    assert check_prompts(()) == ""
    assert check_prompts((Prompt(kind=PromptKind.BASE, text="x"),)) == ""
