"""An outside worker: a process that takes tasks from the store file and answers them later, to any gateway.

It knows nothing of the gateway, and never waits for it. The next process of its name goes on with what it had taken
when it was killed. Now and then it reports progress, answers twice, answers with a wrong ticket, or answers for a task
that another has taken; none of that may show.
"""

import contextlib
import time
from pathlib import Path
from random import Random

import msgspec

from tests.kill.words import abandoned, work_of
from trunkline import HandWorker
from trunkline.core.errors import AnswerRefused, StoreError, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.states.delegation import OPEN_WORK
from trunkline.core.store.delegations import DelegationFilter, ListDelegations
from trunkline.core.store.sqlite.handlers import ask
from trunkline.core.store.sqlite.offline.opening import open_to_read

#: what workers take tasks of
COURIER = "courier"
#: seconds between two looks at a store without tasks
_LOOK = 0.01


class WorkerLife(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a worker process is given at its start."""

    name: str
    #: starts of workers so far
    process: int
    store: str
    log: str
    #: longest time for a task, seconds
    longest: float = 0.05


class Worker:
    """Takes and answers tasks until it is killed."""

    def __init__(self, life: WorkerLife) -> None:
        self._life = life
        self._dice = Random(f"{life.name} {life.process}")
        self._store = Path(life.store)
        self._hands = HandWorker(self._store, name=life.name)

    def run(self) -> None:
        while True:
            try:
                self._serve()
            except StoreError:
                # It is not made yet, or busy for long.
                time.sleep(_LOOK)

    def _serve(self) -> None:
        for row in self._open():
            if row.worker == self._life.name and row.ticket is not None:
                self._work(row.id, row.task, row.ticket)
        while True:
            task = self._hands.take(COURIER)
            if task is None:
                time.sleep(_LOOK)
                continue
            assert task.ticket is not None
            self._work(task.delegation, task.task, task.ticket)

    def _open(self) -> tuple[DelegationRow, ...]:
        """What the workers have taken, newest first."""
        with open_to_read(self._store) as db:
            which = DelegationFilter(states=tuple(OPEN_WORK), hand=COURIER)
            # The overview of operators has no tickets.
            return ask(db, ListDelegations(which=which, limit=1000)).rows

    def _work(self, delegation: str, task: str, ticket: str) -> None:
        if abandoned(task):
            return
        dice = self._dice
        # Its time may be over meanwhile, or it may have been answered by an earlier process of this name.
        with contextlib.suppress(AnswerRefused, UnknownName):
            if dice.random() < 0.3:
                self._hands.progress(delegation, ticket, "half of it")
            time.sleep(dice.uniform(0, self._life.longest))
            if dice.random() < 0.2:
                self._misbehave(delegation)
            for _ in range(2 if dice.random() < 0.2 else 1):
                self._hands.answer(delegation, ticket, work_of(task))

    def _misbehave(self, delegation: str) -> None:
        """Answer with a ticket that nobody has, for its own task and for one of another worker."""
        others = [row.id for row in self._open() if row.worker not in ("", self._life.name)]
        for one in (delegation, *others[:1]):
            try:
                self._hands.answer(one, "no such ticket", f"WRONG {one}")
            except AnswerRefused as error:
                assert error.reason is Reason.WRONG_TICKET, error  # noqa: PT017 -- this is no test
            except UnknownName:
                pass
            else:
                raise AssertionError(f"an answer for {one} with a wrong ticket was taken")


def work(life: WorkerLife) -> int:
    """Be a worker process until it is killed."""
    Worker(life).run()
    return 0
