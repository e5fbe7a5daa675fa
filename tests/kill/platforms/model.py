"""A model that repeats the mark of each question, with the number of times that it was asked for it."""

from collections import Counter
from random import Random
from typing import Any

import msgspec

from tests.kill.platforms.record import Moment, Observer, mark_of
from trunkline.sim.wire.model.replies import ModelReply, says
from trunkline.sim.wire.model.server import Asked, ModelServer

#: seconds that an answer takes
_THINKS = (0.0, 0.15)


class MarkModel:
    """The model of a storm."""

    def __init__(self, observer: Observer, seed: int) -> None:
        self._observer = observer
        self._random = Random(f"model/{seed}")
        #: by mark: how often it was asked for
        self.asked: Counter[str] = Counter()
        self.server = ModelServer(self._reply, seen=self._seen, note_answer=self._answered)

    def _reply(self, asked: Asked) -> ModelReply:
        mark = mark_of(_last_said(asked.body["messages"]))
        self.asked[mark] += 1
        answer = says(f"answer to {mark} g{self.asked[mark]}")
        return msgspec.structs.replace(answer, before=self._random.uniform(*_THINKS))

    def _seen(self, _asked: Asked) -> None:
        self._observer.saw(Moment.ASKED)

    def _answered(self, asked: Asked, _reply: ModelReply) -> None:
        self._observer.model_replied(mark_of(_last_said(asked.body["messages"])))


def _last_said(messages: list[dict[str, Any]]) -> str:
    """What was said last by a person."""
    content = next(one["content"] for one in reversed(messages) if one["role"] == "user")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
