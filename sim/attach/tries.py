"""The verdicts of several tries as one: how many violate a promise, out of how many in which it was judged.

A gateway that is not ours runs by real clocks, so one try proves little. A try in which something of the script did not
happen, such as a fault that did not strike, proves nothing by holding; what it violates counts anyway.
"""

from collections.abc import Sequence

import msgspec

from trunkline.sim.invariants import Status, Verdict

#: from so many judged tries on a finding may be claimed
MIN_TRIES = 5


class JudgedTry(msgspec.Struct, frozen=True, kw_only=True):
    """A try: its verdicts, in the order of the catalogue, and whether everything of its script happened."""

    verdicts: tuple[Verdict, ...]
    whole: bool = True


class PromiseOverTries(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of all tries for one invariant."""

    id: str
    title: str
    sentence: str
    tries: int
    #: the tries that violate it, by their index
    violated: tuple[int, ...] = ()
    #: the tries in which it was judged and held, by their index
    held: tuple[int, ...] = ()

    @property
    def times(self) -> int:
        return len(self.violated)

    @property
    def judged(self) -> int:
        return len(self.violated) + len(self.held)

    @property
    def not_exercised(self) -> int:
        return self.tries - self.judged

    @property
    def flaky(self) -> bool:
        return bool(self.violated) and bool(self.held)

    @property
    def status(self) -> Status:
        if self.violated:
            return Status.VIOLATED
        return Status.OK if self.held else Status.NOT_EXERCISED

    def __str__(self) -> str:
        """``X1 violated 3 of 5 (flaky), not exercised 2 of 7``."""
        words = [f"{self.status.value} {self.times or self.judged} of {self.judged}"] if self.judged else []
        words[:1] = [f"{words[0]} (flaky)"] if self.flaky else words[:1]
        if self.not_exercised:
            words.append(f"not exercised {self.not_exercised} of {self.tries}")
        return f"{self.id} {', '.join(words)}"


def over_tries(tries: Sequence[JudgedTry]) -> tuple[PromiseOverTries, ...]:
    """The outcome of all tries for each invariant, in the order of the catalogue; empty without a try."""
    return tuple(_of(tries, verdict) for verdict in tries[0].verdicts) if tries else ()


def _of(tries: Sequence[JudgedTry], promise: Verdict) -> PromiseOverTries:
    found: dict[Status, list[int]] = {status: [] for status in Status}
    for number, finished in enumerate(tries):
        own = next((verdict for verdict in finished.verdicts if verdict.id == promise.id), None)
        if own is not None and (own.status is Status.VIOLATED or finished.whole):
            found[own.status].append(number)
    return PromiseOverTries(
        id=promise.id,
        title=promise.name,
        sentence=promise.sentence,
        tries=len(tries),
        violated=tuple(found[Status.VIOLATED]),
        held=tuple(found[Status.OK]),
    )
