"""The names of scenario files that no file declares: those of Trunkline, and those of plug-ins.

A name of a plug-in has a dot, as in ``acme.shouts``: the name of the plug-in, then its own. None of ours has one.
"""

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from trunkline.core.config.files.problems import Path, advice, shown
from trunkline.core.errors import UsageError


class PluginError(UsageError):
    """The plug-in cannot be used."""

    def __reduce__(self) -> tuple[type["PluginError"], tuple[str]]:
        """An error of a worker process reaches its parent with the same message."""
        return type(self), (self.facts,)


@dataclass(frozen=True, kw_only=True)
class Names:
    """The names for a file to use; None: unknown, so not checked."""

    bugs: Collection[str] | None = None
    invariants: Collection[str] | None = None
    #: what only plug-ins add: agents, hands, hooks, faults, fake platforms
    agents: Collection[str] | None = None
    hands: Collection[str] | None = None
    hooks: Collection[str] | None = None
    faults: Collection[str] | None = None
    fakes: Collection[str] | None = None


UNCHECKED = Names()
#: an invariant that is gone -> the one that judges its promise now
MERGED = {"D6": "D4", "S2": "S3", "S5": "S4", "T4": "W2"}


def plugin_of(name: str) -> str:
    """The plug-in of a name; empty for a name of ours."""
    return name.partition(".")[0] if "." in name else ""


def unknown_word(what: str, word: str, known: Collection[str] | None) -> tuple[str, str] | None:
    """The message about an unknown name, and a hint; None for a known one."""
    if known is None or word in known:
        return None
    hint = advice(word, known) if known else "there are none"
    own = plugin_of(word)
    if own and own not in map(plugin_of, known):
        hint = f"the plug-in {own!r} may be missing: install it, or name its module with --plugin"
    return f"expected {what}, found {shown(word)}", hint


def unknown_invariant(word: str, known: Collection[str] | None) -> tuple[str, str] | None:
    """The message about an unknown invariant, and a hint; None for a known one."""
    wrong = unknown_word("an invariant", word, known)
    return wrong if wrong is None or word not in MERGED else (wrong[0], f"{MERGED[word]} judges its promise now")


@functools.cache
def steps_of(pattern: str) -> tuple[str, ...]:
    """Split a pattern: ``script[].in`` -> ``script``, ``[]``, ``in``."""
    return tuple(part for part in pattern.replace("[]", ".[]").split(".") if part)


def select(value: Any, steps: tuple[str, ...], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a tree that matches a pattern, with its path."""
    if not steps:
        yield path, value
    elif steps[0] == "[]":
        if isinstance(value, list):
            for index, item in enumerate(cast("list[Any]", value)):
                yield from select(item, steps[1:], (*path, index))
        else:
            yield from select(value, steps[1:], path)
    elif isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        for name in found if steps[0] == "*" else steps[:1]:
            if name in found:
                yield from select(found[name], steps[1:], (*path, name))


def text_matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern in which only ``*`` is special (any text, line ends included)."""
    return fnmatchcase(text, _glob(pattern))


def expected_text_matches(pattern: str, text: str) -> bool:
    r"""Whether a text matches what a strict scenario expects: there ``\*`` is the character ``*``."""
    return fnmatchcase(text, "[*]".join(map(_glob, pattern.split("\\*"))))


def exact_pattern(text: str) -> str:
    """The pattern of a strict scenario for exactly this text."""
    return text.replace("*", "\\*")


def _glob(pattern: str) -> str:
    return pattern.replace("[", "[[]").replace("?", "[?]")


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
