"""A worker in a process of its own: it takes tasks from the store of a gateway, and answers there.

It needs no gateway: an answer is stored when the call returns, and the gateway that works the store takes it; if none
runs now, at the next start.
"""

import sqlite3
from functools import partial
from pathlib import Path

import msgspec

from trunkline.core.env import Env, system_env
from trunkline.core.errors import InvalidCall, InvariantBroken
from trunkline.core.hands.port import HandTask, task_of
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.delegations import HandPost, PostToGateway, PostVerb, TakeTask
from trunkline.core.store.opening import open_store
from trunkline.core.store.operators.hands import HandPosted
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.lease import holder_of
from trunkline.core.store.sqlite.offline.opening import in_transaction, open_to_change
from trunkline.core.store.sqlite.sql.operators.hands import without_ticket
from trunkline.core.values import DelegationId
from trunkline.core.well_formed import plain_text, well_formed

#: what a worker may say of its own work
_OUTCOMES = (HandOutcome.OK, HandOutcome.ERROR)


class HandWorker:
    """Works on tasks of hands that are configured as workers (`hands.each.X.worker`).

    The store is a file, or a schema on a server, `postgresql://USER@HOST/DATABASE?schema=NAME`. Every method is one
    short transaction on it, and blocks for it: in asynchronous code, call it in a thread. Several workers, also in
    several processes, may share a store. Methods raise `StoreError` for one that is not the store of a gateway of this
    version, or cannot be written now.
    """

    def __init__(self, store: Path | str, *, name: str = "worker", env: Env | None = None) -> None:
        self._opened = partial(open_store, store, open_to_change)
        #: as it is shown to operators
        self.name = name
        self._env = system_env() if env is None else env

    def take(self, hand: str) -> HandTask | None:
        """Take the next task of a hand; None: there is none. Nobody else gets it.

        Keep `delegation` and `ticket` where a restart of the worker finds them: the answer needs both.
        """
        ticket, now = self._env.ids.new("ticket", hand), self._env.now()
        command = TakeTask(hand=hand, worker=well_formed(self.name), ticket=ticket, now=now)
        with self._opened() as connection, in_transaction(connection):
            row = execute(connection, command)
        return None if row is None else self._task_of(row)

    def _task_of(self, row: DelegationRow) -> HandTask:
        ticket = row.ticket
        if ticket is None:
            raise InvariantBroken(f"{row.id} was taken without a ticket")

        async def progress(text: str) -> None:
            self.progress(row.id, ticket, text)

        left = None if row.deadline is None else max(row.deadline - self._env.now(), 0.0)
        return task_of(row, left, progress, ticket)

    def progress(self, delegation: str, ticket: str, text: str) -> None:
        """Say how far the work has come. Raises `UnknownName`, or `AnswerRefused` with a reason."""
        self._leave(PostVerb.PROGRESS, delegation, ticket, text, None)

    def answer(self, delegation: str, ticket: str | None, text: str, *, outcome: HandOutcome = HandOutcome.OK) -> bool:
        """Give the result of a task, or with `outcome` ``error`` say why there is none.

        Answers whether no result was there before; a later one is kept, and never reported. Raises `UnknownName`, and
        `AnswerRefused` with a reason: ``wrong-ticket``, ``not-a-worker`` or ``result-too-large``.
        """
        if outcome not in _OUTCOMES:
            raise InvalidCall(f"outcome is {outcome!r}: a worker answers with {' or '.join(_OUTCOMES)}")
        return self._leave(PostVerb.ANSWER, delegation, ticket, text, outcome)

    def _leave(
        self, verb: PostVerb, delegation: str, ticket: str | None, text: str, outcome: HandOutcome | None
    ) -> bool:
        said = plain_text(text)
        if said is None:
            raise InvalidCall(f"the text is a {type(text).__name__} instead of a str")
        post = HandPost(
            delegation=DelegationId(delegation),
            verb=verb,
            outcome=outcome,
            text=said,
            by=self.name,
            ticket=ticket,
            at=self._env.now(),
        )
        with self._opened() as connection, in_transaction(connection):
            return leave(connection, post).first


def leave(connection: sqlite3.Connection, post: HandPost) -> HandPosted:
    """Leave a post for the gateway that works the store, which applies it within its `delivery.watch`, or at its start.

    Raises as `PostToGateway`; then the caller's transaction must be rolled back.
    """
    clean = msgspec.structs.replace(post, text=well_formed(post.text), by=well_formed(post.by))
    first = execute(connection, PostToGateway(post=clean))
    return HandPosted(post=without_ticket(clean), first=first, holder=holder_of(connection, post.at))
