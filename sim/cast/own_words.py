"""The words of a hand's answer that nothing else in a scenario says, so that they prove where they come from."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from pydantic import BaseModel

from trunkline.core.actions.result import ActionStatus
from trunkline.core.hands.callback_message import OUTCOMES
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import IntentState
from trunkline.sim.scenario.model.scenario import Scenario

_WORD = re.compile(r"\w{4,}")
#: a word with a slot in it, such as ``answer{n}``
_GLUED = re.compile(r"[\w{}]*\{\w+\}[\w{}]*")
#: reasoning in a text of a model; one that is never closed reaches to the end
_REASONING = re.compile(r"<(think(?:ing)?|thought|antthinking)>(.*?)(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_SLOT = re.compile(r"\{\w+\}")
#: what the gateway says itself, also through slots of templates such as `{outcome}`: nothing of it is a mark
_GATEWAY = (
    "done result posted here text hand returned value type instead within characters wrote message task running",
    *(part for outcome, words in OUTCOMES.items() for part in (outcome.value, words)),
    *(word.value for words in (ActionStatus, CallbackState, IntentState) for word in words),
    *(part for reason in Reason for part in (reason.value, reason.sentence)),
)


class OwnWords:
    """Finds the marks of answers: the words that no script, no person and no other hand of the scenario says.

    A word counts for where it stands literally. One that a template makes up counts only if no other template of the
    scenario could make it up too.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._others = lru_cache(maxsize=None)(self._said_beside)

    def marks(self, text: str, agent: str = "") -> tuple[str, ...]:
        """The distinctive words of an answer, in order of their first appearance; of an agent that works as a hand."""
        if not text:
            return ()
        said, made_up = self._others(agent)
        found = dict.fromkeys(word for word in _WORD.findall(text) if not word.isdigit() and word not in said)
        return tuple(word for word in found if not any(pattern.fullmatch(word) for pattern in made_up))

    def hidden(self, text: str, agent: str) -> tuple[str, ...]:
        """The distinctive words of the reasoning in a text of an agent.

        Reasoning beside code is left alone: there its tags may be text.
        """
        if "<" not in text or "`" in text:
            return ()
        inside = " ".join(found[2] for found in _REASONING.finditer(text))
        aloud = [text, *_texts(self._scenario.cast.agents.get(agent, ()))]
        known = {word for said in aloud for word in _WORD.findall(_REASONING.sub(" ", said))}
        return tuple(word for word in self.marks(inside, agent) if word not in known)

    def _said_beside(self, agent: str) -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
        """The words that are said elsewhere, and the patterns of those that templates elsewhere make up."""
        scenario = self._scenario
        texts = list(_GATEWAY)
        parts = (scenario.gateway, scenario.world, scenario.stored, scenario.script)
        texts += [text for part in parts for text in _texts(part)]
        texts += [text for name, rules in scenario.cast.agents.items() if name != agent for text in _texts(rules)]
        texts += _texts(scenario.cast.hooks)
        # A template may say the name of a hand.
        texts += scenario.cast.hands if any("{hand}" in text for text in _texts(scenario.cast.agents)) else ()
        said = {word for text in texts for word in _WORD.findall(text)}
        glued = {word for text in texts for word in _GLUED.findall(text) if _SLOT.sub("", word)}
        patterns = [re.compile(r"\w*".join(map(re.escape, _SLOT.split(word)))) for word in sorted(glued)]
        return frozenset(said), tuple(patterns)


def _texts(part: object) -> Iterator[str]:
    """Every text in a part of a scenario, names of fields aside."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, BaseModel):
        for name in type(part).model_fields:
            yield from _texts(getattr(part, name))
    elif isinstance(part, Mapping):
        for key, value in part.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(key)  # pyright: ignore[reportUnknownArgumentType]
            yield from _texts(value)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(part, Sequence) and not isinstance(part, bytes):
        for item in part:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item)  # pyright: ignore[reportUnknownArgumentType]
