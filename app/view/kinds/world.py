"""The simulated world: accounts, people, places, threads, connections, credentials."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row_text
from trunkline.core.events import Event
from trunkline.sim.events.world import (
    CredentialRotated,
    PlatformConnected,
    ThreadClosed,
    ThreadOpened,
    ThreadReopened,
    ThreadRequestAbandoned,
    WebhookGone,
    WorldAccount,
    WorldHeartbeat,
    WorldLimits,
    WorldPerson,
    WorldPlace,
)

label_text(WorldHeartbeat, "agent {agent} has a heartbeat every {every:g} s{target:, to …}{start:, from …}{end: to …}")
label_text(WorldAccount, "account {account} on {channel}")


@label(WorldLimits)
def _limits(_view: RunView, _event: Event, body: WorldLimits) -> str:
    rate = "" if body.recovery_rate is None else f", recovered ones at {body.recovery_rate:g}/s"
    doubt = "parked" if body.mark is None else "resent with a mark"
    return f"at most {body.max_attempts} attempts, within {body.max_age:g} s{rate}; uncertain sends are {doubt}"


@label(WorldPerson)
def _person(_view: RunView, _event: Event, body: WorldPerson) -> str:
    return f"{body.peer.name or body.peer.id} is on {body.channel}"


label_text(WorldPlace, "place {address:place}")
label_text(PlatformConnected, "connected to {channel} as {account}")
label_text(ThreadOpened, "thread {name} opened in {address.channel}")
row_text(ThreadOpened, "{name} opened", at="address")
label_text(ThreadRequestAbandoned, "the request for a thread {key} in {address:place} was given up", row=note)
label_text(ThreadClosed, "{address:place} {how}")
row_text(ThreadClosed, "{address:place_name} {how}", at="address")
label_text(ThreadReopened, "{address:place} accepts messages again")
row_text(ThreadReopened, "{address:place_name} open again", at="address")
label_text(
    CredentialRotated,
    "account {account} on {channel} has a new token, number {number}: older ones are refused",
    row=note,
)
label_text(WebhookGone, "webhook {webhook} on {channel} is {how}", row=alarm)
