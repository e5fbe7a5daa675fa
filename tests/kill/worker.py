"""An outside worker: a process that takes tasks from the store file and answers them later, whoever works the store.

It knows nothing of the gateway, and never waits for it. What it has taken is in its journal before it takes it, so that
the next process of its name goes on after a kill. Now and then it reports progress, answers twice, answers with a wrong
ticket, or answers for a task that another has taken; none of that may show.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
import traceback
from pathlib import Path
from random import Random

import msgspec

from tests.kill.words import abandoned, work_of
from trunkline.core.errors import AnswerRefused, StoreError, TrunklineError, UnknownName
from trunkline.core.hands.results import HandOutcome
from trunkline.core.store.delegations import HandPost, PostToGateway, PostVerb, TakeTask
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.offline.queue_file import in_transaction, open_to_change
from trunkline.core.values import DelegationId

#: what workers take tasks of
COURIER = "courier"
#: exit code: it may not do what it must
DEFECT = 1
#: seconds between two looks at a store without tasks
_LOOK = 0.01
_MINE = "SELECT id, task FROM delegations WHERE ticket = ?"
_OTHERS = "SELECT id FROM delegations WHERE worker <> ? AND worker <> '' ORDER BY n DESC LIMIT 1"


class WorkerLife(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a worker process is given at its start."""

    name: str
    #: starts of workers so far
    process: int
    store: str
    log: str
    journal: str
    #: longest time for a task, seconds
    longest: float = 0.05


class Worker:
    """Takes and answers tasks until it is killed."""

    def __init__(self, life: WorkerLife) -> None:
        self._life = life
        self._dice = Random(f"{life.name} {life.process}")
        self._journal = Path(life.journal)
        self._taken = 0

    def run(self) -> None:
        while True:
            try:
                with open_to_change(Path(self._life.store)) as db:
                    self._serve(db)
            except StoreError:
                # It is not made yet, or busy for long.
                time.sleep(_LOOK)

    def _serve(self, db: sqlite3.Connection) -> None:
        for ticket in self._left():
            for delegation, task in db.execute(_MINE, (ticket,)).fetchall():
                self._work(db, delegation, task, ticket)
        while True:
            ticket = self._mint()
            take = TakeTask(hand=COURIER, worker=self._life.name, ticket=ticket, now=time.time())
            with in_transaction(db):
                row = execute(db, take)
            if row is None:
                time.sleep(_LOOK)
            else:
                self._note(f"has {ticket}")
                self._work(db, row.id, row.task, ticket)

    def _work(self, db: sqlite3.Connection, delegation: str, task: str, ticket: str) -> None:
        if abandoned(task):
            self._note(f"done {ticket}")
            return
        dice = self._dice
        if dice.random() < 0.3:
            self._post(db, delegation, PostVerb.PROGRESS, "half of it", ticket)
        time.sleep(dice.uniform(0, self._life.longest))
        if dice.random() < 0.2:
            self._misbehave(db, delegation)
        for _ in range(2 if dice.random() < 0.2 else 1):
            self._post(db, delegation, PostVerb.ANSWER, work_of(task), ticket)
        self._note(f"done {ticket}")

    def _misbehave(self, db: sqlite3.Connection, delegation: str) -> None:
        """Answer with another's ticket, or for another's task."""
        for other in [delegation, *(row[0] for row in db.execute(_OTHERS, (self._life.name,)).fetchall())]:
            try:
                self._leave(db, other, PostVerb.ANSWER, f"WRONG {other}", "no such ticket")
            except (AnswerRefused, UnknownName):
                continue
            raise AssertionError(f"an answer for {other} with a wrong ticket was taken")

    def _post(self, db: sqlite3.Connection, delegation: str, verb: PostVerb, text: str, ticket: str) -> None:
        # Its own task may have ended meanwhile.
        with contextlib.suppress(AnswerRefused, UnknownName):
            self._leave(db, delegation, verb, text, ticket)

    def _leave(self, db: sqlite3.Connection, delegation: str, verb: PostVerb, text: str, ticket: str) -> None:
        post = HandPost(
            delegation=DelegationId(delegation),
            verb=verb,
            outcome=HandOutcome.OK if verb is PostVerb.ANSWER else None,
            text=text,
            by=self._life.name,
            ticket=ticket,
            at=time.time(),
        )
        with in_transaction(db):
            execute(db, PostToGateway(post=post))

    # ------------------------------------------------------------ the journal

    def _mint(self) -> str:
        """A ticket that is in the journal before it is used; one that took no task is used again."""
        if not self._taken or self._last_taken:
            self._taken += 1
            self._ticket = f"{self._life.name}-{self._life.process}-{self._taken}"
            self._last_taken = False
            self._note(f"mint {self._ticket}")
        return self._ticket

    _ticket = ""
    _last_taken = False

    def _note(self, line: str) -> None:
        self._last_taken = not line.startswith("mint")
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(f"{line}\n")

    def _left(self) -> list[str]:
        """The tickets of earlier processes of this name whose task may not be answered."""
        if not self._journal.exists():
            return []
        lines = [line.partition(" ") for line in self._journal.read_text(encoding="utf-8").splitlines()]
        done = {ticket for what, _, ticket in lines if what == "done"}
        return [ticket for what, _, ticket in lines if what == "mint" and ticket not in done]


def work(life: WorkerLife) -> int:
    """Be a worker process until it is killed."""
    try:
        Worker(life).run()
    except TrunklineError:
        sys.stderr.write(f"worker {life.name}:\n{traceback.format_exc()}\n")
    return DEFECT
