"""Requests on the wire: they wait when a platform asks for it, and are not repeated once refused: X7 and X10."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.reasons import Reason
from trunkline.sim.events.wire import WireCalled, WireRefused
from trunkline.sim.events.world import PeerSaid, ThreadOpened, ThreadReopened
from trunkline.sim.index.marks import answers_in
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.index.wire_side import PASSING, Lane, RefusedCall
from trunkline.sim.invariants.wire_side.base import WireSideChecker, short

#: seconds for requests that were on their way when the refusal was written, and for clocks that differ
_ON_THE_WAY, _CLOCK = 0.1, 0.05
#: refusals that another token, or nothing at all, may follow
_NOT_FOR_GOOD = PASSING | {Reason.UNAUTHORIZED}
#: platforms that limit each method by itself
_EACH_METHOD = frozenset({"discord", "slack"})
#: the sign of a limit that holds for the whole account
_GLOBAL = "global"


class WaitsHonoured(WireSideChecker):
    """X7: a platform that asks to wait is left alone."""

    id = "X7"
    title = "Waits are honoured"
    sentence = (
        "After a refusal that asks for a wait, no send and no change goes to that chat, or for a limit of the account "
        "to any of its chats, before the wait is over."
    )

    @on(WireRefused)
    def _refused(self, _event: Event, body: WireRefused) -> None:
        self.exercised += body.retry_after is not None

    @on(WireCalled)
    def _called(self, event: Event, body: WireCalled) -> None:
        if body.address is None or body.what not in ("send", "act"):
            return
        for refusal in self.wire.refusals:
            wait, read = refusal.body.retry_after, self.wire.read_by(refusal, event)
            if wait is None or read is None or not self._holds_for(refusal, body):
                continue
            # The refused request itself, made again, was not on its way.
            heard, on_its_way = read.at, 0.0 if _same(refusal.request, body) else _ON_THE_WAY
            if heard + on_its_way <= event.at < heard + wait - _CLOCK:
                self.violate(
                    at=event.seq,
                    summary=(
                        f"{self.place(body.address)} is sent to {event.at - heard:.1f} s after a refusal "
                        f"that asks to wait for {wait:g} s"
                    ),
                    expected=[f"nothing before {heard + wait:.1f} s"],
                    actual=[f"{body.method} at {event.at:.1f} s: {short(body.text)}"],
                    evidence=[refusal.called.seq, refusal.event.seq, event.seq],
                )
                return

    def _holds_for(self, refusal: RefusedCall, body: WireCalled) -> bool:
        there, here = refusal.body.address, body.address
        if here is None or (there.channel, there.account) != (here.channel, here.account):
            return False
        if _GLOBAL in refusal.body.detail.casefold():
            return True
        limited = there.channel not in _EACH_METHOD or refusal.request.method == body.method
        return limited and there.conversation == here.conversation


class RefusedIsNotRepeated(WireSideChecker):
    """X10: what was refused for good is not sent again."""

    id = "X10"
    title = "Refused for good is final"
    sentence = "What a platform refused for good is not sent again unchanged to the same place."

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: refusals for good that still hold
        self._final: list[RefusedCall] = []

    @on(WireRefused)
    def _refused(self, event: Event, body: WireRefused) -> None:
        refusal = next((known for known in self.wire.refusals if known.event is event), None)
        if refusal is None or refusal.request.what != "send" or body.reason in _NOT_FOR_GOOD:
            return
        self.exercised += 1
        self._final.append(refusal)

    @on(ThreadReopened, ThreadOpened)
    def _there_again(self, _event: Event, body: ThreadReopened | ThreadOpened) -> None:
        self._forget(body.address.lane, answers=True)

    @on(PeerSaid)
    def _said(self, _event: Event, body: PeerSaid) -> None:
        """The same notice about another message is no repeat."""
        self._forget(body.address.lane, answers=False)

    def _forget(self, lane: Lane, *, answers: bool) -> None:
        keep = [refused for refused in self._final if refused.body.address.lane != lane]
        mine = [refused for refused in self._final if refused.body.address.lane == lane and not answers]
        self._final = keep + [refused for refused in mine if answers_in(refused.request.text)]

    @on(WireCalled)
    def _called(self, event: Event, body: WireCalled) -> None:
        if body.what != "send" or body.address is None:
            return
        for refusal in self._final:
            responded = self.wire.read_by(refusal, event)
            if responded is not None and _same(refusal.request, body):
                self.violate(
                    at=event.seq,
                    summary=(
                        f"{short(body.text)} is sent to {self.place(body.address)} again, "
                        f"{event.at - responded.at:.1f} s after it was refused for good"
                    ),
                    expected=["no repeat of it"],
                    actual=[f"refused at #{refusal.event.seq} ({_why(refusal.body)}), sent again at #{event.seq}"],
                    evidence=[refusal.called.seq, refusal.event.seq, event.seq],
                )
                return


def _same(this: WireCalled, other: WireCalled) -> bool:
    """Whether two requests ask for the same."""
    if this.address is None or other.address is None or this.address.lane != other.address.lane:
        return False
    return (this.method, this.text, this.digest) == (other.method, other.text, other.digest)


def _why(body: WireRefused) -> str:
    return body.detail or body.reason.value
