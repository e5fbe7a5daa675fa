"""Runs made by hand for the pictures and the view tests: what the simulator would record, without the simulator."""

from typing import Any

from tests.support.app.author import ANA, AUDIT, BO, DEPLOY, DM, IDLE, KEYS, OPS, Author
from trunkline.app.runs.model import Run, UnmetExpectation
from trunkline.core.events.delivery import AttemptEnded, MirrorAppended, RecoveryDecided
from trunkline.core.events.gateway import ProcessRecovered, ProcessStarted, TurnEnded
from trunkline.core.events.hands import CompletionPlanned, CompletionStep, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address, IntentKind
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import BugEnabled, FaultFired
from trunkline.sim.events.wire import WireLookedUp, WireResponseLost
from trunkline.sim.events.world import ThreadClosed
from trunkline.sim.invariants.base import Status, Verdict, Violation

CATALOGUE = {
    "D1": ("Once per intent", "Each chunk of an intent is accepted at most once."),
    "D2": ("One announcement per hand run", "The result of a hand is seen by people at most once."),
    "D4": ("Ambiguity is never replayed blindly", "No attempt follows an unknown outcome without a look-up."),
    "D7": ("Inbound exactly once", "A message starts or joins at most one turn."),
    "L1": ("Every intent ends", "Each intent and each admitted message reaches an end within a bound."),
    "L2": ("Every hand reports back", "A dispatched run leads to exactly one callback or a visible failure."),
    "M1": ("Mirrored once, in the right session", "What was accepted is in the conversation's own session, once."),
    "O1": ("FIFO per conversation", "Messages of one conversation arrive in the order they were prepared."),
    "R1": ("Exact return address", "A reply goes to the channel, account, conversation and thread that asked."),
    "V1": ("Nothing vanishes silently", "Whatever is not said has an event with a reason."),
}


def verdicts(*violations: Violation, idle: tuple[str, ...] = ("D4", "D7", "V1")) -> tuple[Verdict, ...]:
    """What ten invariants say, given what was broken."""
    found = []
    for name, (title, sentence) in CATALOGUE.items():
        broken = tuple(violation for violation in violations if violation.invariant == name)
        status = Status.VIOLATED if broken else Status.NOT_EXERCISED if name in idle else Status.OK
        exercised = 0 if status is Status.NOT_EXERCISED else 3
        found.append(
            Verdict(id=name, title=title, sentence=sentence, status=status, exercised=exercised, violations=broken)
        )
    return tuple(found)


PLACES: list[tuple[Address, str, str | None]] = [
    (OPS, "#ops", None),
    (IDLE, "#random", None),
    (DEPLOY, "deploy", "#ops"),
    (AUDIT, "audit", "#ops"),
    (DM, "@bo", None),
]
DEFECT = "announce-in-parent-too"


def bound_completion(*, bug: bool = True, seed: int = 7) -> Run:
    """A hand's answer is announced in the thread that asked and, with the defect, in the main channel too."""
    author = Author()
    author.world(PLACES)
    if bug:
        author.sim.record(BugEnabled(bug=DEFECT, sentence="A completion is also announced in the parent conversation."))
    author.wait(0.1)
    admitted, inbound = author.say(DEPLOY, ANA, "ship it")
    started, turn = author.turn(DEPLOY, admitted, inbound)
    author.wait(0.05)
    running, delegation = author.delegate(DEPLOY, "codex", "deploy release 41", started, turn)
    author.gateway.record(TurnEnded(outcome="replied"), started, turn=turn, inbound=inbound)
    author.send(
        DEPLOY, "on it", started, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN, turn=turn, inbound=inbound
    )
    author.wait(0.3)
    asked, dm = author.say(DM, BO, "any mail?")
    looking, dm_turn = author.turn(DM, asked, dm)
    author.wait(0.2)
    author.send(
        DM, "three new ones", looking, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN, turn=dm_turn, inbound=dm
    )
    author.wait(0.6)
    finished = author.gateway.record(
        DelegationFinished(hand="codex", outcome=HandOutcome.OK, text="release 41 shipped"),
        running,
        delegation=delegation,
    )
    steps = [CompletionStep(mode="direct", reason=Reason.DIRECT_ANNOUNCE, address=DEPLOY)]
    if bug:
        steps.append(CompletionStep(mode="direct", reason=Reason.HAND_SESSION_ROUTE, address=OPS))
    planned = author.gateway.record(
        CompletionPlanned(steps=tuple(steps), requester_busy=False), finished, delegation=delegation
    )
    wires = [
        author.send(
            step.address or OPS,
            "release 41 shipped",
            planned,
            kind=IntentKind.ANNOUNCE,
            reason=step.reason,
            delegation=delegation,
        )
        for step in steps
    ]
    author.wait(0.4)
    _crash(author)
    author.wait(0.5)
    author.rest()
    trace = author.trace(
        "bound-completion-twice",
        title="A bound completion is announced twice",
        seed=seed,
        bugs=(DEFECT,) if bug else (),
    )
    broken = _announced_twice(wires, planned, inbound_seq=1) if bug else ()
    unmet = (UnmetExpectation(line=31, summary="D2 holds", expected=("ok",), actual=("violated",)),) if bug else ()
    return Run(trace=trace, verdicts=verdicts(*broken), unmet=unmet)


def _crash(author: Author) -> None:
    """A reply is on the wire when the process dies; the next process looks it up and finds it."""
    admitted, inbound = author.say(OPS, ANA, "who is on call?")
    started, turn = author.turn(OPS, admitted, inbound)
    ids: dict[str, Any] = {"turn": turn, "inbound": inbound}
    text = "bo, until noon"
    intent = author.prepare(OPS, text, started, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN, **ids)
    author.attempt(OPS, intent, **ids)
    wire = author.accept(OPS, text, intent, **ids)
    author.sim.record(FaultFired(fault="crash", detail="between accept and ack"))
    author.gateway.record(ProcessCrashed(why="between accept and ack"), wire)
    author.wait(1.0)
    author.generation = 2
    restarted = author.gateway.record(ProcessStarted())
    author.gateway.record(ProcessRecovered(inbounds=0, intents=1, delegations=0), restarted)
    decided = author.gateway.record(
        RecoveryDecided(decision="lookup", reason=Reason.CRASH_AMBIGUOUS, attempts=1), restarted, intent=intent
    )
    author.wait(0.2)
    looked = author.platform(OPS).record(
        WireLookedUp(address=OPS, key=f"k-{intent}", found=True), decided, intent=intent
    )
    author.settle(OPS, text, intent, looked)


def _announced_twice(wires: list[int], planned: int, inbound_seq: int) -> tuple[Violation, ...]:
    first, second = wires
    return (
        Violation(
            invariant="D2",
            at=second,
            summary="the result of hand run d1 was announced twice",
            expected=("one announcement of hand run d1",),
            actual=(
                f"#{first} discord/#ops/deploy “release 41 shipped”",
                f"#{second} discord/#ops “release 41 shipped”",
            ),
            evidence=(first, second),
            first_wrong=planned,
        ),
        Violation(
            invariant="R1",
            at=second,
            summary="the result of hand run d1 went to #ops, the task came from #ops/deploy",
            expected=("announced in discord/#ops/deploy, where the task came from",),
            actual=(f"#{second} went to discord/#ops",),
            evidence=(second,),
            first_wrong=planned,
        ),
    )


def foreign_mirror() -> Run:
    """A reply is mirrored into another session, one is never mirrored, one is resent after an unknown outcome."""
    author = Author()
    author.world(PLACES)
    author.wait(0.1)
    admitted, inbound = author.say(OPS, ANA, "status?")
    started, turn = author.turn(OPS, admitted, inbound)
    ids: dict[str, Any] = {"turn": turn, "inbound": inbound}
    author.session(DM, KEYS[DM], started)
    intent = author.prepare(OPS, "all green", started, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN, **ids)
    author.attempt(OPS, intent, **ids)
    wire = author.accept(OPS, "all green", intent, **ids)
    author.settle(OPS, "all green", intent, wire, mirror=DM)
    mirror = next(e.seq for e in author.log.events if isinstance(e.body, MirrorAppended))
    author.wait(0.5)
    again, inbound = author.say(OPS, ANA, "and the backups?")
    started, turn = author.turn(OPS, again, inbound)
    intent = author.prepare(OPS, "done at 3", started, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(OPS, intent)
    first = author.accept(OPS, "done at 3", intent)
    author.platform(OPS).record(WireResponseLost(address=OPS, chunk=0, attempt=1), first, intent=intent)
    author.gateway.record(
        AttemptEnded(chunk=0, attempt=1, reason=Reason.RESPONSE_LOST, decision="retry", retry_at=2.0),
        first,
        intent=intent,
    )
    author.wait(1.2)
    author.attempt(OPS, intent, number=2)
    second = author.accept(OPS, "done at 3", intent, number=2)
    author.settle(OPS, "done at 3", intent, second)
    author.platform(AUDIT).record(ThreadClosed(address=AUDIT, how="archived"))
    author.rest()
    trace = author.trace("mirror-elsewhere", title="A reply is mirrored into another session", seed=3)
    broken = (
        Violation(
            invariant="M1",
            at=mirror,
            summary="a reply to #ops is in the transcript of @bo",
            expected=(f"mirrored into {KEYS[OPS]}",),
            actual=(f"mirrored into {KEYS[DM]}",),
            evidence=(wire, mirror),
            first_wrong=mirror,
        ),
        Violation(
            invariant="D1",
            at=second,
            summary="chunk 0 of intent i2 was accepted twice",
            expected=("one acceptance of chunk 0",),
            actual=(f"#{first} attempt 1", f"#{second} attempt 2"),
            evidence=(first, second),
            first_wrong=second,
        ),
    )
    return Run(trace=trace, verdicts=verdicts(*broken, idle=("D2", "L2", "R1")))
