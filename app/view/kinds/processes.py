"""Gateway processes: their start, end and leases, their configuration, store and adapters."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, note, row
from trunkline.app.view.text.cells import clean, count
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    ConfigReloaded,
    ProcessRecovered,
    ProcessStarted,
    StoreFailed,
)
from trunkline.core.events.leases import AdapterInstalled, LeaseAwaited, LeaseGone, LeaseTaken, StorePruned
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed


@label(ProcessStarted)
def _started(_view: RunView, event: Event, _body: ProcessStarted) -> str:
    return f"process {event.generation} started"


@row(ProcessStarted, sometimes=True)
def _started_row(draw: RowBuilder, event: Event, _body: ProcessStarted) -> TimelineRow | None:
    if event.generation == 1:
        return None
    how = "restarted" if event.node == "gateway" else "started beside it"
    return draw.note(event, Look.NOTE, f"{how}, process {event.generation}")


@label(ProcessRecovered)
def _recovered(_view: RunView, _event: Event, body: ProcessRecovered) -> str:
    numbers = ((body.inbounds, "inbound"), (body.intents, "intent"), (body.delegations, "delegation"))
    return f"recovered: {', '.join(count(number, noun) for number, noun in numbers if number) or 'nothing unfinished'}"


@row(ProcessRecovered, sometimes=True)
def _recovered_row(draw: RowBuilder, event: Event, body: ProcessRecovered) -> TimelineRow | None:
    return note(draw, event, body) if body.inbounds or body.intents or body.delegations else None


@label(ProcessCrashed)
def _crashed(_view: RunView, _event: Event, body: ProcessCrashed) -> str:
    return f"CRASH {body.why.removeprefix('crash').strip()}".rstrip()


@row(ProcessCrashed)
def _crashed_row(draw: RowBuilder, event: Event, body: ProcessCrashed) -> TimelineRow:
    return draw.note(event, Look.ALARM, clean(_crashed(draw.view, event, body)), tags=("✗",))


@label(ProcessStopped)
def _stopped(_view: RunView, _event: Event, body: ProcessStopped) -> str:
    return f"process stopped: {body.why}"


@row(ProcessStopped, sometimes=True)
def _stopped_row(draw: RowBuilder, event: Event, body: ProcessStopped) -> TimelineRow | None:
    return None if body.why == "end" else draw.note(event, Look.NOTE, f"stopped: {clean(body.why)}")


@label(ProcessFrozen, row=note)
def _frozen(_view: RunView, event: Event, body: ProcessFrozen) -> str:
    return f"process {event.generation} freezes: {body.why}"


@label(ProcessThawed, row=note)
def _thawed(_view: RunView, event: Event, _body: ProcessThawed) -> str:
    return f"process {event.generation} resumes"


@label(LeaseTaken)
def _taken(_view: RunView, event: Event, body: LeaseTaken) -> str:
    before = f" after {body.before}" if body.before else ""
    return f"process {event.generation} takes the store's lease{before}: {body.reason}"


@row(LeaseTaken, sometimes=True)
def _taken_row(draw: RowBuilder, event: Event, body: LeaseTaken) -> TimelineRow | None:
    # Only a process that had to wait for the lease is worth a row.
    return note(draw, event, body) if event.generation in draw.stood_by else None


@label(LeaseAwaited, row=note)
def _awaited(_view: RunView, event: Event, body: LeaseAwaited) -> str:
    return f"process {event.generation} stands by, {body.holder} holds the store's lease: {body.reason}"


@label(LeaseGone, row=alarm)
def _lost(_view: RunView, event: Event, body: LeaseGone) -> str:
    return f"process {event.generation} has lost the store's lease: {body.reason}"


@label(ConfigReloaded)
def _reloaded(_view: RunView, _event: Event, body: ConfigReloaded) -> str:
    return f"configuration {body.revision} takes effect: {', '.join(body.changed) or 'nothing'} changed"


@row(ConfigReloaded)
def _reloaded_row(draw: RowBuilder, event: Event, body: ConfigReloaded) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"configuration {body.revision}: {', '.join(body.changed) or 'the same'}")


@label(StoreFailed, row=alarm)
def _store_failed(_view: RunView, _event: Event, body: StoreFailed) -> str:
    return f"store: {body.error}; again in {body.retry_in:g} s"


@label(StorePruned, row=note)
def _pruned(_view: RunView, _event: Event, body: StorePruned) -> str:
    kinds = ((body.intents, "intent"), (body.inbounds, "inbound"), (body.sends, "send"))
    return f"removed: {', '.join(count(number, noun) for number, noun in kinds if number)}: {body.reason}"


@label(AdapterInstalled, row=note)
def _installed(_view: RunView, _event: Event, body: AdapterInstalled) -> str:
    return f"the adapter of {body.channel} {body.account} is installed"


@label(AdapterFailed, row=alarm)
def _adapter_failed(_view: RunView, _event: Event, body: AdapterFailed) -> str:
    return f"connection of {body.channel} {body.account} failed: {body.detail}, again in {body.retry_in:g} s"


@label(AdapterEnded)
def _adapter_ended(_view: RunView, _event: Event, body: AdapterEnded) -> str:
    return f"connection of {body.channel} {body.account} ended"
