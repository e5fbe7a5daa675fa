"""What the gateway asks of a store about session bindings; see `trunkline.core.store.port` for `story` and `then`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from trunkline.core.bindings.records import SessionBindingRecord
from trunkline.core.bindings.states import BindingEvent
from trunkline.core.store.records import NewSession
from trunkline.core.store.sqlite.sql.bindings import Bound

T = TypeVar("T")


class BindingStore(Protocol):
    """Durable session bindings."""

    async def bind(
        self,
        record: SessionBindingRecord,
        session: NewSession | None,
        now: float,
        story: Callable[[Bound], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Store a binding, with the session that it is bound to where that is to be made; see `Bound`."""
        ...

    async def change_binding(
        self,
        binding: str,
        event: BindingEvent,
        changes: Mapping[str, Any],
        story: Callable[[SessionBindingRecord | None], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Let something happen to a binding. The story gets how it is then; none where it has ended already."""
        ...

    def note_binding(
        self,
        binding: str,
        event: BindingEvent,
        changes: Mapping[str, Any],
        story: Callable[[SessionBindingRecord | None], T],
        *,
        then: Callable[[T], None],
    ) -> None:
        """As `change_binding`, without anybody who waits."""
        ...

    def touch_binding(
        self,
        binding: str,
        at: float,
        story: Callable[[SessionBindingRecord | None], T],
        *,
        then: Callable[[T], None],
    ) -> None:
        """Something was said in a bound conversation. The story gets none where that is no news."""
        ...

    async def open_bindings(self) -> tuple[tuple[SessionBindingRecord, ...], dict[str, str]]:
        """What has not ended, in the order in which it was made; and by id what cannot be read, and why."""
        ...

    async def own_webhooks(self) -> tuple[tuple[str, str], ...]:
        """Channel and id of each webhook that a binding has, or had."""
        ...

    async def under_way(self) -> dict[str, int]:
        """How many open messages there are for each binding."""
        ...

    async def find_binding(
        self, *, binding: str | None = None, request: str | None = None
    ) -> SessionBindingRecord | None:
        """A binding by its id, or by the request that made it, whatever its status."""
        ...

    async def list_bindings(self, *, ended: bool = False) -> tuple[SessionBindingRecord, ...]:
        """Bindings in the order in which they were made; those that have ended too, where asked for."""
        ...
