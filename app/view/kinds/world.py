"""The simulated world: accounts, people, places, threads, connections, credentials."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, note, row
from trunkline.app.view.text.cells import clean
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.sim.events.world import (
    CredentialRotated,
    PlatformConnected,
    ThreadClosed,
    ThreadOpened,
    ThreadReopened,
    WebhookGone,
    WorldAccount,
    WorldLimits,
    WorldPerson,
    WorldPlace,
)


@label(WorldAccount)
def _account(_view: RunView, _event: Event, body: WorldAccount) -> str:
    return f"account {body.account} on {body.channel}"


@label(WorldLimits)
def _limits(_view: RunView, _event: Event, body: WorldLimits) -> str:
    rate = "" if body.recovery_rate is None else f", recovered ones at {body.recovery_rate:g}/s"
    doubt = "parked" if body.mark is None else "resent with a mark"
    return f"at most {body.max_attempts} attempts, within {body.max_age:g} s{rate}; uncertain sends are {doubt}"


@label(WorldPerson)
def _person(_view: RunView, _event: Event, body: WorldPerson) -> str:
    return f"{body.peer.name or body.peer.id} is on {body.channel}"


@label(WorldPlace)
def _place(view: RunView, _event: Event, body: WorldPlace) -> str:
    return f"place {view.places.label(body.address)}"


@label(PlatformConnected)
def _connected(_view: RunView, _event: Event, body: PlatformConnected) -> str:
    return f"connected to {body.channel} as {body.account}"


@label(ThreadOpened)
def _opened(_view: RunView, _event: Event, body: ThreadOpened) -> str:
    return f"thread {body.name} opened in {body.address.channel}"


@row(ThreadOpened)
def _opened_row(draw: RowBuilder, event: Event, body: ThreadOpened) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"{clean(body.name)} opened", draw.lanes.of(body.address))


@label(ThreadClosed)
def _closed(view: RunView, _event: Event, body: ThreadClosed) -> str:
    return f"{view.places.label(body.address)} {body.how}"


@row(ThreadClosed)
def _closed_row(draw: RowBuilder, event: Event, body: ThreadClosed) -> TimelineRow:
    return draw.at_place(event, body.address, clean(body.how))


@label(ThreadReopened)
def _reopened(view: RunView, _event: Event, body: ThreadReopened) -> str:
    return f"{view.places.label(body.address)} accepts messages again"


@row(ThreadReopened)
def _reopened_row(draw: RowBuilder, event: Event, body: ThreadReopened) -> TimelineRow:
    return draw.at_place(event, body.address, "open again")


@label(CredentialRotated, row=note)
def _rotated(_view: RunView, _event: Event, body: CredentialRotated) -> str:
    return f"account {body.account} on {body.channel} has a new token, number {body.number}: older ones are refused"


@label(WebhookGone, row=alarm)
def _webhook_gone(_view: RunView, _event: Event, body: WebhookGone) -> str:
    return f"webhook {body.webhook} on {body.channel} is {body.how}"
