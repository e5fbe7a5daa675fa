"""Base of the checkers of the wire side: what they look up, and how they name things in their sentences."""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.values import Address
from trunkline.sim.attach.marks import AnswerMark
from trunkline.sim.index.bot_messages import BotMessage
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide
from trunkline.sim.invariants.base import Checker

#: characters of a text in a sentence
_SHORT = 60


class WireSideChecker(Checker):
    """Base of the checkers of the wire side."""

    wire_side: ClassVar[bool] = True

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self.wire: RunWireSide = run.wire_side

    def asked(self, question: MarkedQuestion) -> str:
        """A question, in a sentence."""
        return f"question {question.mark} of {self.run.name(question.place)}"

    def place(self, address: Address) -> str:
        """A place, in a sentence."""
        return self.run.name(address)


def short(text: str) -> str:
    """A text in a sentence: one line, in quotes, with an ellipsis if it is long."""
    line = " ".join(text.split())
    return f'"{line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"}"'


def marked(mark: AnswerMark) -> str:
    """The mark of an answer, as people see it."""
    return f"AZ{mark.question}-g{mark.generation}"


def when(message: BotMessage) -> str:
    """A message of the gateway, in a sentence."""
    return f"message {message.message_id} of #{message.accepted.seq}"
