"""Defects of what is left for a gateway, and of what operators do with reports: lost, forgotten, or without effect."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.hands.states import CallbackEvent, CallbackState
from trunkline.core.store.delegations import ChangeCallback, DropPost, HandPost, ReadPosts, RetryCallback
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListOpenIntents
from trunkline.core.store.records import OpenIntent
from trunkline.core.store.sqlite.handlers import ReadSql
from trunkline.sim.bugs.base import bug, replacing_read, replacing_write
from trunkline.sim.store.rewired import RewiredStore


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
    return tuple(one for one in await store.inner.read(query) if one.id not in parked)


@bug("discard-stops-nothing", replacing_write(ChangeCallback), caught_by=("C4",))
async def _still_sent(store: RewiredStore, command: ChangeCallback, story: Any, then: Any) -> Any:
    """A discarded report is only shown as discarded: its messages stay in the queue, and are sent."""
    return await store.inner.write(command, story, None if command.event is CallbackEvent.DISCARD else then)


@bug("retry-is-only-noted", replacing_write(RetryCallback), caught_by=("C4", "L1"))
async def _only_noted(store: RewiredStore, command: RetryCallback, story: Any, _then: Any) -> Any:
    """A report that an operator retries is marked as due, and its turn does not run before the next start."""
    return await store.inner.write(command, story)
