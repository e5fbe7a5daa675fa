"""Sends of clients and operators: requested, joined, refused, previewed; and the message hooks."""

from __future__ import annotations

from trunkline.app.text.cells import count, quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.delivery import (
    ChunkerFailed,
    HookFailed,
    HookSending,
    HookSent,
    OperatorActed,
    SendJoined,
    SendPreviewed,
    SendRefused,
    SendRequested,
    TargetResolved,
)
from trunkline.sim.events.script import ClientAnswered, ClientRequested


@label(ClientRequested)
def _asked(_view: RunView, _event: Event, body: ClientRequested) -> str:
    return f"a client asks for {'a dry run' if body.dry_run else 'a send'}, key {body.key}"


@label(ClientAnswered, row=note)
def _answered(_view: RunView, _event: Event, body: ClientAnswered) -> str:
    receipt = f", message {body.provider_id}" if body.provider_id else ""
    again = ", as before" if body.cached else ""
    detail = f" ({body.detail})" if body.detail else ""
    return f"the client gets its result: {body.status}{receipt}{again}{detail}"


label_text(SendRequested, "a client asks to send {text:quoted} to {target:target}{channel: on …}, key {key}")
row_text(SendRequested, "client: {text:quoted} to {target:target}")
label_text(
    TargetResolved,
    "target {target:quoted} is {address:place}, session {session_key}{answered_by:; answers go to the agent …}",
)


@label(SendJoined)
def _joined(_view: RunView, _event: Event, body: SendJoined) -> str:
    result = "it gets the first result" if body.ended else "it waits for the first result"
    return f"send {body.key} is a repeat: {result} ({body.reason})"


row_text(SendJoined, "same key, one send: {key}", look=Look.SUPPRESSED, tags=("sup",))
label_text(SendRefused, "send {key} refused: {reason}: {detail}")
row_text(SendRefused, "send refused: {reason}", look=Look.DEAD, tags=("✗",))


@label(SendPreviewed)
def _previewed(view: RunView, _event: Event, body: SendPreviewed) -> str:
    files = f" with {count(len(body.media), 'file')}" if body.media else ""
    session = f", session {body.session_key}" if body.session_key else ", not mirrored"
    texts = " ".join(quoted(chunk) for chunk in body.chunks)
    return f"dry run of {body.key}: {texts}{files} to {view.places.label(body.address)}{session}"


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
