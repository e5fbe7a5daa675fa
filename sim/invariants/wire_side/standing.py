"""Answers that stand beside each other: since when, and when that can no longer be a draft and what replaces it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from trunkline.core.events import Event
from trunkline.sim.index.bot_messages import BotMessage, letters
from trunkline.sim.index.wire_side import RunWireSide

#: the numbers of the events by which two messages were accepted
Pair = tuple[int, int]


class StandingAnswers:
    """Follows the answers to each question that people see at the same time.

    Two of them are no copies while one is the beginning of the other: a draft, and the answer that replaces it. What
    has been two answers for longer than `replaced` seconds stays that, whatever is edited or deleted later.
    """

    def __init__(self, wire: RunWireSide, replaced: float) -> None:
        self._wire = wire
        self._replaced = replaced
        #: question -> pairs of messages that are two answers now, each with when that began
        self._since: dict[str, dict[Pair, float]] = {}
        #: questions that have had two answers for too long
        self._sure: set[str] = set()
        #: questions that have two answers now, and had none for too long, in the order in which that began
        self.doubtful: dict[str, None] = {}

    def pass_to(self, at: float) -> Iterator[tuple[str, Pair, float]]:
        """The questions that have had two answers for too long by then, each once: these answers, and since when."""
        for question in list(self.doubtful):
            pairs = self._since[question].items()
            found = next(((pair, since) for pair, since in pairs if at - since > self._replaced), None)
            if found is not None:
                del self.doubtful[question]
                self._sure.add(question)
                yield question, *found

    def change(self, event: Event, message: BotMessage) -> None:
        """A message was accepted, edited or deleted."""
        marks = {mark.question for shown in message.texts for mark in shown.marks}
        for question in marks - self._sure:
            standing = [one for one in self._wire.messages.answering(question) if _shows(one, question)]
            before, now = self._since.get(question, {}), dict[Pair, float]()
            for first, second in combinations(standing, 2):
                pair = first.accepted.seq, second.accepted.seq
                if _are_two(first, second):
                    now[pair] = before.get(pair, event.at)
            self._since[question] = now
            if now:
                self.doubtful.setdefault(question)
            else:
                self.doubtful.pop(question, None)


def _shows(message: BotMessage, question: str) -> bool:
    return message.deleted is None and any(mark.question == question for mark in message.marks)


def _are_two(one: BotMessage, other: BotMessage) -> bool:
    """Whether neither is the beginning of the other."""
    first, second = letters(one.text), letters(other.text)
    return first == second or not (first.startswith(second) or second.startswith(first))
