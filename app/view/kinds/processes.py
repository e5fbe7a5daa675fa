"""Gateway processes: their start, end and leases, their configuration, store and adapters."""

from __future__ import annotations

from trunkline.app.text.cells import count
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    ConfigReloaded,
    ProcessRecovered,
    ProcessStarted,
    RunJoined,
    StoreFailed,
)
from trunkline.core.events.leases import AdapterInstalled, LeaseAwaited, LeaseGone, LeaseTaken, StorePruned
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed

label_text(ProcessStarted, "process {event.generation} started")


@row(ProcessStarted, sometimes=True)
def _started_row(draw: RowBuilder, event: Event, _body: ProcessStarted) -> TimelineRow | None:
    if event.generation == 1:
        return None
    how = "restarted" if event.node == "gateway" else "started beside it"
    return draw.note(event, Look.NOTE, f"{how}, process {event.generation}")


def _counted(**numbers: int) -> str:
    """Numbers of things: ``2 intents, 1 send``."""
    return ", ".join(count(number, noun) for noun, number in numbers.items() if number)


@label(ProcessRecovered)
def _recovered(_view: RunView, _event: Event, body: ProcessRecovered) -> str:
    found = _counted(inbound=body.inbounds, intent=body.intents, delegation=body.delegations)
    return f"recovered: {found or 'nothing unfinished'}"


@row(ProcessRecovered, sometimes=True)
def _recovered_row(draw: RowBuilder, event: Event, body: ProcessRecovered) -> TimelineRow | None:
    return note(draw, event, body) if body.inbounds or body.intents or body.delegations else None


@label(ProcessCrashed)
def _crashed(_view: RunView, _event: Event, body: ProcessCrashed) -> str:
    return f"CRASH {body.why.removeprefix('crash').strip()}".rstrip()


@row(ProcessCrashed)
def _crashed_row(draw: RowBuilder, event: Event, body: ProcessCrashed) -> TimelineRow:
    return draw.note(event, Look.ALARM, _crashed(draw.view, event, body), tags=("✗",))


label_text(ProcessStopped, "process stopped: {why}")
row_text(ProcessStopped, "stopped: {why}", when=lambda body: body.why != "end")
label_text(ProcessFrozen, "{event.generation:process} freezes: {why}")
row_text(
    ProcessFrozen,
    "{event.generation:process} freezes: {why}",
    look=lambda draw, _body: Look.ALARM if draw.view.wire_side else Look.NOTE,
)
label_text(ProcessThawed, "{event.generation:process} resumes", row=note)
label_text(LeaseTaken, "process {event.generation} takes the store's lease{before: after …}: {reason}")


@row(LeaseTaken, sometimes=True)
def _taken_row(draw: RowBuilder, event: Event, body: LeaseTaken) -> TimelineRow | None:
    # Only a process that had to wait for the lease is worth a row.
    return note(draw, event, body) if event.generation in draw.stood_by else None


label_text(LeaseAwaited, "process {event.generation} stands by, {holder} holds the store's lease: {reason}", row=note)
label_text(LeaseGone, "process {event.generation} has lost the store's lease: {reason}", row=alarm)
label_text(
    RunJoined,
    "joined while it went on: the store as it was after event {after}{left_out:; not shown: …|list}",
    row=note,
)
label_text(ConfigReloaded, "configuration {revision} takes effect: {changed:list}{changed:?|nothing} changed")
row_text(ConfigReloaded, "configuration {revision}: {changed:list}{changed:?|the same}")
label_text(StoreFailed, "store: {error}; again in {retry_in:g} s", row=alarm)


@label(StorePruned, row=note)
def _pruned(_view: RunView, _event: Event, body: StorePruned) -> str:
    return f"removed: {_counted(intent=body.intents, inbound=body.inbounds, send=body.sends)}: {body.reason}"


label_text(AdapterInstalled, "the adapter of {channel} {account} is installed", row=note)
label_text(AdapterFailed, "connection of {channel} {account} failed: {detail}, again in {retry_in:g} s", row=alarm)
label_text(AdapterConnected, "{channel} {account} is connected", row=note)
label_text(UpdateDropped, "an update of {channel} {account} was dropped: {reason}", row=alarm)
label_text(WebhookRefused, "a webhook of {channel} {account} was refused: {reason}", row=alarm)
label_text(DeliveryFailed, "{channel} {account} reports that an accepted message failed: {detail}", row=alarm)
label_text(AdapterEnded, "connection of {channel} {account} ended")
