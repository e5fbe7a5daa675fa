"""The scripted model of a run: it answers with marks everything that was said since it last spoke."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from trunkline.sim.attach.marks import AnswerMark, answer_text, questions_in
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.wire.model.answers import said_since_the_last_answer, text_of
from trunkline.sim.wire.model.replies import ModelReply, says, says_at_once
from trunkline.sim.wire.model.server import Asked

#: characters of a prompt's end that are recorded
_TAIL = 700


class ScriptedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says to a question: a text before the mark, after `wait` seconds, with `pause` between pieces."""

    text: str = ""
    wait: float = 0.0
    pause: float = 0.0


class MarkedModel:
    """Answers each request. `answer_to`: the answer to questions, by the text that was said."""

    def __init__(self, profile: GatewayProfile, answer_to: Callable[[str], ScriptedAnswer]) -> None:
        self._ignore = [re.compile(one, re.DOTALL) for one in profile.ignore]
        self._obey = [(re.compile(one.part, re.DOTALL), one.say) for one in profile.obey]
        self._tools = profile.tools
        self._answer_to = answer_to
        self._answered = Counter[str]()

    def asked(self, asked: Asked, secrets: Iterable[str] = ()) -> ModelAsked:
        """The event of a request."""
        said = tuple(self.words(said_since_the_last_answer(asked.body.get("messages") or ())))
        whole = _whole(asked)
        return ModelAsked(
            model=str(asked.body.get("model", "")),
            said=said,
            marks=questions_in("\n".join(said)),
            beside=self._tools and not asked.body.get("tools"),
            secrets=tuple(one for one in secrets if one in whole),
            stream=bool(asked.body.get("stream")),
            tools=len(asked.body.get("tools") or ()),
            tail=whole[-_TAIL:],
        )

    def words(self, said: Iterable[str]) -> list[str]:
        """What people said, without what the gateway is known to add."""
        text = "\0".join(said)
        for pattern in self._ignore:
            text = pattern.sub("", text)
        for pattern, _ in self._obey:
            found = list(pattern.finditer(text))
            text = text[found[-1].end() :] if found else text
        return [one for one in text.split("\0") if one.strip()]

    def reply(self, asked: Asked, body: ModelAsked) -> ModelReply:
        """The answer to a request."""
        stream = bool(asked.body.get("stream"))
        if body.beside:
            return says("a short title") if stream else says_at_once("a short title")
        marks: list[AnswerMark] = []
        for mark in body.marks:
            self._answered[mark] += 1
            marks.append(AnswerMark(mark, self._answered[mark]))
        scripted = self._answer_to("\n".join(body.said)) if marks else ScriptedAnswer(text=self._told(asked))
        text = answer_text(scripted.text, marks)
        made = says(text, wait=scripted.pause) if stream else says_at_once(text)
        return msgspec.structs.replace(made, before=scripted.wait)

    def _told(self, asked: Asked) -> str:
        """What an obedient model says that is asked nothing."""
        text = "\n".join(said_since_the_last_answer(asked.body.get("messages") or ()))
        told = [say for pattern, say in self._obey if say and pattern.search(text)]
        return told[-1] if told else "Nothing was asked."


def _whole(asked: Asked) -> str:
    messages = asked.body.get("messages") or ()
    return "\n".join(text_of(cast("dict[str, Any]", one)) for one in messages if isinstance(one, dict))
