"""What is known of the gateway's processes: which of them hold the store, stand still, or have ended."""

from __future__ import annotations

from math import inf

from trunkline.core.events import Event
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.index.projection import Projection, on


class RunProcesses(Projection):
    """The processes of a run, by their generation."""

    def __init__(self) -> None:
        #: the process that took the store last; others stand by
        self.holder: int | None = None
        self.claim: Event | None = None
        #: process -> when it ended
        self._ended: dict[int, float] = {}
        #: process -> since when it is frozen; and when it resumed
        self._frozen: dict[int, float] = {}
        self._thawed: dict[int, float] = {}

    # ------------------------------------------------------------ questions

    def holds(self, process: int) -> bool:
        """Whether a process holds the store, as far as is known; others stand by and attempt nothing."""
        return self.holder in (process, None)

    def gone(self, process: int) -> bool:
        """Whether a process has ended."""
        return process in self._ended

    def awake(self, process: int, since: float, now: float) -> float:
        """Seconds in which a process could act, without a break, between two times. A frozen one stores nothing."""
        until = min(now, self._ended.get(process, inf), self._frozen.get(process, inf))
        return until - max(since, self._thawed.get(process, 0.0))

    def robbed(self, process: int) -> Event | None:
        """The claim of another process that took the store as free, although this one still acts on it."""
        claim = self.claim
        if claim is None or claim.generation == process or not isinstance(claim.body, LeaseTaken):
            return None
        return claim if claim.body.reason is Reason.LEASE_FREE else None

    # ------------------------------------------------------------ folding

    def started(self, event: Event) -> None:
        """A process has started. In a trace without leases it holds the store."""
        if self.claim is None:
            self.holder = event.generation

    @on(LeaseTaken)
    def _leased_by(self, event: Event, _body: LeaseTaken) -> None:
        self.holder, self.claim = event.generation, event

    @on(ProcessFrozen)
    def _process_frozen(self, event: Event, _body: ProcessFrozen) -> None:
        self._frozen.setdefault(event.generation, event.at)

    @on(ProcessThawed)
    def _process_thawed(self, event: Event, _body: ProcessThawed) -> None:
        self._frozen.pop(event.generation, None)
        self._thawed[event.generation] = event.at

    @on(ProcessCrashed, ProcessStopped)
    def _process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        self._ended.setdefault(event.generation, event.at)
