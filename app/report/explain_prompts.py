"""Answers of `trunkline explain prompts`, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trunkline.app.text.cells import clean, quoted
from trunkline.app.text.fact import Fact, Tone
from trunkline.core.explain.prompts import PromptsAnswer


def prompts_facts(answer: PromptsAnswer) -> Iterator[Fact]:
    """The prompts in the order in which the agent gets them."""
    question, to = answer.question, answer.question.reply_to
    for note in answer.notes:
        yield Fact("note", note, tone=Tone.WARN)
    where = "which answers nowhere" if to is None else f"which answers on {to.channel} by account {to.account}"
    turn = "a callback turn" if question.callback else "a turn"
    yield Fact("turn", clean(f"{turn} of agent {question.agent}, {where}"))
    for number, one in enumerate(answer.given, 1):
        yield Fact(str(one.prompt.kind), f"{number} {quoted(one.prompt.text)}")
        yield Fact("", f"from {clean(one.path)}")
    if not answer.given:
        yield Fact("prompts", "none")


def prompts_json(answer: PromptsAnswer) -> dict[str, Any]:
    """The answer as JSON."""
    question, to = answer.question, answer.question.reply_to
    return {
        "asked": {
            "agent": question.agent,
            "channel": None if to is None else to.channel,
            "account": None if to is None else to.account,
            "callback": question.callback,
        },
        "profile": answer.profile,
        "prompts": [{"kind": one.prompt.kind, "text": one.prompt.text, "path": one.path} for one in answer.given],
        "text": answer.text,
        "notes": answer.notes,
    }
