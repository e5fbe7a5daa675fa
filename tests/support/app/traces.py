"""Runs made by hand for the pictures and the view tests: what the simulator would record, without the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trunkline.app.runs.model import Run, ScenarioEntry, UnmetExpectation
from trunkline.core.errors import UsageError
from trunkline.core.events import EventLog, Recorder, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentSettled,
    MirrorAppended,
    RecoveryDecided,
)
from trunkline.core.events.gateway import (
    Candidate,
    CompletionPlanned,
    CompletionStep,
    DelegationAccepted,
    DelegationFinished,
    DelegationStarted,
    InboundAdmitted,
    InboundReceived,
    ProcessRecovered,
    ProcessStarted,
    RouteDecided,
    SessionCreated,
    ToolCalled,
    TranscriptAppended,
    TurnEnded,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, HandOutcome, IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import BugEnabled, FaultFired, RunPhase
from trunkline.sim.events.wire import WireAccepted, WireLookedUp, WireResponseLost
from trunkline.sim.events.world import PeerSaid, PlatformPushed, ThreadClosed, WorldAccount, WorldPlace
from trunkline.sim.invariants.base import Status, Verdict, Violation

ANA = Peer(id="9001", name="ana")
BO = Peer(id="77", name="bo")
BOT = Peer(id="1", name="jeeves")


def discord(conversation: str, parent: str | None = None) -> Address:
    kind = ChatKind.CHANNEL
    return Address(channel="discord", account="main", kind=kind, conversation=conversation, parent=parent)


def telegram_dm(peer: str) -> Address:
    return Address(channel="telegram", account="main", kind=ChatKind.DIRECT, conversation=peer)


OPS = discord("501")
DEPLOY = discord("601", "501")
AUDIT = discord("602", "501")
#: made for a task, and bound to its session
RELEASE = discord("603", "501")
IDLE = discord("502")
DM = telegram_dm("77")

KEYS = {
    OPS: "jeeves:discord:main:channel:501",
    DEPLOY: "jeeves:discord:main:channel:501:thread:601",
    AUDIT: "jeeves:discord:main:channel:501:thread:602",
    DM: "jeeves:telegram:main:direct:77",
    RELEASE: "jeeves:subagent:d1",
}


class Author:
    """Writes a trace as the gateway and the platforms would, with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log = EventLog(lambda: self.now)
        self.sim = self.log.recorder("sim")
        self.generation = 1
        self.numbers = {"inbound": 0, "turn": 0, "intent": 0, "delegation": 0, "message": 100}

    @property
    def gateway(self) -> Recorder:
        return self.log.recorder("gateway", self.generation)

    def platform(self, address: Address) -> Recorder:
        return self.log.recorder(address.channel)

    def id(self, name: str) -> str:
        self.numbers[name] += 1
        prefix = {"inbound": "in", "turn": "t", "intent": "i", "delegation": "d", "message": "p"}[name]
        return f"{prefix}{self.numbers[name]}"

    def wait(self, seconds: float) -> None:
        self.now = round(self.now + seconds, 6)

    def world(self, places: list[tuple[Address, str, str | None]]) -> None:
        for channel in dict.fromkeys(address.channel for address, _, _ in places):
            self.sim.record(WorldAccount(channel=channel, account="main", bot=BOT))
        for address, name, under in places:
            self.sim.record(WorldPlace(address=address, name=name, under=under))
        self.sim.record(RunPhase(phase="faults"))
        self.gateway.record(ProcessStarted())
        self.gateway.record(ProcessRecovered(inbounds=0, intents=0, delegations=0))

    def say(self, address: Address, peer: Peer, text: str, *, key: str | None = None) -> tuple[int, str]:
        """A person speaks, and the message is admitted: the seq of the admission, and the inbound."""
        key = key or KEYS[address]
        message = self.id("message")
        said = self.platform(address).record(PeerSaid(address=address, peer=peer, message_id=message, text=text))
        self.wait(0.02)
        pushed = self.platform(address).record(
            PlatformPushed(address=address, message_id=message, original_id=message), said
        )
        inbound = self.id("inbound")
        received = self.gateway.record(
            InboundReceived(address=address, peer=peer, message_id=message, text=text), pushed, inbound=inbound
        )
        route = self.gateway.record(
            RouteDecided(
                agent="jeeves",
                session_key=key,
                matched_by="binding.channel",
                binding="everything",
                candidates=(
                    Candidate(binding="night-shift", tier="peer", chosen=False, reason=Reason.OTHER_PEER),
                    Candidate(binding="everything", tier="channel", chosen=True, reason=Reason.MATCHED),
                ),
                reply_to=address,
                reply_reason=Reason.REPLY_TO_ORIGIN,
            ),
            received,
            inbound=inbound,
        )
        self.session(address, key, route)
        admitted = self.gateway.record(
            InboundAdmitted(work=WorkKind.MESSAGE, session_id="s-" + key, session_key=key), route, inbound=inbound
        )
        self.gateway.record(
            TranscriptAppended(session_id="s-" + key, session_key=key, role="user", text=text),
            admitted,
            inbound=inbound,
        )
        return admitted, inbound

    def session(self, address: Address, key: str, cause: int) -> None:
        known = [e for e in self.log.events if isinstance(e.body, SessionCreated) and e.body.session_key == key]
        if not known:
            body = SessionCreated(
                agent="jeeves",
                session_key=key,
                session_id="s-" + key,
                generation=1,
                address=address,
                by="inbound",
            )
            self.gateway.record(body, cause)

    def turn(self, address: Address, cause: int, inbound: str, work: WorkKind = WorkKind.MESSAGE) -> tuple[int, str]:
        turn = self.id("turn")
        key = KEYS[address]
        body = TurnStarted(agent="jeeves", session_id="s-" + key, session_key=key, work=work, origin=address)
        return self.gateway.record(body, cause, inbound=inbound, turn=turn), turn

    def prepare(self, address: Address, text: str, cause: int, *, kind: IntentKind, reason: Reason, **ids: Any) -> str:
        intent = self.id("intent")
        self.prepared = self.gateway.record(
            IntentPrepared(
                intent_kind=kind,
                address=address,
                targeted=False,
                text=text,
                chunks=1,
                key=f"k-{intent}",
                reason=reason,
                mirror_key=KEYS[address],
            ),
            cause,
            intent=intent,
            **ids,
        )
        return intent

    def attempt(self, address: Address, intent: str, *, number: int = 1, **ids: Any) -> int:
        self.started = self.gateway.record(
            AttemptStarted(chunk=0, attempt=number, address=address), self.prepared, intent=intent, **ids
        )
        return self.started

    def accept(self, address: Address, text: str, intent: str, *, number: int = 1, **ids: Any) -> int:
        self.wait(0.01)
        return self.platform(address).record(
            WireAccepted(
                address=address,
                requested=address,
                text=text,
                provider_id=self.id("message"),
                key=f"k-{intent}",
                chunk=0,
                attempt=number,
            ),
            self.started,
            intent=intent,
            **ids,
        )

    def settle(self, address: Address, text: str, intent: str, wire: int, *, mirror: Address | None = None) -> None:
        self.wait(0.01)
        ended = self.gateway.record(
            AttemptEnded(chunk=0, attempt=1, reason=Reason.ACCEPTED, decision="settle"), wire, intent=intent
        )
        acked = self.gateway.record(
            ChunkAcked(chunk=0, provider_id="p", address=address, reason=Reason.ACCEPTED), ended, intent=intent
        )
        self.session(address, KEYS[address], acked)
        key = KEYS[mirror or address]
        self.gateway.record(MirrorAppended(session_id="s-" + key, session_key=key, text=text), acked, intent=intent)
        self.gateway.record(
            IntentSettled(state=IntentState.DELIVERED, reason=Reason.ACCEPTED, attempts=1), acked, intent=intent
        )

    def send(self, address: Address, text: str, cause: int, *, kind: IntentKind, reason: Reason, **ids: Any) -> int:
        """Prepare, send and settle one message: the seq of its acceptance."""
        intent = self.prepare(address, text, cause, kind=kind, reason=reason, **ids)
        self.attempt(address, intent, **ids)
        wire = self.accept(address, text, intent, **ids)
        self.settle(address, text, intent, wire)
        return wire

    def delegate(
        self, address: Address, hand: str, task: str, cause: int, turn: str, *, deadline: float | None = None
    ) -> tuple[int, str]:
        delegation = self.id("delegation")
        tool = self.gateway.record(ToolCalled(tool="delegate", detail=hand), cause, turn=turn)
        body = DelegationAccepted(hand=hand, task=task, origin=address, session_key=KEYS[address], deadline=deadline)
        accepted = self.gateway.record(body, tool, turn=turn, delegation=delegation)
        self.wait(0.01)
        return self.gateway.record(DelegationStarted(hand=hand), accepted, delegation=delegation), delegation

    def rest(self) -> None:
        self.sim.record(RunPhase(phase="rest"))
        self.sim.record(RunEnded(at_rest=True))

    def trace(self, scenario: str, *, title: str, seed: int = 7, bugs: tuple[str, ...] = ()) -> Trace:
        header = TraceHeader(
            scenario=scenario, title=title, path=f"scenarios/tour/{scenario}.yaml", seed=seed, bugs=bugs
        )
        return Trace(header=header, events=tuple(self.log.events))


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


ENTRIES = (
    ScenarioEntry(
        path=Path("scenarios/tour/bound-completion-twice.yaml"),
        id="bound-completion-twice",
        title="A bound completion is announced twice",
        tags=("tour", "hands", "thread"),
        source="seed 002",
        bugs=(DEFECT,),
        story=(
            "Ana asks for a release in the thread `deploy`. The agent hands the work to codex. When codex is done, "
            "the result belongs into the thread, once.\n\nWith the defect the gateway also announces it in the "
            "parent channel: the two paths do not know of each other."
        ),
    ),
    ScenarioEntry(
        path=Path("scenarios/museum/mirror-elsewhere.yaml"),
        id="mirror-elsewhere",
        title="A reply is mirrored into another session",
        tags=("museum", "mirror"),
        source="seed 000",
        story="What is said in one conversation must be in the transcript of that conversation, and in no other.",
    ),
    *(
        ScenarioEntry(
            path=Path(f"scenarios/faults/{name}.yaml"),
            id=name,
            title=title,
            tags=("faults", *tags),
            story=f"{title}. Nothing may be lost or doubled.",
        )
        for name, title, tags in (
            ("crash-between-accept-and-ack", "The process dies between accept and ack", ("crash",)),
            ("reconnect-replay", "A reconnect replays what was handed over before", ("inbound",)),
            ("rate-limited", "The platform asks to wait", ("retry",)),
            ("thread-archived", "The thread of a task is archived while the hand works", ("hands", "thread")),
        )
    ),
)


class ListedRuns:
    """A `RunSource` over the runs above."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, tuple[str, ...]]] = []

    def scenarios(self) -> tuple[ScenarioEntry, ...]:
        return ENTRIES

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        self.asked.append((entry.id, seed, bugs))
        if entry.id == "bound-completion-twice":
            return bound_completion(bug=bool(bugs), seed=seed)
        if entry.id == "mirror-elsewhere":
            return foreign_mirror()
        raise UsageError(f"{entry.path}:12: `say` names no one: expected a person of `world`")
