"""The simulated world and its script: accounts, people, places, threads, credentials; phases, faults and the end."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.sim.events.script import (
    BugEnabled,
    FaultFired,
    HookRedirected,
    RunPhase,
    SaidTwice,
    ScriptSkipped,
    TextDenied,
)
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


label_text(WorldPerson, "{peer.name|peer.id} is on {channel}")
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

# ---------------------------------------------------------------- the script

label_text(RunPhase, "phase: {phase}")
label_text(BugEnabled, "defect on: {bug}. {sentence}")
row_text(BugEnabled, "defect on: {bug}", look=Look.ALARM)
label_text(FaultFired, "fault: {fault}{detail: …}", row=alarm)
label_text(SaidTwice, "{by} says {text:quoted} again, by itself", row=note)
label_text(TextDenied, "{by} may not say {text:quoted}, and says it nowhere", row=note)
label_text(HookRedirected, "{by} reroutes it{to:, to …}{target:, to …}{quotes:, quotes …}", row=note)
label_text(ScriptSkipped, "step skipped: {step}: {why}", row=alarm)


@label(RunEnded)
def _ended(_view: RunView, _event: Event, body: RunEnded) -> str:
    if body.cut:
        return f"cut {body.cut}: what the end shows is not judged"
    rests = f"at rest; {', '.join(body.waiting)} waits" if body.waiting else "at rest"
    return rests if body.at_rest else f"never came to rest: {', '.join(body.open)}"


@row(RunEnded)
def _ended_row(draw: RowBuilder, event: Event, body: RunEnded) -> TimelineRow:
    return note(draw, event, body) if body.at_rest else alarm(draw, event, body)
