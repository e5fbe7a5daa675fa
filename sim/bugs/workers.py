"""Defects of hands and workers: answers that do not count, or count twice, and runs that should not take place."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import anyio
import msgspec

from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import HandRunner, HandTask
from trunkline.core.records.rows import Unfinished
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation, HandFinish, PostToGateway, TakeTask
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.sqlite.handlers import RunSql, execute
from trunkline.sim.bugs.base import bug, replacing_read, replacing_write
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.store.rewired import RewiredStore

#: what everybody shows instead of a ticket
_ANY = "any-ticket"
#: seconds by which a commit comes later than the start of the hand
_LATE = 0.01


@bug("wrong-ticket-accepted", caught_by=("C6",))
def _install_any_ticket(wiring: Wiring) -> None:
    """An answer counts without the ticket of the worker that took the task, so a stranger can give it."""
    wiring.change_write(TakeTask, lambda command: msgspec.structs.replace(command, ticket=_ANY))

    def unchecked(command: PostToGateway) -> PostToGateway:
        return msgspec.structs.replace(command, post=msgspec.structs.replace(command.post, ticket=_ANY))

    wiring.change_write(PostToGateway, unchecked)


class _Hands:
    """Hands whose runs a defect changes."""

    def __init__(self, inner: HandRunner) -> None:
        self.inner = inner

    def has(self, hand: str) -> bool:
        return self.inner.has(hand)

    async def run(self, task: HandTask) -> str:
        return await self.inner.run(task)


def _with_hands(wiring: Wiring, wrap: Callable[[HandRunner], HandRunner]) -> None:
    make = wiring.make_gateway

    def gateway(*, hands: HandRunner, **parts: Any) -> Gateway:
        return make(hands=wrap(hands), **parts)

    wiring.make_gateway = gateway


class _FirstWords(_Hands):
    """Takes what a hand reports first for its result."""

    async def run(self, task: HandTask) -> str:
        found: list[str] = []
        async with anyio.create_task_group() as group:

            async def progress(text: str) -> None:
                found.append(text)
                group.cancel_scope.cancel()
                await anyio.sleep_forever()

            async def work() -> None:
                found.append(await self.inner.run(msgspec.structs.replace(task, progress=progress)))

            group.start_soon(work)
        return found[0]


@bug("progress-is-result", caught_by=("C6",))
def _install_first_words(wiring: Wiring) -> None:
    """The first thing that a hand reports is taken for its result, and the rest is never read."""
    _with_hands(wiring, _FirstWords)


@bug("late-result-too", replacing_write(FinishDelegation), caught_by=("C6",))
async def _finished_again(store: RewiredStore, command: FinishDelegation, story: Any, then: Any) -> Any:
    """A result that comes after the end ends the task once more, and is reported like the first."""

    def write(c: sqlite3.Connection) -> HandFinish:
        found = execute(c, command)
        if found.first or found.again:
            return found
        c.execute("UPDATE delegations SET state = 'running', callback = 'waiting' WHERE id = ?", (command.delegation,))
        again = None if command.callback is None else _once_more(command.callback)
        return execute(c, msgspec.structs.replace(command, post=None, callback=again))

    return await store.inner.write(RunSql(op=write), story, then)


def _once_more(callback: Any) -> Any:
    """The callback under another identity, so that it is no repeat."""
    return msgspec.structs.replace(callback, identity=f"{callback.identity}/again")


class _Early(_Hands):
    """Hands that have begun before their delegation is stored."""

    def __init__(self, inner: HandRunner) -> None:
        super().__init__(inner)
        self._begun: dict[str, asyncio.Task[str]] = {}

    def begin(self, task: HandTask) -> None:
        self._begun[task.delegation] = asyncio.ensure_future(self.inner.run(task))

    async def run(self, task: HandTask) -> str:
        begun = self._begun.pop(task.delegation, None)
        return await (self.inner.run(task) if begun is None else begun)


@bug("begins-before-it-is-stored", reports=("004-D03",), caught_by=("C5",))
def _install_early(wiring: Wiring) -> None:
    """A hand is started first and its handle stored afterwards, so one that ends at once is never found again."""
    hands: list[_Early] = []

    def wrap(inner: HandRunner) -> HandRunner:
        hands[:] = [_Early(inner)]
        return hands[0]

    async def accept(store: RewiredStore, command: AcceptDelegation, story: Any, then: Any) -> Any:
        row = command.row
        hands[0].begin(HandTask(delegation=row.id, hand=row.hand, task=row.task))
        await anyio.sleep(_LATE)
        return await store.inner.write(command, story, then)

    _with_hands(wiring, wrap)
    wiring.replace_write(AcceptDelegation, accept)


@bug("stale-run-is-resumed", replacing_read(LoadUnfinished), reports=("B115",), caught_by=("C5",))
async def _resume_stale_runs(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """After a long time without a process a run is resumed, however old it is and whatever it is still worth."""
    found = await store.inner.read(query)
    young = [msgspec.structs.replace(row, accepted_at=1e12, deadline=None) for row in found.delegations]
    return msgspec.structs.replace(found, delegations=tuple(young))


@bug("injection-error-swallowed", caught_by=("L2", "C4"), reports=("004-D02",))
def _install_swallowed(wiring: Wiring) -> None:
    """Whether the result was injected is never looked at: an error there ends everything, in no log and for nobody."""

    def lost(command: FinishDelegation) -> FinishDelegation:
        return msgspec.structs.replace(command, callback=None, intents=(), callback_reason=None)

    wiring.change_write(FinishDelegation, lost)
