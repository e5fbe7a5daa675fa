"""A worker in a process of its own: it takes tasks from the store file of a gateway, and answers there.

It needs no gateway: an answer is stored when the call returns, and the gateway that works the store takes it; if none
runs now, at the next start.
"""

from __future__ import annotations

from pathlib import Path

from trunkline.core.env import Env, system_env
from trunkline.core.errors import InvalidCall, InvariantBroken
from trunkline.core.hands.port import HandTask
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.delegations import HandPost, PostVerb
from trunkline.core.store.sqlite.offline import hands_file
from trunkline.core.store.sqlite.offline.queue_file import open_to_change
from trunkline.core.values import DelegationId
from trunkline.core.well_formed import plain_text

#: what a worker may say of its own work
_OUTCOMES = (HandOutcome.OK, HandOutcome.ERROR)


class HandWorker:
    """Works on tasks of hands that are configured as workers (`hands.each.X.worker`).

    Every method is one short transaction on the file, and blocks for it: in asynchronous code, call it in a thread.
    Several workers, also in several processes, may share a store. Methods raise `StoreError` for a file that is not the
    store of a gateway of this version, or cannot be written now.
    """

    def __init__(self, store: Path | str, *, name: str = "worker", env: Env | None = None) -> None:
        self._path = Path(store)
        #: as it is shown to operators
        self.name = name
        self._env = system_env() if env is None else env

    def take(self, hand: str) -> HandTask | None:
        """Take the next task of a hand; None: there is none. Nobody else gets it.

        Keep `delegation` and `ticket` where a restart of the worker finds them: the answer needs both.
        """
        ticket = self._env.ids.new("ticket", hand)
        with open_to_change(self._path) as connection:
            row, _ = hands_file.take(connection, hand, worker=self.name, ticket=ticket, now=self._env.now())
        return None if row is None else self._task_of(row)

    def _task_of(self, row: DelegationRow) -> HandTask:
        ticket = row.ticket
        if ticket is None:
            raise InvariantBroken(f"{row.id} was taken without a ticket")

        async def progress(text: str) -> None:
            self.progress(row.id, ticket, text)

        return HandTask(
            delegation=row.id,
            hand=row.hand,
            task=row.task,
            label=row.label,
            asked_by=None if row.origin is None else row.origin.asked_by,
            timeout=None if row.deadline is None else max(row.deadline - self._env.now(), 0.0),
            ticket=ticket,
            progress=progress,
        )

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
        with open_to_change(self._path) as connection:
            return hands_file.post(connection, post).first
