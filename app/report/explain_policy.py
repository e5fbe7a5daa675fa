"""Answers of `trunkline explain policy`, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trunkline.app.report.explain import place_json
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.explain.policy_facts import policy_facts
from trunkline.app.view.labels.route_facts import place_of
from trunkline.core.explain.policy import PolicyAnswer


def policy_answer_facts(answer: PolicyAnswer) -> Iterator[Fact]:
    """Whether an action is allowed, and why."""
    for note in answer.notes:
        yield Fact("note", note, tone=Tone.WARN)
    work = answer.question.work.value
    yield from policy_facts(answer.decided, place_of, nowhere=work, more=_decided_by(answer))


def _decided_by(answer: PolicyAnswer) -> Iterator[Fact]:
    setting = answer.setting
    if setting is None:
        yield Fact("setting", "no setting changes this")
        return
    given = " (the default)" if setting.default else ""
    yield Fact("setting", f"{setting.path}: {setting.value}{given}")


def policy_json(answer: PolicyAnswer) -> dict[str, Any]:
    """The answer as JSON."""
    question, decision, setting = answer.question, answer.decision, answer.setting
    mark = decision.mark
    return {
        "asked": {
            "action": question.action,
            "agent": question.agent,
            "work": question.work,
            "from": place_json(question.origin),
            "to": place_json(question.target),
            "name": question.label,
            "last": place_json(question.last),
            "embeds": question.embeds,
        },
        "profile": answer.profile,
        "allowed": decision.allowed,
        "reason": decision.reason,
        "sentence": decision.reason.sentence,
        "error": decision.error or None,
        "mark": None
        if mark is None
        else {"label": mark.label, "prefix": mark.prefix, "suffix": mark.suffix, "embed": mark.embed},
        "setting": None
        if setting is None
        else {"path": setting.path, "value": setting.value, "default": setting.default},
        "notes": answer.notes,
    }
