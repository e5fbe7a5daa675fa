"""Parts of answers: what the model said, in messages that do not have its mark. Of runs known by their wire only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trunkline.core.events import Event
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.index.bot_messages import BotMessage, letters

#: an answer that was recorded in part ends so
CUT = "…"
#: letters from which on the words of an answer are no chance
PART = 40
#: so many times these letters in a row that nobody sees are missing; fewer may be markup that looks different
_MISSING = 3


@dataclass(slots=True)
class ModelTurn:
    """A request to the model that is no request beside a turn."""

    event: Event
    body: ModelAsked
    answered: Event | None = None

    @property
    def last(self) -> str:
        """The mark of what was said last; empty: nobody asked anything."""
        return self.body.marks[-1] if self.body.marks else ""

    @property
    def answer(self) -> str:
        """The answer of the model; empty: nothing yet, or a failure."""
        body = None if self.answered is None else self.answered.body
        return body.text if isinstance(body, ModelAnswered) and body.status == 200 else ""


def turns_of_part(
    turns: Sequence[ModelTurn], messages: Sequence[BotMessage], message: BotMessage
) -> Iterator[ModelTurn]:
    """The turns of whose answers a message without a mark may be a part, in order: some have the same words."""
    text, found = letters(message.text), False
    for turn in turns:
        answer = letters(turn.answer)
        # Of an answer that was recorded in part, the first message may have more than was recorded.
        begins = bool(answer) and turn.answer.endswith(CUT) and text.startswith(answer)
        if text and turn.event.seq < message.accepted.seq and (text in answer or begins):
            found = True
            yield turn
    cut = _rest_of_a_cut_answer(turns, messages, message) if text and not found else None
    if cut is not None:
        yield cut


def _rest_of_a_cut_answer(
    turns: Sequence[ModelTurn], messages: Sequence[BotMessage], message: BotMessage
) -> ModelTurn | None:
    """The turn whose answer is going on there, if only the beginning of that answer was recorded."""
    for before in reversed(messages):
        marks = {mark.question for mark in before.marks}
        if marks and before.accepted.seq < message.accepted.seq and before.address == message.address:
            return next((turn for turn in turns if turn.answer.endswith(CUT) and turn.last in marks), None)
    return None


def is_part_missing(answer: str, shown: Iterable[str]) -> bool:
    """Whether a part of an answer is in none of the texts that people see, in order."""
    whole = letters(answer)
    if len(whole) < PART * _MISSING:
        return False
    seen, missing = "".join(map(letters, shown)), 0
    for at in range(0, len(whole) - PART + 1, PART):
        missing = 0 if whole[at : at + PART] in seen else missing + 1
        if missing == _MISSING:
            return True
    return False
