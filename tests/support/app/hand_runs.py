"""Runs made by hand in which delegations come to every end that there is: see `many_hands`."""

from tests.support.app.author import ANA, BO, DEPLOY, DM, KEYS, OPS, Author
from tests.support.app.bound_runs import PLACES
from tests.support.app.traces import verdicts
from trunkline.app.runs.model import Run
from trunkline.core.events.delivery import IntentSettled, LaneWaiting
from trunkline.core.events.gateway import InboundAdmitted, TurnEnded, TurnStarted
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, IntentKind, IntentState, Peer, WorkKind

_C = CallbackState


class Hands:
    """Writes the events of delegations as the gateway does."""

    def __init__(self, author: Author) -> None:
        self.author = author
        self._at: dict[str, int] = {}
        self._callback: dict[str, CallbackState] = {}
        self._hand: dict[str, str] = {}

    def accept(
        self,
        cause: int,
        turn: str,
        hand: str,
        task: str,
        *,
        origin: Address | None,
        asked_by: Peer = ANA,
        kind: str = "function",
        label: str = "",
        parent: str | None = None,
        deadline: float | None = 1800.0,
    ) -> str:
        delegation = self.author.id("delegation")
        body = DelegationAccepted(
            hand=hand,
            task=task,
            origin=origin,
            session_key=KEYS[OPS],
            deadline=None if deadline is None else self.author.now + deadline,
            label=label,
            hand_kind=kind,
            asked_by=asked_by,
            message_id="p101",
            parent=parent,
            depth=2 if parent else 1,
        )
        self._at[delegation] = self.author.gateway.record(body, cause, turn=turn, inbound="in1", delegation=delegation)
        self._hand[delegation], self._callback[delegation] = hand, _C.WAITING
        return delegation

    def start(self, delegation: str, worker: str = "") -> None:
        self._record(delegation, DelegationStarted(hand=self._hand[delegation], worker=worker))

    def progress(self, delegation: str, text: str) -> None:
        self._record(delegation, DelegationProgressed(hand=self._hand[delegation], text=text))

    def finish(
        self,
        delegation: str,
        text: str,
        outcome: HandOutcome = HandOutcome.OK,
        reason: Reason | None = None,
        *,
        by: str = "",
        to: CallbackState = _C.PENDING_TURN,
        why: Reason | None = None,
    ) -> None:
        body = DelegationFinished(hand=self._hand[delegation], outcome=outcome, text=text, reason=reason, by=by)
        self._record(delegation, body)
        self.change(delegation, to, why)
        if to is _C.PENDING_TURN:
            admitted = InboundAdmitted(work=WorkKind.CALLBACK, session_id="s", session_key=KEYS[OPS])
            self._record(delegation, admitted, inbound=f"{delegation}.back")

    def late(self, delegation: str, text: str, by: str) -> None:
        hand, why = self._hand[delegation], Reason.ALREADY_FINISHED
        self._record(delegation, DelegationIgnored(hand=hand, reason=why, text=text, outcome=HandOutcome.OK, by=by))

    def refuse(self, delegation: str, by: str) -> None:
        body = AnswerTurnedAway(verb="answer", reason=Reason.WRONG_TICKET, detail="ticket x", by=by)
        self._record(delegation, body)

    def change(self, delegation: str, state: CallbackState, reason: Reason | None = None) -> None:
        self._record(delegation, CallbackChanged(before=self._callback[delegation], state=state, reason=reason))
        self._callback[delegation] = state

    def turn(self, delegation: str) -> str:
        """The callback turn begins."""
        turn = self.author.id("turn")
        body = TurnStarted(agent="jeeves", session_id="s", session_key=KEYS[OPS], work=WorkKind.CALLBACK, origin=OPS)
        self._record(delegation, body, turn=turn, inbound=f"{delegation}.back")
        self.change(delegation, _C.IN_TURN)
        return turn

    def end_turn(
        self, delegation: str, turn: str, outcome: str, state: CallbackState, reason: Reason | None = None
    ) -> None:
        self._record(delegation, TurnEnded(outcome=outcome, reason=reason), turn=turn, inbound=f"{delegation}.back")
        self.change(delegation, state, reason)

    def answer(self, delegation: str, turn: str, place: Address, text: str) -> str:
        """The turn ends, and its answer is queued."""
        self.end_turn(delegation, turn, "replied", _C.QUEUED)
        cause, kind = self._at[delegation], IntentKind.REPLY
        return self.author.prepare(place, text, cause, kind=kind, reason=Reason.CALLBACK_TURN, delegation=delegation)

    def deliver(self, delegation: str, intent: str, place: Address, text: str) -> None:
        self.author.attempt(place, intent, delegation=delegation)
        wire = self.author.accept(place, text, intent, delegation=delegation)
        self.author.settle(place, text, intent, wire)
        self.change(delegation, _C.DELIVERED)

    def report(self, delegation: str, place: Address, text: str, *, seconds: float = 0.4) -> None:
        """Turn, answer and delivery in one go."""
        turn = self.turn(delegation)
        self.author.wait(seconds)
        intent = self.answer(delegation, turn, place, text)
        self.author.wait(seconds / 2)
        self.deliver(delegation, intent, place, text)

    def _record(self, delegation: str, body: object, **ids: str) -> None:
        self._at[delegation] = self.author.gateway.record(
            body,  # pyright: ignore[reportArgumentType]
            self._at[delegation],
            delegation=delegation,
            **ids,
        )


def many_hands() -> Run:
    """Eight delegations side by side, with every end: delivered, no reply, failed, parked, cancelled, late, nested."""
    author = Author()
    author.world(PLACES)
    author.wait(0.1)
    admitted, inbound = author.say(OPS, ANA, "release it, all of you")
    started, turn = author.turn(OPS, admitted, inbound)
    hands = Hands(author)
    mail = hands.accept(started, turn, "mail", "read the mail", origin=OPS, label="inbox")
    lead = hands.accept(started, turn, "lead", "prepare the release", origin=OPS, kind="agent", label="release")
    build = hands.accept(started, turn, "builder", "build it", origin=OPS, kind="worker", deadline=120.0)
    quiet = hands.accept(started, turn, "watch", "look for errors", origin=OPS)
    dead = hands.accept(started, turn, "codex", "write to bo", origin=DM, asked_by=BO)
    parked = hands.accept(started, turn, "scout", "look around", origin=DEPLOY)
    author.gateway.record(TurnEnded(outcome="silent", reason=Reason.NO_REPLY), started, turn=turn, inbound=inbound)
    for delegation in (mail, lead, quiet, dead, parked):
        author.wait(0.1)
        hands.start(delegation)
    author.wait(0.5)
    notes = hands.accept(started, turn, "mail", "collect the notes", origin=None, parent=lead)
    hands.start(notes)
    author.wait(1.0)
    hands.finish(mail, "three new ones")
    hands.start(build, worker="w7")
    hands.progress(build, "47 of 90 files")
    author.wait(0.6)
    hands.report(mail, OPS, "mail: three new ones")
    hands.finish(notes, "12 notes", to=_C.SUPPRESSED, why=Reason.PASSED_ON)
    author.wait(1.0)
    hands.finish(quiet, "no errors")
    hands.end_turn(quiet, hands.turn(quiet), "silent", _C.SUPPRESSED, Reason.NO_REPLY)
    author.wait(1.0)
    hands.finish(dead, "no such person", HandOutcome.ERROR)
    _refused(author, hands, dead)
    author.wait(0.5)
    hands.finish(parked, "nothing there")
    _waits(author, hands, parked)
    author.wait(1.0)
    hands.refuse(build, "w8")
    cancelled = hands.accept(started, turn, "cook", "lunch", origin=OPS)
    hands.start(cancelled)
    author.wait(1.0)
    hands.finish(
        cancelled,
        "cancelled",
        HandOutcome.CANCELLED,
        Reason.CANCELLED_BY_AGENT,
        by="jeeves",
        to=_C.SUPPRESSED,
        why=Reason.CANCELLED_BY_AGENT,
    )
    author.wait(0.5)
    hands.late(cancelled, "soup", "cook")
    hands.finish(lead, "released as 1.4")
    author.wait(0.8)
    hands.report(lead, OPS, "released as 1.4")
    author.wait(2.0)
    hands.progress(build, "81 of 90 files")
    author.wait(1.0)
    author.say(DEPLOY, BO, "still there?")
    return Run(trace=author.trace("many-hands", title="Hands side by side"), verdicts=verdicts())


def _refused(author: Author, hands: Hands, delegation: str) -> None:
    """The answer cannot be delivered: the platform refuses it."""
    turn = hands.turn(delegation)
    author.wait(0.3)
    intent = hands.answer(delegation, turn, DM, "nobody is there")
    author.attempt(DM, intent, delegation=delegation)
    author.wait(0.2)
    body = IntentSettled(state=IntentState.FAILED, reason=Reason.PLACE_GONE, attempts=1, detail="blocked")
    author.gateway.record(body, author.started, intent=intent, delegation=delegation)
    hands.change(delegation, _C.UNDELIVERABLE, Reason.PLACE_GONE)


def _waits(author: Author, hands: Hands, delegation: str) -> None:
    """The answer waits for its adapter."""
    turn = hands.turn(delegation)
    author.wait(0.3)
    intent = hands.answer(delegation, turn, DEPLOY, "nothing there")
    body = LaneWaiting(address=DEPLOY, reason=Reason.NOT_READY, until=author.now + 30)
    author.gateway.record(body, author.prepared, intent=intent, delegation=delegation)
    hands.change(delegation, _C.PARKED, Reason.NOT_READY)


def side_by_side(number: int) -> Run:
    """So many delegations at once, each reported."""
    author = Author()
    author.world(PLACES)
    author.wait(0.1)
    admitted, inbound = author.say(OPS, ANA, "all of them")
    started, turn = author.turn(OPS, admitted, inbound)
    hands = Hands(author)
    made = [hands.accept(started, turn, f"hand{at % 7}", f"task {at}", origin=OPS) for at in range(number)]
    for delegation in made:
        author.wait(0.01)
        hands.start(delegation)
    for delegation in made:
        author.wait(0.01)
        hands.finish(delegation, "done")
        hands.report(delegation, OPS, f"done {delegation}", seconds=0.02)
    author.rest()
    return Run(trace=author.trace("side-by-side", title="Many at once"), verdicts=verdicts())
