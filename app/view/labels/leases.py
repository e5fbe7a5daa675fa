"""Words for processes and their leases: who works the store, who stands by, and who stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event
from trunkline.core.events.leases import LeaseAwaited, LeaseGone, LeaseTaken
from trunkline.sim.events.processes import ProcessFrozen, ProcessThawed


def _taken(_view: RunView, event: Event, body: LeaseTaken) -> str:
    before = f" after {body.before}" if body.before else ""
    return f"process {event.generation} works the store{before}: {body.reason}"


def _awaited(_view: RunView, event: Event, body: LeaseAwaited) -> str:
    return f"process {event.generation} stands by, {body.holder} works the store: {body.reason}"


def _lost(_view: RunView, event: Event, body: LeaseGone) -> str:
    return f"process {event.generation} has lost the store: {body.reason}"


def _frozen(_view: RunView, event: Event, body: ProcessFrozen) -> str:
    return f"process {event.generation} stands still: {body.why}"


def _thawed(_view: RunView, event: Event, _body: ProcessThawed) -> str:
    return f"process {event.generation} goes on"


#: by the type of the body; see `trunkline.app.view.labels.events`
UPKEEP_LABELS = cast(
    "dict[type[Body], Callable[[RunView, Event, Body], str]]",
    {
        LeaseTaken: _taken,
        LeaseAwaited: _awaited,
        LeaseGone: _lost,
        ProcessFrozen: _frozen,
        ProcessThawed: _thawed,
    },
)
