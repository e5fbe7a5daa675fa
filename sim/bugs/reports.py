"""Defects of what is left for a gateway, and of reports: lost, forgotten, repeated, or sent against an operator."""

from collections import Counter
from typing import Any

import msgspec

from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackEvent, CallbackState
from trunkline.core.store.commands import FinishTurn
from trunkline.core.store.delegations import ChangeCallback, DropPost, HandPost, ReadPosts, RetryCallback
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListOpenIntents, OpenIntent
from trunkline.core.store.sqlite.handlers import ReadSql
from trunkline.sim.bugs.base import bug, replacing_read, replacing_write
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.store.rewired import RewiredStore

#: how often a report is tried in all that nobody sees
_MOST_REPEATS = 5


@bug("posts-removed-when-read", replacing_read(ReadPosts), caught_by=("C6",))
async def _removed_first(store: RewiredStore, query: ReadPosts) -> tuple[HandPost, ...]:
    """What workers have left is removed as soon as it is read, so a process that dies before it counts loses it."""
    found = await store.inner.read(query)
    for post in found:
        await store.inner.write(DropPost(n=post.n), answer)
    # Nothing is left that its command could remove.
    return tuple(msgspec.structs.replace(post, n=None) for post in found)


@bug("parked-report-is-forgotten", replacing_read(ListOpenIntents), caught_by=("L1", "L6"))
async def _forgotten(store: RewiredStore, query: ListOpenIntents) -> tuple[OpenIntent, ...]:
    """A process that starts loads only what is on its way, and leaves out reports that wait for their account."""
    sql = "SELECT i.id FROM intents i JOIN delegations d ON d.id = i.delegation_id WHERE d.callback = ?"
    state = (CallbackState.PARKED.value,)
    parked = {name for (name,) in await store.inner.read(ReadSql(op=lambda c: c.execute(sql, state).fetchall()))}
    return tuple(delegation for delegation in await store.inner.read(query) if delegation.id not in parked)


@bug("discard-stops-nothing", replacing_write(ChangeCallback), caught_by=("C4",))
async def _still_sent(store: RewiredStore, command: ChangeCallback, story: Any, then: Any) -> Any:
    """A discarded report is only shown as discarded: its messages stay in the queue, and are sent."""
    return await store.inner.write(command, story, None if command.event is CallbackEvent.DISCARD else then)


@bug("retry-is-only-noted", replacing_write(RetryCallback), caught_by=("C4", "L1"))
async def _only_noted(store: RewiredStore, command: RetryCallback, story: Any, _then: Any) -> Any:
    """A report that an operator retries is marked as due, and its turn does not run before the next start."""
    return await store.inner.write(command, story)


@bug("no-reply-is-failure", reports=("B141",), caught_by=("C4",))
def _install_registry(wiring: Wiring) -> None:
    """A callback turn that is silent on purpose counts as a failed delivery, and is repeated until a limit."""
    gateways: list[Gateway] = []
    repeats: Counter[str] = Counter()
    make = wiring.make_gateway

    def gateway(**parts: Any) -> Gateway:
        gateways[:] = [make(**parts)]
        return gateways[0]

    async def finish(store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
        done = command.work.callback
        if done is None or command.callback is not CallbackEvent.SUPPRESS:
            return await store.inner.write(command, story, then)
        failed = msgspec.structs.replace(command, callback=CallbackEvent.FAIL, callback_reason=Reason.NO_RECEIPT)
        written = await store.inner.write(failed, story, then)
        repeats[done.delegation] += 1
        if repeats[done.delegation] < _MOST_REPEATS:
            await gateways[0].hands.retry_callback(done.delegation, by="registry")
        return written

    wiring.make_gateway = gateway
    wiring.replace_write(FinishTurn, finish)
