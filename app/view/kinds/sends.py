"""What is to be sent: requests of clients and operators, the message tool of agents, and the message hooks."""

from __future__ import annotations

from trunkline.app.text.cells import count, quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.actions import ActionAnswered, ActionPreviewed, PolicyDecided, TranscriptChanged
from trunkline.core.events.delivery import (
    ChunkerFailed,
    HookFailed,
    HookSending,
    HookSent,
    IntentPrepared,
    OperatorActed,
    SendJoined,
    SendPreviewed,
    SendRefused,
    SendRequested,
    TargetResolved,
)
from trunkline.sim.events.actions import AgentActs, WireActed, WireAnswered
from trunkline.sim.events.script import ClientAnswered, ClientRequested
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid

label_text(ClientRequested, "a client asks for {dry_run:?a dry run|a send}, key {key}")
label_text(
    ClientAnswered,
    "the client gets its result: {status}{provider_id:, message …}{cached:?, as before}{detail: (…)}",
    row=note,
)
label_text(SendRequested, "a client asks to send {text:quoted} to {target:target}{channel: on …}, key {key}")
row_text(SendRequested, "client: {text:quoted} to {target:target}")
label_text(
    TargetResolved,
    "target {target:quoted} is {address:place}, session {session_key}{answered_by:; answers go to the agent …}",
)
label_text(
    SendJoined,
    "send {key} is a repeat: {ended:?it gets the first result|it waits for the first result} ({reason})",
)
row_text(SendJoined, "same key, one send: {key}", look=Look.SUPPRESSED, tags=("sup",))
label_text(SendRefused, "send {key} refused: {reason}: {detail}")
row_text(SendRefused, "send refused: {reason}", look=Look.DEAD, tags=("✗",))
label_text(
    SendPreviewed,
    "dry run of {key}: {chunks:quotes}{media: with …|count file} to {address:place}"
    "{session_key:, session …}{session_key:?|, not mirrored}",
)


@row(SendPreviewed)
def _previewed_row(draw: RowBuilder, event: Event, body: SendPreviewed) -> TimelineRow:
    text = quoted(" ".join(body.chunks)) if body.chunks else count(len(body.media), "file")
    return draw.note(event, Look.SUPPRESSED, f"dry run: {text}", draw.lanes.of(body.address), ("sup",))


@label(HookSending)
def _sending(view: RunView, _event: Event, body: HookSending) -> str:
    hooks = ", ".join(body.by)
    if body.verdict == "kept":
        return "the hooks leave it unchanged"
    done = "cancel it" if body.verdict == "cancelled" else "change it"
    what = "" if body.verdict == "cancelled" or body.changed in ((), ("text",)) else f", {', '.join(body.changed)}"
    where = "" if body.to is None else f" {view.places.label(body.to)}"
    return f"hooks {done}{f' ({hooks})' if hooks else ''}{what}{where}: {body.reason}"


@row(HookSending, sometimes=True)
def _sending_row(draw: RowBuilder, event: Event, body: HookSending) -> TimelineRow | None:
    # A message that the hooks leave unchanged has its own rows.
    return None if body.verdict == "kept" else note(draw, event, body)


label_text(HookFailed, "hook {hook} fails at {phase}: {reason} ({detail})", row=alarm)
label_text(
    ChunkerFailed, "the chunker of {channel}:{account} fails, a built-in one splits the text: {detail}", row=alarm
)
label_text(HookSent, "the hooks are notified: {state}, {reason}{provider_id:, message …}")
label_text(OperatorActed, "operator: {verb}{detail:, …}", row=note)

# ---------------------------------------------------------------- the message tool


@label(WireActed)
def _acted(view: RunView, event: Event, body: WireActed) -> str:
    what = f" {quoted(body.text)}" if body.text else ""
    old = f", {quoted(body.before)} until now" if body.before and not body.repeated else ""
    again = ", which was so already" if body.repeated else ""
    return f"{body.address.channel} carries out {body.action.value}{what}{_of(view, event, body)}{old}{again}"


def _of(view: RunView, event: Event, body: WireActed) -> str:
    """The message that a change concerns: the event that made it visible, else its id."""
    if body.message_id is None:
        return ""
    prepared = view.of_intent(event.intent, IntentPrepared)
    of = prepared[0].body.of if prepared and isinstance(prepared[0].body, IntentPrepared) else None
    accepts = (one for one in view.of_intent(of, WireAccepted) if one.seq < event.seq)
    for accepted in accepts:
        if isinstance(accepted.body, WireAccepted) and accepted.body.provider_id == body.message_id:
            return f" of #{accepted.seq}"
    said = view.visible.posted(body.address.channel, body.message_id)
    if said is not None and isinstance(said.body, PeerSaid) and said.body.address.lane[2:] == body.address.lane[2:]:
        return f" of #{said.seq}"
    return f" of message {body.message_id}"


@row(WireActed, arrow=True)
def _acted_row(draw: RowBuilder, event: Event, body: WireActed) -> TimelineRow:
    what = f" {quoted(body.text)}" if body.text else ""
    text = f"{body.action.value}{what}{_of(draw.view, event, body)}"
    return draw.change(event, body.address, text, repeated=body.repeated)


label_text(AgentActs, "the agent asks for {action}{message: on …}")
row_text(AgentActs, "{action} {message}")
label_text(WireAnswered, "{address.channel} answers {action}")
row_text(WireAnswered, "answers {action}", at="address")
label_text(
    PolicyDecided,
    "the cross-context policy {allowed:?allows|denies} {action} to {target}{mark:, marked …|quoted} ({reason})",
)
row_text(
    PolicyDecided,
    "policy: {action} {allowed:?allowed|denied}",
    look=lambda _draw, body: Look.NOTE if body.allowed else Look.SUPPRESSED,
)
label_text(ActionPreviewed, "dry run of {action} on {channel}; nothing is stored or sent")
row_text(ActionPreviewed, "dry run: {action}")
label_text(ActionAnswered, "{channel} answers {action}{reason: (…)}")
row_text(ActionAnswered, "{action} answered")
label_text(TranscriptChanged, "a line of the transcript of {session_key} changes")
row_text(TranscriptChanged, "transcript line changed")
