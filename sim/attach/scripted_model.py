"""The scripted model of a run: it answers with marks everything that was said since it last spoke.

What it says decides what looks like a defect of a gateway. So it answers every question of a prompt and not only the
newest; it leaves what the gateway itself has added, and what it asks to leave; and a question that a gateway merely
quotes, in a title, a summary or beside another question, is not answered again.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.index.marks import AnswerMark, answer_text, answers_in, questions_in
from trunkline.sim.wire.json_values import mappings
from trunkline.sim.wire.model.answers import said_since_the_last_answer, text_of
from trunkline.sim.wire.model.replies import ModelReply, says, says_at_once
from trunkline.sim.wire.model.server import Asked

#: characters of a prompt's end that are recorded
_TAIL = 700
#: pieces of a streamed answer that comes with pauses, at most
_MOST_PIECES = 40
#: what asks for no turn, in any gateway: a title, a summary, a memory of what was said
_BESIDE = re.compile(
    r"\b(generate|create|write|give|suggest|come up with|provide)\b[^.\n]{0,80}\b(title|headline|name for this)\b"
    r"|\b(summari[sz]e|summary of|compact|condense)\b[^.\n]{0,80}\b(conversation|messages|chat|session|history)\b"
    r"|\b(title|summary) (for|of) (the|this) (conversation|chat|session)\b",
    re.IGNORECASE,
)


class ScriptedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of the model: a text before the mark, after `wait` seconds, with `pause` between pieces."""

    text: str = ""
    wait: float = 0.0
    pause: float = 0.0


class MarkedModel:
    """Answers each request. `answer_to`: the answer to a question, by its mark."""

    def __init__(self, profile: GatewayProfile, answer_to: Callable[[str], ScriptedAnswer]) -> None:
        self._ignore = [re.compile(pattern, re.DOTALL) for pattern in profile.ignore]
        self._obey = [(re.compile(instruction.part, re.DOTALL), instruction.say) for instruction in profile.obey]
        #: turns of this gateway have tools, so that a request without them is none
        self._has_tools = profile.tools
        self._answer_to = answer_to
        self._answered = Counter[str]()

    def asked(self, asked: Asked, secrets: Iterable[str] = ()) -> ModelAsked:
        messages = _messages(asked)
        said = tuple(self.words(said_since_the_last_answer(messages)))
        whole = "\n".join(text_of(message) for message in messages)
        tools = len(asked.body.get("tools") or ())
        return ModelAsked(
            model=str(asked.body.get("model", "")),
            said=said,
            marks=self._questions(said, whole),
            beside=self._is_beside(tools, said, messages),
            secrets=tuple(secret for secret in secrets if secret in whole),
            stream=bool(asked.body.get("stream")),
            tools=tools,
            tail=whole[-_TAIL:],
        )

    def words(self, said: Iterable[str]) -> list[str]:
        """The texts of people in a prompt, without what the gateway is known to add."""
        text = "\0".join(said)
        for pattern in self._ignore:
            text = pattern.sub("", text)
        for pattern, _ in self._obey:
            found = list(pattern.finditer(text))
            text = text[found[-1].end() :] if found else text
        return [line for line in text.split("\0") if line.strip()]

    def _questions(self, said: Iterable[str], whole: str) -> tuple[str, ...]:
        """The marks of what was asked. Beside a new question, one that the prompt shows as answered is a quotation."""
        answered = {mark.question for mark in answers_in(whole)}
        found: list[str] = []
        for text in said:
            marks = questions_in(text)
            new = [mark for mark in marks if mark not in answered or not self._answered[mark]]
            found += new or marks
        return tuple(dict.fromkeys(found))

    def _is_beside(self, tools: int, said: Iterable[str], messages: list[dict[str, Any]]) -> bool:
        """Whether a request is no turn. Gateways without tools have turns too."""
        text = "\n".join(said)
        system = "\n".join(text_of(message) for message in messages if message.get("role") in ("system", "developer"))
        if tools:
            return False
        # A person's words come with their own mark; who quotes the answer to it asks about the conversation.
        if any(mark.question in questions_in(text) for mark in answers_in(text)) or self._has_tools:
            return True
        asks = text if not questions_in(text) else text.partition("QZ")[0]
        return bool(_BESIDE.search(f"{system[:2000]}\n{asks}")) and len(messages) <= 2 + bool(system)

    def reply(self, asked: Asked, body: ModelAsked) -> ModelReply:
        stream = bool(asked.body.get("stream"))
        if body.beside:
            return says("a short title") if stream else says_at_once("a short title")
        if not body.marks:
            instructed = self._obedient_text(asked)
            return says(instructed) if stream else says_at_once(instructed)
        scripted = [self._answer_to(mark) for mark in body.marks]
        lines: list[str] = []
        for mark, answer in zip(body.marks, scripted, strict=True):
            self._answered[mark] += 1
            lines.append(answer_text(answer.text, [AnswerMark(mark, self._answered[mark])]))
        text, pause = "\n".join(lines), max(answer.pause for answer in scripted)
        size = max(7, -(-len(text) // _MOST_PIECES)) if pause else 7
        made = says(text, wait=pause, size=size) if stream else says_at_once(text)
        return msgspec.structs.replace(made, before=max(answer.wait for answer in scripted))

    def _obedient_text(self, asked: Asked) -> str:
        """The answer of an obedient model to a prompt without a question."""
        text = "\n".join(said_since_the_last_answer(_messages(asked)))
        instructed = [say for pattern, say in self._obey if say and pattern.search(text)]
        return instructed[-1] if instructed else "Nothing was asked."


def _messages(asked: Asked) -> list[dict[str, Any]]:
    return mappings(asked.body.get("messages"))
