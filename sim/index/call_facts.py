"""Which calls there are, when each was going on, and what goes to a second channel, from the facts of a run."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.core.events import Event
from trunkline.core.events.delivery import Fallback
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.events.calls import CallChanged, CallStarted
from trunkline.sim.index.intent_facts import Lane
from trunkline.sim.index.projection import Projection, on


@dataclass(slots=True)
class CallFacts:
    """A call, with the seqs of its events."""

    address: Address
    answered: int | None = None
    ended: int | None = None

    @property
    def on(self) -> bool:
        """Whether a text can be heard in the call now, or once it is taken off hold."""
        return self.answered is not None and self.ended is None


class RunCalls(Projection):
    """The calls of a run."""

    def __init__(self) -> None:
        self._calls: dict[Lane, CallFacts] = {}
        #: intent -> the fallback by which it goes to a second channel
        self.second: dict[str, Fallback] = {}

    def at(self, place: Address) -> CallFacts | None:
        """The call that a place is; None for any other place."""
        return self._calls.get(place.lane)

    def going_on(self, place: Address) -> list[CallFacts]:
        """The calls with the number of a place, by its account, that are going on now."""
        lane = place.lane[:3]
        return [call for call in self._calls.values() if call.on and call.address.lane[:3] == lane]

    def goes_second(self, intent: str | None, place: Address) -> bool:
        """Whether it was recorded that an intent goes to a place because its call has ended."""
        found = self.second.get(intent or "")
        return found is not None and found.used.lane == place.lane

    @on(CallStarted)
    def _started(self, _event: Event, body: CallStarted) -> None:
        self._calls[body.address.lane] = CallFacts(body.address)

    @on(CallChanged)
    def _changed(self, event: Event, body: CallChanged) -> None:
        call = self._calls.get(body.address.lane)
        if call is not None and body.state == "answered":
            call.answered = event.seq
        elif call is not None and body.state == "ended":
            call.ended = event.seq

    @on(Fallback)
    def _fallback(self, event: Event, body: Fallback) -> None:
        if body.reason is Reason.SECOND_CHANNEL:
            self.second[event.intent or ""] = body
