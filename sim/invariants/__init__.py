"""Invariants: small checkers over the trace, run after every event (catalogue: docs/invariants.md)."""

from collections.abc import Iterable

from core.events import Event
from sim.invariants.base import Checker, Judge, Status, Verdict, Violation
from sim.invariants.bindings import BindingLife, NoSelfEcho
from sim.invariants.bounds import Bounded, ReadyFirst
from sim.invariants.cardinality import InboundOnce, OncePerIntent, OneAnnouncement
from sim.invariants.claims import SingleClaim
from sim.invariants.effects import MirrorIsTruth, NoEffect
from sim.invariants.hands import EveryRunReports
from sim.invariants.order import Fifo, NoHeadOfLine
from sim.invariants.places import ExactReturnAddress, MirrorOnce, NoHiddenRedirect
from sim.invariants.repeats import NoBlindReplay, ResumeAtFirst, SaidOnce
from sim.invariants.sessions import Injective, OneKey, ScopesAndLinks
from sim.invariants.truth import EverythingEnds, StatusIsTruth
from sim.invariants.turns import Freshness, FrozenRoute, GenerationFence, OneSession
from sim.invariants.visible import NothingSilent
from sim.invariants.wire import AddressFidelity, AudienceConfinement

#: every checker, in the order of the catalogue
CHECKERS: tuple[type[Checker], ...] = (
    OncePerIntent,
    OneAnnouncement,
    SaidOnce,
    NoBlindReplay,
    SingleClaim,
    ResumeAtFirst,
    InboundOnce,
    NoSelfEcho,
    EverythingEnds,
    EveryRunReports,
    StatusIsTruth,
    ReadyFirst,
    Bounded,
    NoHeadOfLine,
    ExactReturnAddress,
    NoHiddenRedirect,
    FrozenRoute,
    AddressFidelity,
    OneKey,
    Injective,
    ScopesAndLinks,
    OneSession,
    GenerationFence,
    MirrorOnce,
    MirrorIsTruth,
    Fifo,
    BindingLife,
    Freshness,
    AudienceConfinement,
    NoEffect,
    NothingSilent,
)

#: ids of all invariants that are checked
INVARIANTS: tuple[str, ...] = tuple(checker.id for checker in CHECKERS)


def judge(events: Iterable[Event]) -> tuple[Verdict, ...]:
    """The verdicts on a recorded run."""
    judging = Judge(CHECKERS)
    for event in events:
        judging.see(event)
    judging.finish()
    return judging.verdicts()


__all__ = ["CHECKERS", "INVARIANTS", "Checker", "Judge", "Status", "Verdict", "Violation", "judge"]
