"""The culprits of a run: the first steps that its sound twin lacks, or has otherwise.

The twin is the same scenario under the same seed and with the same faults, without the defect. It takes milliseconds,
and ids are the same in both, so an event has at most one pair: the one with the same subject, kind and occurrence.

A violation names the steps that prove it. Each of them has a cause, and each message, delegation and binding has a
past: these are the ancestors of the violation. The first ancestor that the twin lacks, or has with another outcome, is
the culprit; everything after it follows from it, right or wrong. So no step is a culprit that the twin has too, and
violations that look unrelated have one culprit where they have one cause.

Two kinds of defects leave no such ancestor. A step may come at another time: then the culprit is the first that waited
longer after its cause than in the twin, or shorter. Or something is missing: then all steps are right, and the culprit
is the first step of the twin that nothing in the run answers to, at the place of its cause. Where the runs differ in
nothing of this, there is no culprit, and the rule of the invariant says which step broke it.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from trunkline.core.events import Event, RunEnded
from trunkline.sim.events import script
from trunkline.sim.index.pairs import differs, pair_events
from trunkline.sim.invariants.base import Violation

#: seconds by which a step has to be late or early; platforms answer at slightly other times once anything differs
_LATE = 0.5
#: fields with a time that lies ahead
_AHEAD = ("retry_at", "until")
#: ids of what has a past
_SUBJECTS = ("intent", "delegation", "binding")
#: they say what the script does and where it ends, and not what comes of it
_PREMISES = (script.BugEnabled, script.RunPhase, RunEnded)


class Divergence(StrEnum):
    """How a culprit differs from the sound run."""

    OTHERWISE = "otherwise"
    EXTRA = "extra"
    LATE = "late"
    MISSING = "missing"


class Consequence(msgspec.Struct, frozen=True, kw_only=True):
    """A violation that follows from a culprit."""

    invariant: str
    #: seq of the event at which it was detected
    at: int
    #: the step from which it follows: the culprit, or a later one of the same kind
    step: int


class Culprit(msgspec.Struct, frozen=True, kw_only=True):
    """The step that went wrong first, and the violations that follow from it."""

    #: the step; of one that is missing, the last right step before it
    seq: int
    divergence: Divergence
    #: the step of the sound run; none: it has no such step
    sound: Event | None = None
    #: in the order in which they show
    led_to: tuple[Consequence, ...] = ()

    @property
    def steps(self) -> tuple[int, ...]:
        """The culprit and the later ones of its kind, which are the same defect at work again."""
        return tuple(sorted({self.seq, *(found.step for found in self.led_to)}))

    @property
    def invariants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found.invariant for found in self.led_to))


def find_culprits(
    events: Sequence[Event], sound: Sequence[Event], violations: Iterable[Violation]
) -> tuple[Culprit, ...]:
    """The culprits of a run with these violations, in order of their steps. `sound`: the events of the twin.

    Of one defect that strikes several times, the first strike is the culprit.
    """
    compared = _Compared(events, sound)
    found: dict[tuple[int, Divergence], Culprit] = {}
    for violation in violations:
        culprit = compared.culprit_of(violation)
        if culprit is not None:
            known = found.get((culprit.seq, culprit.divergence), culprit)
            follows = Consequence(invariant=violation.invariant, at=violation.at, step=culprit.seq)
            led_to = (*known.led_to, follows)
            found[culprit.seq, culprit.divergence] = msgspec.structs.replace(known, led_to=led_to)
    first: dict[tuple[Divergence, str, str], Culprit] = {}
    for culprit in sorted(found.values(), key=lambda culprit: culprit.seq):
        kinds = events[culprit.seq - 1].kind, "" if culprit.sound is None else culprit.sound.kind
        known = first.get((culprit.divergence, *kinds))
        led_to = culprit.led_to if known is None else (*known.led_to, *culprit.led_to)
        first[culprit.divergence, *kinds] = msgspec.structs.replace(known or culprit, led_to=led_to)
    return tuple(first.values())


class _Compared:
    """A run beside its twin."""

    def __init__(self, events: Sequence[Event], sound: Sequence[Event]) -> None:
        self._events, self._sound = events, sound
        #: for each event of the run its pair; 0: none
        self._pairs = pair_events(events, sound)
        self._before, self._sound_before = list(_earlier(events)), list(_earlier(sound))
        taken = set(self._pairs)
        self._lacking = [event for event in sound if event.seq not in taken and not isinstance(event.body, _PREMISES)]

    def culprit_of(self, violation: Violation) -> Culprit | None:
        """The first divergence among the ancestors of a violation; none: the runs differ nowhere near it."""
        ancestors = sorted(self._ancestors({*violation.seqs, *violation.path}))
        for seq in ancestors:
            divergence = self._divergence(seq)
            if divergence is not None:
                return Culprit(seq=seq, divergence=divergence, sound=self._pair(seq))
        late = next((seq for seq in ancestors if self._is_late(seq)), None)
        if late is not None:
            return Culprit(seq=late, divergence=Divergence.LATE, sound=self._pair(late))
        return self._missing(ancestors)

    def _ancestors(self, seqs: Iterable[int]) -> set[int]:
        found, left = set[int](), [seq for seq in seqs if 0 < seq <= len(self._events)]
        while left:
            seq = left.pop()
            if seq not in found:
                found.add(seq)
                left += self._before[seq - 1]
        return found

    def _pair(self, seq: int) -> Event | None:
        other = self._pairs[seq - 1]
        return self._sound[other - 1] if other else None

    def _divergence(self, seq: int) -> Divergence | None:
        event, other = self._events[seq - 1], self._pair(seq)
        if isinstance(event.body, _PREMISES):
            return None
        if other is None:
            return Divergence.EXTRA
        waits = zip(_ahead(event), _ahead(other), strict=True)
        if differs(event.body, other.body) or any(abs(ours - theirs) > _LATE for ours, theirs in waits):
            return Divergence.OTHERWISE
        return None

    def _is_late(self, seq: int) -> bool:
        """Whether a step waited longer or shorter after its cause than in the twin."""
        event, other = self._events[seq - 1], self._pair(seq)
        if other is None or event.cause is None or other.cause is None:
            return False
        waited = event.at - self._events[event.cause - 1].at
        return abs(waited - (other.at - self._sound[other.cause - 1].at)) > _LATE

    def _missing(self, ancestors: Sequence[int]) -> Culprit | None:
        """The first step of the twin that follows from a right step, and that the run lacks."""
        right = {self._pairs[seq - 1]: seq for seq in ancestors if self._pairs[seq - 1]}
        for event in self._lacking:
            known = [right[seq] for seq in self._sound_before[event.seq - 1] if seq in right]
            if known:
                return Culprit(seq=max(known), divergence=Divergence.MISSING, sound=event)
        return None


def _earlier(events: Sequence[Event]) -> Iterator[list[int]]:
    """For each event the ones before it: its cause, and the last of each subject that it has.

    One without a cause also has the first of its turn and of its message.
    """
    last: dict[str, int] = {}
    first: dict[str, int] = {}
    for event in events:
        names = [name for field in _SUBJECTS if (name := getattr(event, field)) is not None]
        found = [event.cause, *(last.get(name) for name in names)]
        for name in (event.turn, event.inbound):
            known = None if name is None else first.setdefault(name, event.seq)
            found += [known] if event.cause is None else []
        yield [seq for seq in found if seq and seq != event.seq]
        last.update(dict.fromkeys(names, event.seq))


def _ahead(event: Event) -> Iterator[float]:
    """The times ahead that an event names, as seconds from then."""
    for field in _AHEAD:
        value = getattr(event.body, field, None)
        yield value - event.at if isinstance(value, int | float) else 0.0
