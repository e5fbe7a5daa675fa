"""How many delegations are in which state after any event, without looking at each of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from trunkline.app.view.hands.history import DelegationHistory
from trunkline.core.states.delegation import CallbackState


class HandCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The delegations after an event. `open`: their work has not ended."""

    accepted: int
    open: int
    delivered: int
    suppressed: int
    parked: int
    undeliverable: int

    @property
    def reporting(self) -> int:
        """Those that have ended and whose report is on its way."""
        ended = self.accepted - self.open
        return ended - self.delivered - self.suppressed - self.parked - self.undeliverable

    @property
    def states(self) -> str:
        """Those that there are: ``2 open, 1 delivered, 1 parked``."""
        named = (
            ("open", self.open),
            ("on their way", self.reporting),
            ("delivered", self.delivered),
            ("suppressed", self.suppressed),
            ("parked", self.parked),
            ("undeliverable", self.undeliverable),
        )
        return ", ".join(f"{number} {name}" for name, number in named if number)


class HandTally:
    """Counts by state over the whole run: at each moment two searches for each state."""

    def __init__(self) -> None:
        self._accepted: list[int] = []
        self._finished: list[int] = []
        self._entered: dict[CallbackState, list[int]] = {}
        self._left: dict[CallbackState, list[int]] = {}

    def count(self, runs: Iterable[DelegationHistory]) -> None:
        """Count all delegations of the run so far."""
        runs = list(runs)
        self._accepted = sorted(run.accepted.seq for run in runs)
        self._finished = sorted(run.finished.seq for run in runs if run.finished is not None)
        self._entered = {state: [] for state in CallbackState}
        self._left = {state: [] for state in CallbackState}
        for run in runs:
            before = None
            for step in run.steps:
                if before is not None:
                    self._left[before].append(step.seq)
                self._entered[step.state].append(step.seq)
                before = step.state
        for seqs in (*self._entered.values(), *self._left.values()):
            seqs.sort()

    def at(self, seq: int) -> HandCounts:
        """The counts after event `seq`."""
        accepted = bisect_right(self._accepted, seq)
        return HandCounts(
            accepted=accepted,
            open=accepted - bisect_right(self._finished, seq),
            delivered=self._in(CallbackState.DELIVERED, seq),
            suppressed=self._in(CallbackState.SUPPRESSED, seq),
            parked=self._in(CallbackState.PARKED, seq),
            undeliverable=self._in(CallbackState.UNDELIVERABLE, seq),
        )

    def _in(self, state: CallbackState, seq: int) -> int:
        return bisect_right(self._entered.get(state, ()), seq) - bisect_right(self._left.get(state, ()), seq)
