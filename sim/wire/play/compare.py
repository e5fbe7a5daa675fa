"""Whether a run on the wire came to the verdicts of the same scenario in virtual time."""

from __future__ import annotations

import msgspec

from trunkline.core.events.base import RunEnded
from trunkline.sim.invariants import Status
from trunkline.sim.run.result import Run


class VerdictDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A difference: what holds on one side only."""

    #: id of an invariant, or the summary of an expectation
    what: str
    #: what it says on the wire, and in virtual time: ``holds`` or ``violated``, ``met`` or ``missed``
    on_wire: str
    in_virtual_time: str

    def __str__(self) -> str:
        """Readable form for reports."""
        return f"{self.what}: {self.on_wire} on the wire, {self.in_virtual_time} in virtual time"


def differences(wire: Run, virtual: Run) -> tuple[VerdictDifference, ...]:
    """The invariants and expectations on which two runs of a scenario differ.

    That one run exercised an invariant and the other did not is no difference: how often a connection breaks, for one,
    differs from run to run. A run on the wire that was given up before that in virtual time came to rest, such as one
    that waits a day for a hand, is not asked for what comes later: then only what it does not find is a difference.
    """
    found: list[VerdictDifference] = []
    early = _was_given_up(wire) and wire.trace.events[-1].at < virtual.trace.events[-1].at
    broken = {verdict.id for verdict in virtual.verdicts if verdict.status is Status.VIOLATED}
    for verdict in wire.verdicts:
        here, there = verdict.status is Status.VIOLATED, verdict.id in broken
        if here != there and not (early and here):
            words = ("holds", "violated")
            found.append(VerdictDifference(what=verdict.id, on_wire=words[here], in_virtual_time=words[there]))
    missed, also = {unmet.summary for unmet in wire.unmet}, {unmet.summary for unmet in virtual.unmet}
    for what in dict.fromkeys((*(unmet.summary for unmet in wire.unmet), *(unmet.summary for unmet in virtual.unmet))):
        if (what in missed) != (what in also) and not (early and what in missed):
            words = ("met", "missed")
            here, there = what in missed, what in also
            found.append(
                VerdictDifference(what=f"expectation {what}", on_wire=words[here], in_virtual_time=words[there])
            )
    return tuple(found)


def _was_given_up(run: Run) -> bool:
    last = run.trace.events[-1].body if run.trace.events else None
    return isinstance(last, RunEnded) and not last.at_rest
