"""The evidence of violations by event: copies, misplaced deliveries, wrong mirrors."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence

import msgspec

from trunkline.core.events import Event
from trunkline.sim.events.world import PeerSaid, PlatformPushed
from trunkline.sim.invariants import EVIDENCE, EvidenceKind, Violation

# Causes of events, followed back to the root and forward to all effects.


class Causes:
    """Parents and children of every event.

    A parent is the recorded `cause`; an event without one hangs on the event that a mark proves, else on the first
    event that carries the same intent, delegation, turn or inbound.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._parents: list[int] = [0]
        self._children: dict[int, list[int]] = {}
        #: the first event that carries an id: of each kind, from the narrowest to the widest
        self._firsts: tuple[dict[str, int], ...] = ({}, {}, {}, {})
        for event in events:
            self.learn(event)

    def learn(self, event: Event, proved: int | None = None) -> None:
        """Add the next event under its parent. `proved`: the cause that its marks prove."""
        related = self._related(event)
        parent = event.cause or proved or related or 0
        parent = parent if 0 < parent < event.seq else 0
        self._parents.append(parent)
        if parent:
            self._children.setdefault(parent, []).append(event.seq)

    def _related(self, event: Event) -> int | None:
        found: int | None = None
        ids = (event.intent, event.delegation, event.turn, event.inbound)
        for firsts, value in zip(self._firsts, ids, strict=True):
            # Only the wire of a foreign gateway is known: its requests belong to an intent without a name.
            if value:
                first = firsts.setdefault(value, event.seq)
                if found is None and first != event.seq:
                    found = first
        return found

    def parent(self, seq: int) -> int | None:
        return self._parents[seq] or None

    def children(self, seq: int) -> Sequence[int]:
        """The events that this one caused directly, in order."""
        return self._children.get(seq, ())

    def path(self, seq: int) -> list[int]:
        """From the root to `seq`, both included."""
        path: list[int] = []
        step: int | None = seq or None
        while step:
            path.append(step)
            step = self.parent(step)
        return path[::-1]

    def effects(self, seq: int) -> list[int]:
        """All direct and indirect effects of `seq`, in order."""
        found: list[int] = []
        open_ = list(self.children(seq))
        while open_:
            step = open_.pop()
            found.append(step)
            open_.extend(self.children(step))
        return sorted(found)

    def family(self, seq: int) -> frozenset[int]:
        """The causal chain of an event: its causes, itself, and its effects."""
        return frozenset((*self.path(seq), *self.effects(seq)))


class DeliveryCopy(msgspec.Struct, frozen=True):
    """An accepted copy of a delivery among several: the `number`-th of the group."""

    number: int
    group: int


class Evidence:
    def __init__(self, violations: Iterable[Violation], events: Sequence[Event], causes: Causes) -> None:
        #: in the order of detection
        self.found: list[Violation] = []
        #: in the order of the events at which they were detected
        self.violations: list[Violation] = []
        #: the events at which violations were detected, in order, each once
        self.stops: list[int] = []
        self._events = events
        self._causes = causes
        #: every group of copies, each in order
        self.groups: list[tuple[int, ...]] = []
        self.copies: dict[int, DeliveryCopy] = {}
        self.misplaced: set[int] = set()
        #: seq of a mirror, or of a delivery without one -> its mark: ``!`` or ``?``
        self.mirrors: dict[int, str] = {}
        self._by_evidence: dict[int, list[Violation]] = {}
        self._broken_at: dict[str, int] = {}
        #: seq -> its group of copies
        self._member: dict[int, set[int]] = {}
        self._later_copies: list[int] = []
        #: every event whose look a violation changed, in the order of detection
        self.touched: list[int] = []
        self.grow(violations)

    @property
    def version(self) -> int:
        return len(self.found)

    def grow(self, violations: Iterable[Violation]) -> None:
        more = False
        for violation in violations:
            self.found.append(violation)
            insort(self.violations, violation, key=_order)
            at = bisect_left(self.stops, violation.at)
            if self.stops[at : at + 1] != [violation.at]:
                self.stops.insert(at, violation.at)
            self.touched += violation.seqs
            for seq in violation.seqs:
                insort(self._by_evidence.setdefault(seq, []), violation, key=_order)
            before = self._broken_at.get(violation.invariant, violation.at)
            self._broken_at[violation.invariant] = min(before, violation.at)
            more = self._join_copies(violation) or more
            if _kind_of(violation) is EvidenceKind.MISPLACED:
                self.misplaced.update(self._accepted(violation))
            if _kind_of(violation) is EvidenceKind.MIRRORS:
                foreign = [seq for seq in violation.evidence if self._kind(seq) == "mirror.appended"]
                missing = [] if foreign else self._accepted(violation)
                self.mirrors |= dict.fromkeys(foreign, "!") | dict.fromkeys(missing, "?")
        if more:
            self.groups = sorted({tuple(sorted(group)) for group in self._member.values()})
            for index, group in enumerate(self.groups):
                self.copies |= {seq: DeliveryCopy(number, index) for number, seq in enumerate(group, 1)}
            self._later_copies = sorted(seq for seq, copy in self.copies.items() if copy.number > 1)

    def upto(self, seq: int) -> int:
        """The number of violations that were detected up to event `seq`."""
        return bisect_right(self.violations, seq, key=lambda violation: violation.at)

    def of(self, seq: int) -> Sequence[Violation]:
        """Violations that this event is evidence of, that went wrong at it, or that were detected at it."""
        return self._by_evidence.get(seq, ())

    def twin(self, seq: int) -> int | None:
        """The next copy of the same delivery; the first one follows the last."""
        copy = self.copies.get(seq)
        group = self.groups[copy.group] if copy else ()
        return group[copy.number % len(group)] if copy else None

    def broken_by(self, seq: int) -> tuple[str, ...]:
        """Invariants that are broken after event `seq`, in the order in which they broke."""
        broken = sorted((at, invariant) for invariant, at in self._broken_at.items() if at <= seq)
        return tuple(invariant for _, invariant in broken)

    def copies_by(self, seq: int) -> int:
        """How many deliveries up to event `seq` are copies of an earlier one."""
        return bisect_right(self._later_copies, seq)

    def _accepted(self, violation: Violation) -> list[int]:
        return [seq for seq in violation.evidence if self._kind(seq) == "wire.accepted"]

    def _copies(self, violation: Violation) -> set[int]:
        if _kind_of(violation) is EvidenceKind.COPIES:
            return set(self._accepted(violation))
        if _kind_of(violation) is EvidenceKind.TAKEN_TWICE:
            # The events that brought the messages: posts, or replays.
            paths = (reversed(self._causes.path(seq)) for seq in violation.evidence if self._kind(seq))
            return {seq for path in paths for seq in [next(filter(self._brings, path), 0)] if seq}
        return set()

    def _brings(self, seq: int) -> bool:
        body = self._events[seq - 1].body
        return isinstance(body, PeerSaid) or (isinstance(body, PlatformPushed) and body.replay)

    def _kind(self, seq: int) -> str:
        return self._events[seq - 1].kind if 0 < seq <= len(self._events) else ""

    def _join_copies(self, violation: Violation) -> bool:
        """Merge the copies that it names, and their groups, into one group. Whether it names any."""
        found = self._copies(violation)
        if len(found) < 2:
            return False
        for other in {id(group): group for seq in found if (group := self._member.get(seq)) is not None}.values():
            found |= other
        self._member.update(dict.fromkeys(found, found))
        self.touched += sorted(found)
        return True


class BrokenThings:
    """The violations that have an event of a thing as evidence, by the id of the thing."""

    def __init__(self) -> None:
        #: thing -> event of each violation, its invariant, and the evidence, in order
        self._found: dict[str, list[tuple[int, str, int]]] = {}

    def add(self, thing: str, violation: Violation, evidence: int) -> None:
        """Record a violation, with the event of the thing that proves it."""
        insort(self._found.setdefault(thing, []), (violation.at, violation.invariant, evidence))

    def span(self, thing: str) -> tuple[int, int] | None:
        """The first and the last event at which violations of a thing were detected."""
        found = self._found.get(thing)
        return (found[0][0], found[-1][0]) if found else None

    def first(self, thing: str) -> dict[str, int]:
        """The invariants that a thing broke, each with the event where it broke first."""
        return {name: at for at, name, _ in reversed(self._found.get(thing, ()))}

    def names(self, thing: str, seq: int) -> tuple[str, ...]:
        """The invariants that a thing had broken after event `seq`, each once, in order."""
        return tuple(dict.fromkeys(name for at, name, _ in self._found.get(thing, ()) if at <= seq))

    def evidence(self, thing: str, seq: int) -> list[int]:
        """The events of a thing that prove what it had broken after event `seq`."""
        return [evidence for at, _, evidence in self._found.get(thing, ()) if at <= seq]

    def upto(self, seq: int) -> list[str]:
        """The things that had broken something after event `seq`."""
        return [thing for thing, found in self._found.items() if found[0][0] <= seq]


def _order(violation: Violation) -> tuple[int, str]:
    return violation.at, violation.invariant


def _kind_of(violation: Violation) -> EvidenceKind:
    return EVIDENCE.get(violation.invariant, EvidenceKind.STEPS)
