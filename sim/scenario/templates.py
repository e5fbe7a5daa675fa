"""Text templates of scenario files: ``{text}`` is a slot; ``{{`` and ``}}`` are literal braces."""

import re
from collections.abc import Mapping

from trunkline.core.config.files.problems import advice

#: slot -> its meaning
SLOTS = {
    "text": "the message to the agent, or the result of the hand it called",
    "peer": "display name of the sender",
    "result": "result of the hand",
    "hand": "id of the hand",
    "outcome": "how the hand ended: ok, error, timeout, cancelled or lost",
    "label": "label of the delegation whose result it is",
    "asked_by": "display name of the person for whom the turn is done",
    "open": "after `check`: number of delegations that have not ended",
    "delegations": "after `check`: each of them with its state and progress, joined by ` | `",
    "task": "the task given to the hand",
    "memory": "the session's lines so far, including the current message, joined by ` | `",
    "status": (
        "what became of the turn's last `send`, `act`, `delegate` or `cancel`: `queued`, `done`, `dry-run`, "
        "`suppressed`, `accepted`, `cancelled`, `ended` or `refused`"
    ),
    "error": "why that one was refused",
    "data": "the platform's answer to that one, as JSON; of a `delegate` its id",
    "n": "number of the turn in its session, or of the run of the hand, from 1",
}

#: slots of a hook's `change`
HOOK_SLOTS = {"text": "the text, as changed by earlier hooks", "original": "the original text"}

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_BRACES = {"{{": "{", "}}": "}"}


def template_problem(text: str, slots: Mapping[str, str] = SLOTS) -> tuple[str, str] | None:
    """The problem of a template, and a hint; None if it is valid."""
    for token in _TOKEN.finditer(text):
        if token[0] in _BRACES or token[1] in slots:
            continue
        if token[1] is None:
            return f"expected a template, found a lone {token[0]}", f"write {token[0] * 2} for a brace"
        return f"unknown slot {token[0]}", f"{advice(token[1].strip(), slots)}; write {{{{ and }}}} for braces"
    return None


def uses(text: str, slot: str) -> bool:
    """Whether a template has a slot."""
    return f"{{{slot}}}" in text and any(token[1] == slot for token in _TOKEN.finditer(text))


def fill(text: str, values: Mapping[str, object]) -> str:
    """The text of a valid template; a slot without a value is empty."""
    return _TOKEN.sub(lambda token: _BRACES.get(token[0]) or str(values.get(token[1] or "", "")), text)
