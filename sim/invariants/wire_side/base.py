"""Base of the checkers of the wire side: what they look up, and how they name things in their sentences."""

from typing import ClassVar

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events import attach, model, processes, script, wire, world
from trunkline.sim.index.bot_messages import BotMessage
from trunkline.sim.index.marks import AnswerMark
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide
from trunkline.sim.invariants.base import Checker, Verdict

#: characters of a text in a sentence
_SHORT = 60


#: everything by which a run goes on: what may be judged because time has passed is judged with the next of them
ANYTHING = (
    *(attach.GatewayExited, attach.GatewayLaunched, attach.GatewayReady, model.ModelAnswered, model.ModelAsked),
    *(world.PeerSaid, world.PlatformConfirmed, world.PlatformPushed, processes.ProcessCrashed),
    *(processes.ProcessStopped, script.RunPhase, wire.WireAccepted, wire.WireCalled, wire.WireDeleted),
    *(wire.WireEdited, wire.WireRefused, wire.WireResponded),
)


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


class WholeRunChecker(WireSideChecker):
    """Base of the checkers that judge the whole run at its end.

    A violation that nothing can excuse any more is reported as soon as that is sure, and stays. The end adds others.
    """

    #: why a checker is sure of nothing before the end; empty: it can be
    only_at_the_end: ClassVar[str] = ""

    _is_over = False

    def finish(self, last: Event) -> None:
        """The trace has ended: what was not sure before is judged now."""
        self._is_over, self._note = True, ""

    def cut(self, when: str) -> None:
        self._is_over = True
        super().cut(when)
        if self.violations:
            self._note = f"not judged to its end: the run was cut {when}"

    def so_far(self) -> str:
        """The violation that is not sure yet, and stays if nothing more happens; empty for none."""
        return ""

    def verdict(self) -> Verdict:
        if not self._is_over:
            self._note = "; ".join(filter(None, (self.only_at_the_end, self.so_far())))
        return super().verdict()


def short(text: str) -> str:
    """A text in a sentence: one line, in quotes, with an ellipsis if it is long."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= _SHORT else line[: _SHORT - 1] + '…'}”"


def marked(mark: AnswerMark) -> str:
    """The mark of an answer, as people see it."""
    return f"AZ{mark.question}-g{mark.generation}"


def when(message: BotMessage) -> str:
    """A message of the gateway, in a sentence."""
    return f"message {message.message_id} of #{message.accepted.seq}"
