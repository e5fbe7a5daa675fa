"""What the violations point at, seq by seq: copies, misplaced deliveries, wrong mirrors. Never a guess."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from app.view.chain import Causes
from core.events import Event
from core.events.bodies import PeerSaid, PlatformPushed
from sim.invariants.base import Violation

#: invariants whose evidence holds every copy of one thing
COPIES = frozenset({"D1", "D2", "D3"})
#: invariants whose evidence holds a delivery at the wrong place
MISPLACED = frozenset({"R1", "R2", "R3", "C1", "P1"})
#: invariants whose evidence is a wrong mirror, or a delivery without one
MIRRORS = frozenset({"M1", "M2"})
#: invariants whose evidence is a message that was taken more than once
TAKEN_TWICE = frozenset({"D7"})


class Copy(msgspec.Struct, frozen=True):
    """An accepted delivery that is one of several of the same thing: the `number`-th of a group."""

    number: int
    group: int


class Marks:
    """The violations of a run, indexed by the events they name as evidence."""

    def __init__(self, violations: Iterable[Violation], events: Sequence[Event], causes: Causes) -> None:
        self.violations = tuple(violations)
        #: the events at which violations were seen, in order, each once
        self.stops: tuple[int, ...] = tuple(sorted({violation.at for violation in self.violations}))
        self._events = events
        self._causes = causes
        #: every set of copies, each in order
        self.groups: list[tuple[int, ...]] = []
        self.copies: dict[int, Copy] = {}
        self.misplaced: frozenset[int] = frozenset()
        #: seq of a mirror, or of a delivery without one -> what is wrong: ``!`` or ``?``
        self.mirrors: dict[int, str] = {}
        self._by_evidence: dict[int, list[Violation]] = {}
        for violation in self.violations:
            for seq in {*violation.evidence, violation.at}:
                self._by_evidence.setdefault(seq, []).append(violation)
        self._broken_at: dict[str, int] = {}
        for violation in sorted(self.violations, key=lambda violation: violation.at):
            self._broken_at.setdefault(violation.invariant, violation.at)
        self._number_copies()
        self._later_copies = sorted(seq for seq, copy in self.copies.items() if copy.number > 1)
        self._find_misplaced()
        self._find_mirrors()

    def of(self, seq: int) -> Sequence[Violation]:
        """Violations that have this event as evidence."""
        return self._by_evidence.get(seq, ())

    def twin(self, seq: int) -> int | None:
        """The next copy of the same thing, round and round."""
        copy = self.copies.get(seq)
        if copy is None:
            return None
        group = self.groups[copy.group]
        return group[copy.number % len(group)]

    def broken_by(self, seq: int) -> tuple[str, ...]:
        """Invariants that are broken after event `seq`, in the order in which they broke."""
        return tuple(invariant for invariant, at in self._broken_at.items() if at <= seq)

    def copies_by(self, seq: int) -> int:
        """How many deliveries up to event `seq` are copies of an earlier one."""
        return bisect_right(self._later_copies, seq)

    def _accepted(self, violation: Violation) -> list[int]:
        return [seq for seq in violation.evidence if self._kind(seq) == "wire.accepted"]

    def _copies(self, violation: Violation) -> set[int]:
        if violation.invariant in COPIES:
            return set(self._accepted(violation))
        if violation.invariant in TAKEN_TWICE:
            arrivals = (self._arrival(seq) for seq in violation.evidence if self._kind(seq))
            return {seq for seq in arrivals if seq}
        return set()

    def _arrival(self, seq: int) -> int | None:
        """The event by which the message behind an event arrived: posted by a person, or handed over again."""
        for step in reversed(self._causes.path(seq)):
            body = self._events[step - 1].body
            if isinstance(body, PeerSaid) or (isinstance(body, PlatformPushed) and body.replay):
                return step
        return None

    def _kind(self, seq: int) -> str:
        return self._events[seq - 1].kind if 0 < seq <= len(self._events) else ""

    def _number_copies(self) -> None:
        #: seq -> the set that it is in
        member: dict[int, set[int]] = {}
        for violation in self.violations:
            found = self._copies(violation)
            if len(found) < 2:
                continue
            for other in {id(group): group for seq in found if (group := member.get(seq)) is not None}.values():
                found |= other
            member.update(dict.fromkeys(found, found))
        self.groups = sorted({tuple(sorted(group)) for group in member.values()})
        for index, group in enumerate(self.groups):
            self.copies |= {seq: Copy(number, index) for number, seq in enumerate(group, 1)}

    def _find_misplaced(self) -> None:
        found = [seq for v in self.violations if v.invariant in MISPLACED for seq in self._accepted(v)]
        self.misplaced = frozenset(found)

    def _find_mirrors(self) -> None:
        for violation in self.violations:
            if violation.invariant not in MIRRORS:
                continue
            foreign = [seq for seq in violation.evidence if self._kind(seq) == "mirror.appended"]
            missing = [] if foreign else self._accepted(violation)
            self.mirrors |= dict.fromkeys(foreign, "!") | dict.fromkeys(missing, "?")
