"""Runs made by hand: messages in every state of the queue, and hands that are late, lost and told. See `_traces`."""

from tests.support.app.author import ANA, BO, DEPLOY, DM, KEYS, OPS, Author
from tests.support.app.traces import PLACES, verdicts
from trunkline.app.runs.model import Run
from trunkline.core.events.delivery import (
    AttemptEnded,
    BacklogWaiting,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    RecoveryDecided,
)
from trunkline.core.events.gateway import InboundAdmitted, ProcessRecovered, ProcessStarted, TurnEnded, TurnStarted
from trunkline.core.events.hands import CompletionPlanned, CompletionStep, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import IntentKind, IntentState, WorkKind
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireDeduplicated, WireRefused, WireResponseLost
from trunkline.sim.invariants.base import Violation


def queued() -> Run:
    """Of seven messages two arrive, one waits, one is tried again, one is dead, one in doubt and one has no ending."""
    author = Author()
    author.world(PLACES)
    author.wait(0.1)
    admitted, inbound = author.say(OPS, ANA, "status?")
    started, turn = author.turn(OPS, admitted, inbound)
    ids = {"turn": turn, "inbound": inbound}
    reason = Reason.REPLY_TO_ORIGIN
    author.send(OPS, "all green", started, kind=IntentKind.REPLY, reason=reason, **ids)
    author.wait(0.5)
    _dead(author, started)
    _in_doubt(author, started)
    author.wait(0.5)
    _waits(author, started)
    _over_a_crash(author, started)
    author.wait(1.0)
    _tried_again(author, started)
    left = author.prepare(OPS, "and the last one", started, kind=IntentKind.TOOL, reason=Reason.REPLY_TO_ORIGIN, **ids)
    author.wait(4.0)
    author.gateway.record(IntentSuppressed(reason=Reason.NO_REPLY), started, turn=turn)
    author.rest()
    prepared = next(e.seq for e in author.log.events if e.intent == left)
    unended = Violation(
        invariant="L1",
        at=len(author.log.events),
        summary=f"{left} was prepared, and never ended",
        expected=("an ending",),
        actual=(f"#{prepared} intent.prepared, and nothing after it",),
        evidence=(prepared,),
        first_wrong=prepared,
    )
    return Run(trace=author.trace("queued", title="Seven messages in the queue"), verdicts=verdicts(unended))


def _ended(author: Author, intent: str, attempt: int, reason: Reason, decision: str, at: float | None = None) -> int:
    body = AttemptEnded(chunk=0, attempt=attempt, reason=reason, decision=decision, retry_at=at)
    return author.gateway.record(body, author.started, intent=intent)


def _settle(author: Author, intent: str, state: IntentState, reason: Reason, cause: int, attempts: int = 1) -> None:
    author.gateway.record(IntentSettled(state=state, reason=reason, attempts=attempts), cause, intent=intent)


def _dead(author: Author, cause: int) -> None:
    intent = author.prepare(DM, "your parcel", cause, kind=IntentKind.TOOL, reason=Reason.REPLY_TO_ORIGIN)
    for number in (1, 2):
        author.attempt(DM, intent, number=number)
        author.wait(0.1)
        refused = WireRefused(address=DM, reason=Reason.RATE_LIMITED, chunk=0, attempt=number)
        author.platform(DM).record(refused, author.started, intent=intent)
        at = author.now + 0.1 if number == 1 else None
        ended = _ended(author, intent, number, Reason.RATE_LIMITED, "retry" if at else "fail", at)
        author.wait(0.1)
    _settle(author, intent, IntentState.DEAD, Reason.ATTEMPTS_EXHAUSTED, ended, 2)


def _in_doubt(author: Author, cause: int) -> None:
    intent = author.prepare(DM, "paid?", cause, kind=IntentKind.TOOL, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(DM, intent)
    author.platform(DM).record(WireResponseLost(address=DM, chunk=0, attempt=1), author.started, intent=intent)
    author.wait(0.2)
    _settle(author, intent, IntentState.UNKNOWN, Reason.PARKED, _ended(author, intent, 1, Reason.RESPONSE_LOST, "park"))


def _waits(author: Author, cause: int) -> None:
    author.gateway.record(BacklogWaiting(open=1, limit=1))
    intent = author.prepare(DEPLOY, "later", cause, kind=IntentKind.TOOL, reason=Reason.REPLY_TO_ORIGIN)
    author.gateway.record(
        LaneWaiting(address=DEPLOY, reason=Reason.NOT_READY, until=author.now + 1.0), author.prepared, intent=intent
    )
    author.wait(1.0)
    author.attempt(DEPLOY, intent)
    author.settle(DEPLOY, "later", intent, author.accept(DEPLOY, "later", intent))


def _over_a_crash(author: Author, cause: int) -> None:
    """The process dies with it in its hands; the next one sends it again, and the platform knows it."""
    intent = author.prepare(OPS, "on my way", cause, kind=IntentKind.TOOL, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(OPS, intent)
    author.accept(OPS, "on my way", intent)
    author.log.recorder("sim", 1).record(ProcessCrashed(why="between accept and ack"))
    author.wait(1.0)
    author.generation = 2
    started = author.gateway.record(ProcessStarted())
    author.gateway.record(ProcessRecovered(inbounds=0, intents=1, delegations=0), started)
    resend = RecoveryDecided(decision="resend", reason=Reason.SAME_KEY_RESEND, attempts=1)
    author.prepared = author.gateway.record(resend, started, intent=intent)
    author.attempt(OPS, intent, number=2)
    author.wait(0.1)
    known = author.platform(OPS).record(
        WireDeduplicated(address=OPS, provider_id="p", key=f"k-{intent}", chunk=0, attempt=2),
        author.started,
        intent=intent,
    )
    author.settle(OPS, "on my way", intent, known)


def _tried_again(author: Author, cause: int) -> None:
    intent = author.prepare(DM, "call me", cause, kind=IntentKind.TOOL, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(DM, intent)
    author.wait(0.1)
    refused = WireRefused(address=DM, reason=Reason.RATE_LIMITED, chunk=0, attempt=1)
    author.platform(DM).record(refused, author.started, intent=intent)
    _ended(author, intent, 1, Reason.RATE_LIMITED, "retry", author.now + 30.0)


def silence() -> Run:
    """Nobody says anything."""
    author = Author()
    author.world(PLACES)
    author.wait(1.0)
    author.rest()
    return Run(trace=author.trace("silence", title="Nobody says anything"), verdicts=verdicts())


def helpers() -> Run:
    """One hand is told of, one overruns, one is lost with its process, and one that nobody hears of."""
    author = Author()
    author.world(PLACES)
    author.wait(0.1)
    admitted, inbound = author.say(DEPLOY, BO, "all four, please")
    started, turn = author.turn(DEPLOY, admitted, inbound)
    runs = {
        hand: author.delegate(DEPLOY, hand, task, started, turn, deadline=60.0 if hand == "cook" else None)
        for hand, task in (("mail", "read the mail"), ("scout", "look around"), ("codex", "ship it"), ("cook", "lunch"))
    }
    author.gateway.record(TurnEnded(outcome="silent", reason=Reason.NO_REPLY), started, turn=turn, inbound=inbound)
    author.wait(1.0)
    _finished(author, runs["mail"], "mail", HandOutcome.OK, "three new ones")
    author.wait(9.0)
    _finished(author, runs["scout"], "scout", HandOutcome.TIMEOUT, "no result within 10 s", Reason.HAND_DEADLINE)
    author.wait(1.0)
    author.log.recorder("sim", 1).record(ProcessCrashed(why="crash"))
    author.wait(1.0)
    author.generation = 2
    author.gateway.record(ProcessStarted())
    _finished(author, runs["codex"], "codex", HandOutcome.LOST, "The process died.", Reason.PROCESS_DIED, told=False)
    author.wait(70.0)
    author.rest()
    lost = runs["codex"][0]
    untold = Violation(
        invariant="L2",
        at=len(author.log.events),
        summary="nobody heard of d3",
        expected=("one callback turn, or a message at the origin",),
        actual=("neither",),
        evidence=(lost,),
        first_wrong=lost,
    )
    return Run(trace=author.trace("helpers", title="Four hands"), verdicts=verdicts(untold))


def _finished(
    author: Author,
    run: tuple[int, str],
    hand: str,
    outcome: HandOutcome,
    text: str,
    reason: Reason | None = None,
    *,
    told: bool = True,
) -> None:
    running, delegation = run
    body = DelegationFinished(hand=hand, outcome=outcome, text=text, reason=reason)
    done = author.gateway.record(body, running, delegation=delegation)
    if not told:
        return
    step = CompletionStep(mode="turn", reason=Reason.CALLBACK_TURN, address=DEPLOY)
    planned = author.gateway.record(CompletionPlanned(steps=(step,), requester_busy=False), done, delegation=delegation)
    inbound = f"{delegation}.back"
    admitted = author.gateway.record(
        InboundAdmitted(work=WorkKind.CALLBACK, session_id="s", session_key=KEYS[DEPLOY]),
        planned,
        inbound=inbound,
        delegation=delegation,
    )
    turn = author.id("turn")
    begun = author.gateway.record(
        TurnStarted(agent="jeeves", session_id="s", session_key=KEYS[DEPLOY], work=WorkKind.CALLBACK, origin=DEPLOY),
        admitted,
        inbound=inbound,
        turn=turn,
        delegation=delegation,
    )
    author.gateway.record(TurnEnded(outcome="replied"), begun, inbound=inbound, turn=turn)
    kind, because = IntentKind.REPLY, Reason.CALLBACK_TURN
    intent = author.prepare(DEPLOY, f"{hand}: {text}", begun, kind=kind, reason=because, delegation=delegation)
    author.attempt(DEPLOY, intent, delegation=delegation)
    author.settle(DEPLOY, text, intent, author.accept(DEPLOY, f"{hand}: {text}", intent))
