"""Short names of delegations on screens: ``h1`` for the first that was accepted."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.keys import SessionKey
from trunkline.sim.index.projection import Projection, on


class DelegationNames(Projection):
    """The delegations of a run by the order of their acceptance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        #: the session in which a hand that is an agent works -> the delegation
        self._tasks: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @on(DelegationAccepted)
    def _accepted(self, event: Event, body: DelegationAccepted) -> None:
        delegation = event.delegation or ""
        self._numbers.setdefault(delegation, len(self._numbers) + 1)
        if body.hand_kind == "agent" and delegation:
            self._tasks[str(SessionKey(agent=body.hand, subagent=delegation))] = delegation

    def of(self, delegation: str | None) -> str:
        """The name of a delegation; its id if the trace does not have its acceptance, and blank for none."""
        number = self._numbers.get(delegation or "")
        return (delegation or "") if number is None else f"h{number}"

    def of_session(self, session_key: str) -> str | None:
        """The name of the delegation whose task a session is; None for any other session."""
        delegation = self._tasks.get(session_key)
        return None if delegation is None else self.of(delegation)
