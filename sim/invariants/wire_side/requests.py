"""Requests on the wire: they wait when a platform asks for it, and are not repeated once refused: X7 and X10."""

from collections.abc import Hashable

from trunkline.core.events import Event
from trunkline.core.reasons import Reason
from trunkline.sim.events import wire, world
from trunkline.sim.index.marks import answers_in
from trunkline.sim.index.wire_side import PASSING, Lane, RefusedCall
from trunkline.sim.invariants.wire_side.base import WireSideChecker, short

#: seconds for requests that were on their way when the refusal was written, and for clocks that differ
_ON_THE_WAY, _CLOCK = 0.1, 0.05
#: refusals that another token, or nothing at all, may follow
_NOT_FOR_GOOD = PASSING | {Reason.UNAUTHORIZED, Reason.PLACE_CLOSED}
#: platforms that limit each method by itself
_EACH_METHOD = frozenset({"discord", "slack"})
#: the sign of a limit that holds for the whole account
_GLOBAL = "global"


class WaitsHonoured(WireSideChecker):
    """X7: a platform that asks to wait is left alone."""

    title = "Waits are honoured"
    sentence = (
        "After a refusal that asks for a wait, no send and no change goes to that chat, or for a limit of the account "
        "to any of its chats, before the wait is over."
    )

    #: refusals that ask for a wait which is not known to be over
    _waits: list[RefusedCall] = []

    def on_refused(self, event: Event, body: wire.WireRefused) -> None:
        self.exercised += body.retry_after is not None
        refusal = self.wire.refusal_by(event)
        if refusal is not None and body.retry_after is not None:
            self._waits.append(refusal)

    def _is_over(self, refusal: RefusedCall, at: float) -> bool:
        responded = self.wire.responded.get(refusal.called.seq)
        return responded is not None and at >= responded.at + (refusal.body.retry_after or 0.0)

    def on_called(self, event: Event, body: wire.WireCalled) -> None:
        if body.address is None or body.what not in ("send", "act"):
            return
        self._waits = [refusal for refusal in self._waits if not self._is_over(refusal, event.at)]
        for refusal in self._waits:
            wait, read = refusal.body.retry_after, self.wire.read_by(refusal, event)
            if wait is None or read is None or not self._holds_for(refusal, body):
                continue
            # The refused request itself, made again, was not on its way.
            heard, on_its_way = read.at, 0.0 if _content(refusal.request) == _content(body) else _ON_THE_WAY
            if heard + on_its_way <= event.at < heard + wait - _CLOCK:
                after = f"{event.at - heard:.1f} s after a refusal that asks to wait for {wait:g} s"
                summary = f"{self.place(body.address)} is sent to {after}"
                expected = f"nothing before {heard + wait:.1f} s"
                shown = [f"{body.method} at {event.at:.1f} s: {short(body.text)}"]
                self.accuse(event, summary, expected, refusal.called, refusal.event, shown=shown)
                return

    def _holds_for(self, refusal: RefusedCall, body: wire.WireCalled) -> bool:
        there, here = refusal.body.address, body.address
        if here is None or (there.channel, there.account) != (here.channel, here.account):
            return False
        if _GLOBAL in refusal.body.detail.casefold():
            return True
        limited = there.channel not in _EACH_METHOD or refusal.request.method == body.method
        return limited and there.conversation == here.conversation


class RefusedIsNotRepeated(WireSideChecker):
    """X10: what was refused for good is not sent again."""

    title = "Refused for good is final"
    sentence = "What a platform refused for good is not sent again unchanged to the same place."

    #: refusals for good that still hold, by what was asked for
    _final: dict[Hashable, list[RefusedCall]] = {}
    #: the same by their places; apart: those of answers
    _at: dict[tuple[Lane, bool], list[RefusedCall]] = {}

    def on_refused(self, event: Event, body: wire.WireRefused) -> None:
        refusal = self.wire.refusal_by(event)
        if refusal is None or refusal.request.what != "send" or body.reason in _NOT_FOR_GOOD:
            return
        self.exercised += 1
        self._final.setdefault(_content(refusal.request), []).append(refusal)
        self._at.setdefault((body.address.lane, bool(answers_in(refusal.request.text))), []).append(refusal)

    def on_there_again(self, _event: Event, body: world.ThreadReopened | world.ThreadOpened) -> None:
        self._forget(body.address.lane, answer=True)
        self._forget(body.address.lane, answer=False)

    def on_said(self, _event: Event, body: world.PeerSaid) -> None:
        """The same notice about another message is no repeat."""
        self._forget(body.address.lane, answer=False)

    def _forget(self, lane: Lane, *, answer: bool) -> None:
        for refusal in self._at.pop((lane, answer), ()):
            self._final[_content(refusal.request)].remove(refusal)

    def on_called(self, event: Event, body: wire.WireCalled) -> None:
        if body.what != "send" or body.address is None:
            return
        for refusal in self._final.get(_content(body), ()):
            responded = self.wire.read_by(refusal, event)
            if responded is not None:
                after = f"{event.at - responded.at:.1f} s after it was refused for good"
                summary = f"{short(body.text)} is sent to {self.place(body.address)} again, {after}"
                why = refusal.body.detail or refusal.body.reason.value
                shown = [f"refused at #{refusal.event.seq} ({why}), sent again at #{event.seq}"]
                self.accuse(event, summary, "no repeat of it", refusal.called, refusal.event, shown=shown)
                return


def _content(body: wire.WireCalled) -> Hashable:
    """Place, method and words of a request."""
    return None if body.address is None else body.address.lane, body.method, body.text, body.digest
