"""The SQLite store's verbs for session bindings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from trunkline.core.bindings.records import SessionBindingRecord
from trunkline.core.bindings.states import BindingEvent
from trunkline.core.store.records import NewSession
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.sql import bindings
from trunkline.core.store.sqlite.sql.bindings import Bound

T = TypeVar("T")


class BindingVerbs:
    """`trunkline.core.store.binding_port.BindingStore` over a connection and a writer."""

    _db: Db
    _writer: Writer

    async def bind(
        self,
        record: SessionBindingRecord,
        session: NewSession | None,
        now: float,
        story: Callable[[Bound], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: bindings.bind(c, record, session, now), story, then)

    async def change_binding(
        self,
        binding: str,
        event: BindingEvent,
        changes: Mapping[str, Any],
        story: Callable[[SessionBindingRecord | None], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """See the port."""
        return await self._writer.write(lambda c: bindings.change(c, binding, event, changes), story, then)

    def note_binding(
        self,
        binding: str,
        event: BindingEvent,
        changes: Mapping[str, Any],
        story: Callable[[SessionBindingRecord | None], T],
        *,
        then: Callable[[T], None],
    ) -> None:
        """See the port."""
        self._writer.submit(lambda c: bindings.change(c, binding, event, changes), story, then, _left_as_it_is)

    def touch_binding(
        self,
        binding: str,
        at: float,
        story: Callable[[SessionBindingRecord | None], T],
        *,
        then: Callable[[T], None],
    ) -> None:
        """See the port."""
        self._writer.submit(lambda c: bindings.touch(c, binding, at), story, then, _left_as_it_is)

    async def open_bindings(self) -> tuple[tuple[SessionBindingRecord, ...], dict[str, str]]:
        """See the port."""
        return await self._db.run(bindings.open_bindings)

    async def own_webhooks(self) -> tuple[tuple[str, str], ...]:
        """See the port."""
        return await self._db.run(bindings.own_webhooks)

    async def under_way(self) -> dict[str, int]:
        """See the port."""
        return await self._db.run(bindings.under_way)

    async def find_binding(
        self, *, binding: str | None = None, request: str | None = None
    ) -> SessionBindingRecord | None:
        """See the port."""
        if binding is not None:
            return await self._db.run(lambda c: bindings.find(c, binding))
        if request is not None:
            return await self._db.run(lambda c: bindings.by_request(c, request))
        return None

    async def list_bindings(self, *, ended: bool = False) -> tuple[SessionBindingRecord, ...]:
        """See the port."""
        return await self._db.run(lambda c: bindings.list_bindings(c, ended=ended))


def _left_as_it_is(_: Exception) -> None:
    """A refused write of this kind changes nothing; the binding is looked at again when its time comes."""
