"""Causes that marks prove, in a run of which only the wire is known.

The gateway between a question and its answer is a black box: no event of the wire names the one before it. The marks of
`trunkline.sim.index.marks` do: a prompt with the mark of a question comes from that question, and a request with the
mark of an answer from the model's answer of that generation.
"""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.sim.events.attach import GatewayExited, GatewayLaunched, GatewayReady
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.wire import WireCalled
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.marks import AnswerMark, answers_in, questions_in


class MarkCauses:
    """Finds the cause of an event that names none. It takes every event once, in order."""

    def __init__(self) -> None:
        #: mark of a question -> where it was asked
        self._asked: dict[str, int] = {}
        #: mark of an answer -> where the model gave it
        self._answered: dict[AnswerMark, int] = {}
        #: number of a start -> its event
        self._launched: dict[int, int] = {}

    def of(self, event: Event) -> int | None:
        """The event that caused this one, by its marks; none where no mark says so."""
        match event.body:
            case PeerSaid(text=text):
                self._asked |= dict.fromkeys(questions_in(text)[-1:], event.seq)
            case ModelAsked(marks=marks):
                # What was said last is what the gateway asks for; what came before waited for it.
                return next((self._asked[mark] for mark in reversed(marks) if mark in self._asked), None)
            case ModelAnswered(text=text):
                self._answered |= {mark: event.seq for mark in answers_in(text) if mark not in self._answered}
            case WireCalled(text=text):
                found = [self._answered[mark] for mark in answers_in(text) if mark in self._answered]
                return max(found, default=None)
            case GatewayLaunched(number=number):
                self._launched[number] = event.seq
            case GatewayReady(number=number) | GatewayExited(number=number):
                return self._launched.get(number)
            case _:
                pass
        return None
