"""The delegations that have not ended, in memory: found and counted in constant time, however many there are."""

from dataclasses import dataclass, field

import anyio

from trunkline.core.declared import filled
from trunkline.core.hands.port import DelegationStatus
from trunkline.core.records.delegations import DelegationRow, HandKind
from trunkline.core.values import DelegationId, SessionId


@dataclass(slots=True, kw_only=True, eq=False)
class OpenDelegation:
    """A delegation with work that has not ended, as known to this process."""

    row: DelegationRow
    #: seq of the event that it goes on from
    cause: int
    #: it is durable; until then it only counts
    stored: bool = False
    #: cancels the run of a function, or the turn of an agent that works on it
    scope: anyio.CancelScope | None = None
    #: held while an end of it is being stored: of two, the first counts
    ending: anyio.Lock = field(default_factory=anyio.Lock)
    #: it holds one of the places for runs at the same time
    runs: bool = False
    #: how many turns that work on it are due or running; a task that is being stored counts, too
    turns: int = 0
    #: the delegations of those turns that have not ended
    children: dict[DelegationId, None] = field(default_factory=dict[DelegationId, None])

    @property
    def status(self) -> DelegationStatus:
        row = self.row
        return filled(DelegationStatus, row, delegation=row.id)


class OpenDelegations:
    def __init__(self) -> None:
        self._all: dict[DelegationId, OpenDelegation] = {}
        self._of_session: dict[SessionId | None, dict[DelegationId, OpenDelegation]] = {}
        #: how many of them are tasks of workers, and whether there is one
        self._workers = 0
        self._some_worker = anyio.Event()

    def __len__(self) -> int:
        return len(self._all)

    def add(self, delegation: OpenDelegation) -> None:
        row = delegation.row
        self._all[row.id] = delegation
        self._of_session.setdefault(row.session, {})[row.id] = delegation
        if row.kind is HandKind.WORKER:
            self._workers += 1
            self._some_worker.set()
        parent = self.find(row.parent)
        if parent is not None:
            parent.children[row.id] = None

    def remove(self, delegation: OpenDelegation) -> None:
        row = delegation.row
        if self._all.pop(row.id, None) is None:
            return
        if row.kind is HandKind.WORKER:
            self._workers -= 1
            if not self._workers:
                self._some_worker = anyio.Event()
        same = self._of_session[row.session]
        del same[row.id]
        if not same:
            del self._of_session[row.session]
        parent = self.find(row.parent)
        if parent is not None:
            parent.children.pop(row.id, None)

    async def wait_for_worker(self) -> None:
        await self._some_worker.wait()

    def find(self, delegation: str | None) -> OpenDelegation | None:
        """The open delegation with this id, also one that is still being stored."""
        return None if delegation is None else self._all.get(DelegationId(delegation))

    def count_of(self, session: SessionId) -> int:
        return len(self._of_session.get(session, ()))

    def of_session(self, session: SessionId) -> tuple[OpenDelegation, ...]:
        return tuple(delegation for delegation in self._of_session.get(session, {}).values() if delegation.stored)

    def all(self) -> tuple[OpenDelegation, ...]:
        return tuple(delegation for delegation in self._all.values() if delegation.stored)
