"""Words of one place in another: X8."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.events.wire import WireAccepted, WireEdited
from trunkline.sim.index.projection import on
from trunkline.sim.index.wire_side import MarkedQuestion
from trunkline.sim.invariants.wire_side.base import WireSideChecker


class SecretsStay(WireSideChecker):
    """X8: what is said in one place is in no prompt and no message of another."""

    id = "X8"
    title = "Words stay in their place"
    sentence = (
        "Private words of one place are never in the prompt of a turn of another place, nor in a message elsewhere."
    )

    @on(ModelAsked)
    def _asked(self, event: Event, body: ModelAsked) -> None:
        question = self.wire.questions.get(body.marks[-1]) if body.marks else None
        if question is None:
            return
        for secret, said in self.wire.secrets.items():
            if self.wire.shares(secret, question.place):
                continue
            self.exercised += 1
            if secret in body.secrets:
                self._leaked_into_prompt(event, question, said[0])

    def _leaked_into_prompt(self, event: Event, question: MarkedQuestion, said: Event) -> None:
        self.violate(
            at=event.seq,
            summary=f"private words of #{said.seq} are in the prompt for {self.asked(question)}",
            expected=["nothing in the prompt that was said in private elsewhere"],
            actual=[f"words of #{said.seq} in the prompt of #{event.seq}"],
            evidence=[said.seq, question.event.seq, event.seq],
        )

    @on(WireAccepted, WireEdited)
    def _shown(self, event: Event, body: WireAccepted | WireEdited) -> None:
        message = self.wire.messages.changed_by(event)
        # An edit on Telegram names no topic: the message has its place from its acceptance.
        where = body.address if message is None else message.address
        for secret, said in self.wire.secrets.items():
            if secret in body.text.replace("\\", "") and not self.wire.shares(secret, where):
                first = said[0]
                self.exercised += 1
                self.violate(
                    at=event.seq,
                    summary=f"private words of #{first.seq} appear in {self.place(where)}",
                    expected=["nothing of them in another place"],
                    actual=[f"a message with words of #{first.seq} in {self.place(where)}"],
                    evidence=[first.seq, event.seq],
                )
