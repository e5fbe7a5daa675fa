"""The answers of the fakes' model: an echo of the question, or an answer that a client has written down."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from trunkline.sim.wire.json_values import mappings
from trunkline.sim.wire.model import replies
from trunkline.sim.wire.model.replies import ModelReply
from trunkline.sim.wire.model.server import Asked

#: characters of each question that an echo repeats
_REPEATED = 400


def said_since_the_last_answer(messages: Sequence[object]) -> tuple[str, ...]:
    """The texts of the user since the model last spoke; calls of tools are no answer."""
    found: list[str] = []
    for message in mappings(messages):
        if message.get("role") == "assistant" and not message.get("tool_calls") and text_of(message):
            found.clear()
        elif message.get("role") == "user":
            found.append(text_of(message))
    return tuple(found)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content is a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in mappings(content) if isinstance(part.get("text"), str))


class Echo:
    """Answers everything that was said since the model last spoke: ``re: QUESTION``, a line for each question.

    Answers that somebody has `written` come first, in their order. When the same was asked before, the answer ends in
    its number, such as ``(2)``. So a reader distinguishes a message that was sent again from a turn that was run again.
    """

    def __init__(self) -> None:
        self._asked = Counter[tuple[str, ...]]()
        self.written: list[Callable[[Asked], ModelReply]] = []

    def __call__(self, asked: Asked) -> ModelReply:
        if not isinstance(asked.body.get("messages"), list):
            return replies.fails(400, "Missing required parameter: 'messages'.", code="missing_required_parameter")
        if self.written:
            return self.written.pop(0)(asked)
        said = said_since_the_last_answer(asked.body["messages"])
        self._asked[said] += 1
        text = "\n".join(f"re: {question[:_REPEATED]}" for question in said) or "re: (nothing was said)"
        times = self._asked[said]
        text = f"{text} ({times})" if times > 1 else text
        return replies.says(text) if asked.body.get("stream") else replies.says_at_once(text)


class WantedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}


class WrittenAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer that somebody has written down: a text, calls of tools, or a failure."""

    says: str = ""
    calls: tuple[WantedCall, ...] = ()
    #: the status of a failure, e.g. 429
    fails: int | None = None
    #: seconds until the answer begins
    wait: float = 0.0
    #: where the answer ends too early: `break`, the connection is closed; `hang`: nothing more comes
    ends: str | None = None

    def __post_init__(self) -> None:
        answers = bool(self.says or self.calls)
        if answers == (self.fails is not None):
            raise ValueError("expected `says`, `calls` or both, or `fails`")
        if self.fails is not None and not 400 <= self.fails <= 599:
            raise ValueError(f"`fails`: expected a status from 400 to 599, found {self.fails}")
        if self.ends not in (None, "break", "hang"):
            raise ValueError(f"`ends`: expected `break` or `hang`, found {self.ends!r}")
        if self.wait < 0:
            raise ValueError(f"`wait`: expected seconds, 0 or more, found {self.wait:g}")

    def reply(self, asked: Asked) -> ModelReply:
        """The reply: as a stream or at once, as the request asks."""
        return msgspec.structs.replace(self._body(bool(asked.body.get("stream"))), before=self.wait)

    def _body(self, stream: bool) -> ModelReply:
        if self.fails is not None:
            return replies.fails(self.fails)
        if self.ends is not None:
            return replies.ends_early(self.says, replies.Break() if self.ends == "break" else replies.Hang())
        if self.calls:
            calls = [replies.tool_call(call.name, call.arguments, index=n) for n, call in enumerate(self.calls)]
            return (replies.wants if stream else replies.wants_at_once)(*calls, text=self.says)
        return replies.says(self.says) if stream else replies.says_at_once(self.says)
