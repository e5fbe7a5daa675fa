"""Runs of which only the wire is known, made by hand: for what `trunkline attach` does around single tries."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT
from trunkline.app.attach.cells import AttachedGateway, Cell, CellRecord, FinishedTry
from trunkline.app.runs.model import Run
from trunkline.app.runs.scenario_source import load
from trunkline.core.events import Body, Event, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.values import Address, ChatKind, Peer
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.events.attach import GatewayAttached, GatewayReady
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, WorldAccount, WorldPlace
from trunkline.sim.invariants import Status, Verdict, Violation
from trunkline.sim.scenario.model.scenario import Expect

PLAIN = ROOT / "scenarios/attach/plain.yaml"
ANA = Peer(id="7", name="ana")
PLACE = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="7")
SENTENCE = "A question is answered at most once visibly."


def said(text: str, *, peer: Peer = ANA, message_id: str = "1") -> PeerSaid:
    return PeerSaid(address=PLACE, peer=peer, message_id=message_id, text=text)


def accepted(text: str, *, provider_id: str = "2") -> WireAccepted:
    return WireAccepted(
        address=PLACE, requested=PLACE, text=text, provider_id=provider_id, key="call-1", chunk=1, attempt=1
    )


def attach_trace(*bodies: Body, path: str = "scenarios/attach/plain.yaml") -> Trace:
    """A whole trace: the world, the bodies a second apart, and its end. The first body is event 5."""
    setup = (
        GatewayAttached(gateway="toy", version="1.0", patience=4.0, options=("--gateway", "toy")),
        WorldAccount(channel="telegram", account="default", bot=Peer(id="9", name="bot")),
        WorldPlace(address=PLACE, name="@ana"),
        GatewayReady(number=1, after=0.1),
    )
    every = (*setup, *bodies, RunEnded(at_rest=True))
    events = tuple(Event(seq=seq, at=float(seq), node="sim", body=body) for seq, body in enumerate(every, 1))
    header = TraceHeader(
        scenario=Path(path).stem, path=path, seed=1, on_wire=True, side="wire", gateway="toy 1.0", title="A title"
    )
    return Trace(header=header, events=events)


def verdict(status: Status, *violations: Violation, invariant: str = "X1") -> Verdict:
    return Verdict(
        id=invariant,
        title="Answered once",
        sentence=SENTENCE,
        status=status,
        exercised=int(status is not Status.NOT_EXERCISED),
        violations=violations,
    )


def violation(at: int, *evidence: int, summary: str = "m1 was answered twice", invariant: str = "X1") -> Violation:
    return Violation(
        invariant=invariant,
        at=at,
        summary=summary,
        expected=("one answer",),
        actual=("two answers",),
        evidence=evidence or (at,),
        first_wrong=at,
    )


def twice(question: str = "hello QZm1", answer: str = "Done. AZm1-g1") -> Run:
    """A question that was answered twice."""
    fault = FaultFired(fault="send/reset", detail=answer)
    trace = attach_trace(said(question), accepted(answer), fault, accepted(answer, provider_id="3"))
    return Run(trace=trace, verdicts=(verdict(Status.VIOLATED, violation(8, 5, 6, 8)),))


def once() -> Run:
    """A question that was answered once."""
    trace = attach_trace(said("hello QZm1"), accepted("Done. AZm1-g1"))
    return Run(trace=trace, verdicts=(verdict(Status.OK),))


def idle() -> Run:
    """A run that shows nothing."""
    return Run(trace=attach_trace(), verdicts=(verdict(Status.NOT_EXERCISED),))


def finished(run: Run, number: int = 1, seconds: float = 3.0) -> FinishedTry:
    return FinishedTry(number=number, run=run, trace=Path(f"{number}.jsonl"), seconds=seconds)


def a_gateway(name: str = "toy", version: str = "1.0") -> AttachedGateway:
    path = profile_path("toy")
    profile = load_profile(path).model_copy(update={"name": name})
    return AttachedGateway(profile=profile, path=path, install=Path("/nowhere"), version=version)


def a_cell(name: str = "toy", **more: Any) -> Cell:
    """A cell of a scenario that expects nothing: the runs made here are not of its script."""
    file = load(PLAIN)
    scenario = file.scenario.model_copy(update={"expect": Expect()})
    return Cell(gateway=a_gateway(name), file=replace(file, scenario=scenario), **more)


def a_record(*runs: Run, name: str = "toy", **more: Any) -> CellRecord:
    tries = [finished(run, number) for number, run in enumerate(runs, 1)]
    return CellRecord(cell=a_cell(name), finished=tries, **more)
