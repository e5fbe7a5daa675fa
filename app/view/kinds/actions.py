"""The message tool: policy, previews, answers, and what platforms changed."""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, label_text, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.actions import ActionAnswered, ActionPreviewed, PolicyDecided, TranscriptChanged
from trunkline.core.events.delivery import IntentPrepared
from trunkline.sim.events.actions import AgentActs, WireActed, WireAnswered
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid


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
    marks = draw.view.marks
    if event.seq in marks.copies or event.seq in marks.misplaced:
        return draw.outbound(event, Look.COPY, body.address, text, "✗")
    if body.repeated:
        return draw.outbound(event, Look.SUPPRESSED, body.address, f"{text}: so already", "sup")
    return draw.outbound(event, Look.DELIVERED, body.address, text)


label_text(AgentActs, "the agent asks for {action}{message: on …}")
row_text(AgentActs, "{action} {message}", look=Look.NOTE)
label_text(WireAnswered, "{address.channel} answers {action}")
row_text(WireAnswered, "answers {action}", look=Look.NOTE, at="address")


@label(PolicyDecided)
def _policy(_view: RunView, _event: Event, body: PolicyDecided) -> str:
    verdict = "allows" if body.allowed else "denies"
    mark = f", marked {quoted(body.mark)}" if body.mark else ""
    return f"the cross-context policy {verdict} {body.action.value} to {body.target}{mark} ({body.reason.value})"


@row(PolicyDecided)
def _policy_row(draw: RowBuilder, event: Event, body: PolicyDecided) -> TimelineRow:
    look = Look.NOTE if body.allowed else Look.SUPPRESSED
    verdict = "allowed" if body.allowed else "denied"
    return draw.note(event, look, f"policy: {body.action.value} {verdict}", draw.lanes.gateway)


label_text(ActionPreviewed, "dry run of {action} on {channel}; nothing is stored or sent")
row_text(ActionPreviewed, "dry run: {action}")
label_text(ActionAnswered, "{channel} answers {action}{reason: (…)}")
row_text(ActionAnswered, "{action} answered")
label_text(TranscriptChanged, "a line of the transcript of {session_key} changes")
row_text(TranscriptChanged, "transcript line changed")
