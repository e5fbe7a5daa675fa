"""The invariants: one checker each, run over the events of a trace (catalogue: docs/invariants.md)."""

from collections.abc import Iterable

from trunkline.core.events import Event
from trunkline.sim.invariants.base import Checker, EvidenceKind, Judge, Status, Verdict, Violation, cited
from trunkline.sim.invariants.delivery.actions import ActionOnce, MeantMessageOnly
from trunkline.sim.invariants.delivery.attempt_limits import BoundedAttempts
from trunkline.sim.invariants.delivery.delivered_once import InboundOnce, OncePerIntent, OneAnnouncement
from trunkline.sim.invariants.delivery.endings_and_status import EverythingEnds, StatusIsTruth
from trunkline.sim.invariants.delivery.hand_reports import EveryRunReports
from trunkline.sim.invariants.delivery.nothing_silent import NothingSilent
from trunkline.sim.invariants.delivery.ordering import FifoDelivery, NoHeadOfLine
from trunkline.sim.invariants.delivery.readiness import ReadyFirst
from trunkline.sim.invariants.delivery.resends import NoBlindReplay, ResumeAtFirst, SentOnce
from trunkline.sim.invariants.delivery.single_owner import SingleClaim
from trunkline.sim.invariants.hands.callback_turns import CallbackShape, ReservedSenders, WholeResult
from trunkline.sim.invariants.hands.completions import OneCompletion, RightPlace
from trunkline.sim.invariants.hands.noninterference import Noninterference
from trunkline.sim.invariants.hands.voice import SaidInItsCall
from trunkline.sim.invariants.hands.work import AcceptedMeansWork, FirstResultWins
from trunkline.sim.invariants.heartbeat.said import OkUnseen, OncePerDay, QuietAtNight
from trunkline.sim.invariants.heartbeat.schedule import DueOnce, RouteStays
from trunkline.sim.invariants.routing.addresses_and_audience import AddressFidelity, AudienceConfinement
from trunkline.sim.invariants.routing.contexts import CrossingsAreDecided, DeniedIsNotDone, MarksAreSeen
from trunkline.sim.invariants.routing.return_address import ExactReturnAddress, MirrorOnce, NoHiddenRedirect
from trunkline.sim.invariants.routing.turns_and_routes import CurrentRoute, FrozenRoute, GenerationFence, OneSession
from trunkline.sim.invariants.sessions.bindings import BindingLife, NoSelfEcho
from trunkline.sim.invariants.sessions.mirror_text_and_dry_runs import DryRunHasNoEffect, MirrorIsTruth
from trunkline.sim.invariants.sessions.scopes_and_links import ScopesAndLinks
from trunkline.sim.invariants.sessions.session_keys import DistinctKeys, OneKey
from trunkline.sim.invariants.wire_side.answers import AnsweredOnce, OneTurn
from trunkline.sim.invariants.wire_side.endings import NothingLostInSilence, NothingUnasked
from trunkline.sim.invariants.wire_side.places import AnsweredInPlace, InOrder, NothingNextDoor
from trunkline.sim.invariants.wire_side.requests import RefusedIsNotRepeated, WaitsHonoured
from trunkline.sim.invariants.wire_side.secrets import SecretsStay

#: the checkers of runs of which only the wire is known, in the order of the catalogue
WIRE_SIDE_CHECKERS: tuple[type[Checker], ...] = (
    AnsweredOnce,
    AnsweredInPlace,
    NothingNextDoor,
    NothingLostInSilence,
    OneTurn,
    NothingUnasked,
    WaitsHonoured,
    SecretsStay,
    InOrder,
    RefusedIsNotRepeated,
)

#: every checker, in the order of the catalogue
CHECKERS: tuple[type[Checker], ...] = (
    OncePerIntent,
    OneAnnouncement,
    SentOnce,
    NoBlindReplay,
    SingleClaim,
    ResumeAtFirst,
    InboundOnce,
    NoSelfEcho,
    EverythingEnds,
    EveryRunReports,
    StatusIsTruth,
    ReadyFirst,
    BoundedAttempts,
    NoHeadOfLine,
    ExactReturnAddress,
    NoHiddenRedirect,
    FrozenRoute,
    AddressFidelity,
    OneKey,
    DistinctKeys,
    ScopesAndLinks,
    OneSession,
    GenerationFence,
    MirrorOnce,
    MirrorIsTruth,
    FifoDelivery,
    BindingLife,
    CurrentRoute,
    AudienceConfinement,
    DryRunHasNoEffect,
    CrossingsAreDecided,
    MarksAreSeen,
    DeniedIsNotDone,
    Noninterference,
    CallbackShape,
    RightPlace,
    OneCompletion,
    AcceptedMeansWork,
    FirstResultWins,
    ReservedSenders,
    WholeResult,
    OkUnseen,
    OncePerDay,
    QuietAtNight,
    DueOnce,
    RouteStays,
    NothingSilent,
    ActionOnce,
    MeantMessageOnly,
    SaidInItsCall,
    *WIRE_SIDE_CHECKERS,
)

#: ids of all invariants that are checked
INVARIANTS: tuple[str, ...] = tuple(checker.id for checker in CHECKERS)

#: invariant -> what its evidence is
EVIDENCE: dict[str, EvidenceKind] = {checker.id: checker.evidence for checker in CHECKERS}


def judge(events: Iterable[Event]) -> tuple[Verdict, ...]:
    """The verdicts on a recorded run."""
    judging = Judge(CHECKERS)
    for event in events:
        judging.see(event)
    judging.finish()
    return judging.verdicts()


__all__ = [
    "CHECKERS",
    "EVIDENCE",
    "INVARIANTS",
    "WIRE_SIDE_CHECKERS",
    "Checker",
    "EvidenceKind",
    "Judge",
    "Status",
    "Verdict",
    "Violation",
    "cited",
    "judge",
]
