"""Ends bindings whose deadline has passed or whose conversation no longer exists.

Deadlines and probes are separate tasks, so a slow platform delays no deadline. An expired binding routes nothing even
before its end is stored and recorded here.
"""

from __future__ import annotations

from operator import attrgetter

import anyio

from trunkline.core.bindings.port import BindsConversations
from trunkline.core.errors import PlaceArchived, PlaceGone
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import PlaceState, SessionBindingRecord
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import ChatKind

#: number of conversations to probe per sweep
_PROBES = 50
#: minimum seconds between two checks of the deadlines
_LEAST = 0.001


class BindingExpiry:
    """Ends expired bindings and those of missing conversations."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        self._bound = context.bindings
        self._wake = anyio.Event()
        #: set when there are bindings to probe
        self._some = anyio.Event()

    def changed(self) -> None:
        """Wake the tasks after a change of bindings."""
        self._wake.set()
        if len(self._bound.index):
            self._some.set()

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._expire, name="expiry of bindings")
            group.start_soon(self._probe, name="probes of bindings")

    async def _expire(self) -> None:
        while True:
            self._wake = anyio.Event()
            for record in self._bound.index.due(self._ctx.env.now()):
                self._bound.end_soon(record, record.expiry_reason, cause=None)
            ends = self._bound.index.next_due
            if ends is None:
                await self._wake.wait()
                continue
            await wait_at_most(self._wake, max(ends - self._ctx.env.now(), _LEAST))

    async def _probe(self) -> None:
        """Periodically probe whether some bound conversations still exist."""
        after = ""
        while True:
            self._some = anyio.Event()
            if not len(self._bound.index):
                await self._some.wait()
            await anyio.sleep(self._every())
            active = (record for record in self._bound.index if record.status is BindingStatus.ACTIVE)
            records = sorted(active, key=attrgetter("binding_id"))
            some = [record for record in records if record.binding_id > after][:_PROBES]
            for record in some:
                await self._look_at(record)
            after = some[-1].binding_id if len(some) == _PROBES else ""

    def _every(self) -> float:
        channels = self._ctx.channels
        return min((self._ctx.config.channel(name).thread_bindings.sweep for name in channels), default=120.0)

    async def _look_at(self, record: SessionBindingRecord) -> None:
        adapter = self._ctx.adapters.get((record.conversation.channel, record.conversation.account))
        if not isinstance(adapter, BindsConversations) or record.conversation.kind is ChatKind.DIRECT:
            return
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                state = await adapter.inspect(record.conversation)
        except PlaceArchived:
            return
        except PlaceGone:
            state = PlaceState.GONE
        except Exception:  # noqa: BLE001 -- the next probe asks again
            return
        if state is PlaceState.GONE:
            self._bound.end_gone(record.binding_id, Reason.THREAD_GONE, None)
