"""Short names of delegations on screens: ``h1`` for the first that was accepted."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.hands import DelegationAccepted
from trunkline.sim.index.projection import Projection, on


class DelegationNames(Projection):
    """The delegations of a run by the order of their acceptance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @on(DelegationAccepted)
    def _accepted(self, event: Event, _body: DelegationAccepted) -> None:
        self._numbers.setdefault(event.delegation or "", len(self._numbers) + 1)

    def of(self, delegation: str | None) -> str:
        """The name of a delegation; its id if the trace does not have its acceptance, and blank for none."""
        number = self._numbers.get(delegation or "")
        return (delegation or "") if number is None else f"h{number}"
