"""Gateway processes: their start, end and leases, their configuration, store and adapters."""

from __future__ import annotations

from trunkline.app.text.cells import clean, count
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row
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


label_text(ProcessStopped, "process stopped: {why}")


@row(ProcessStopped, sometimes=True)
def _stopped_row(draw: RowBuilder, event: Event, body: ProcessStopped) -> TimelineRow | None:
    return None if body.why == "end" else draw.note(event, Look.NOTE, f"stopped: {clean(body.why)}")


@label(ProcessFrozen)
def _frozen(_view: RunView, event: Event, body: ProcessFrozen) -> str:
    return f"{_process(event)} freezes: {body.why}"


@row(ProcessFrozen)
def _frozen_row(draw: RowBuilder, event: Event, body: ProcessFrozen) -> TimelineRow:
    look = Look.ALARM if draw.view.wire_side else Look.NOTE
    return draw.note(event, look, clean(_frozen(draw.view, event, body)))


@label(ProcessThawed, row=note)
def _thawed(_view: RunView, event: Event, _body: ProcessThawed) -> str:
    return f"{_process(event)} resumes"


def _process(event: Event) -> str:
    """The name of a process; those of a gateway that is not ours have no number here."""
    return f"process {event.generation}" if event.generation else "the gateway"


label_text(LeaseTaken, "process {event.generation} takes the store's lease{before: after …}: {reason}")


@row(LeaseTaken, sometimes=True)
def _taken_row(draw: RowBuilder, event: Event, body: LeaseTaken) -> TimelineRow | None:
    # Only a process that had to wait for the lease is worth a row.
    return note(draw, event, body) if event.generation in draw.stood_by else None


label_text(LeaseAwaited, "process {event.generation} stands by, {holder} holds the store's lease: {reason}", row=note)
label_text(LeaseGone, "process {event.generation} has lost the store's lease: {reason}", row=alarm)


@label(RunJoined, row=note)
def _joined(_view: RunView, _event: Event, body: RunJoined) -> str:
    rest = f"; not shown: {', '.join(body.left_out)}" if body.left_out else ""
    return f"joined while it went on: the store as it was after event {body.after}{rest}"


@label(ConfigReloaded)
def _reloaded(_view: RunView, _event: Event, body: ConfigReloaded) -> str:
    return f"configuration {body.revision} takes effect: {', '.join(body.changed) or 'nothing'} changed"


@row(ConfigReloaded)
def _reloaded_row(draw: RowBuilder, event: Event, body: ConfigReloaded) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"configuration {body.revision}: {', '.join(body.changed) or 'the same'}")


label_text(StoreFailed, "store: {error}; again in {retry_in:g} s", row=alarm)


@label(StorePruned, row=note)
def _pruned(_view: RunView, _event: Event, body: StorePruned) -> str:
    kinds = ((body.intents, "intent"), (body.inbounds, "inbound"), (body.sends, "send"))
    return f"removed: {', '.join(count(number, noun) for number, noun in kinds if number)}: {body.reason}"


label_text(AdapterInstalled, "the adapter of {channel} {account} is installed", row=note)
label_text(AdapterFailed, "connection of {channel} {account} failed: {detail}, again in {retry_in:g} s", row=alarm)
label_text(AdapterConnected, "{channel} {account} is connected", row=note)
label_text(UpdateDropped, "an update of {channel} {account} was dropped: {reason}", row=alarm)
label_text(WebhookRefused, "a webhook of {channel} {account} was refused: {reason}", row=alarm)
label_text(DeliveryFailed, "{channel} {account} reports that an accepted message failed: {detail}", row=alarm)
label_text(AdapterEnded, "connection of {channel} {account} ended")
