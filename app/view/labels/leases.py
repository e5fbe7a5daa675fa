"""Words for processes and their leases: who works the store, who stands by, and who stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event
from trunkline.core.events import registry as b


def _taken(_view: RunView, event: Event, body: b.LeaseTaken) -> str:
    before = f" after {body.before}" if body.before else ""
    return f"process {event.generation} works the store{before}: {body.reason}"


def _awaited(_view: RunView, event: Event, body: b.LeaseAwaited) -> str:
    return f"process {event.generation} stands by, {body.holder} works the store: {body.reason}"


def _lost(_view: RunView, event: Event, body: b.LeaseLost) -> str:
    return f"process {event.generation} has lost the store: {body.reason}"


def _frozen(_view: RunView, event: Event, body: b.ProcessFrozen) -> str:
    return f"process {event.generation} stands still: {body.why}"


def _thawed(_view: RunView, event: Event, _body: b.ProcessThawed) -> str:
    return f"process {event.generation} goes on"


#: by the type of the body; see `trunkline.app.view.labels.events`
UPKEEP_LABELS = cast(
    "dict[type[Body], Callable[[RunView, Event, Body], str]]",
    {
        b.LeaseTaken: _taken,
        b.LeaseAwaited: _awaited,
        b.LeaseLost: _lost,
        b.ProcessFrozen: _frozen,
        b.ProcessThawed: _thawed,
    },
)
