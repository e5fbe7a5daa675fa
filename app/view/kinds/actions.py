"""The message tool: policy, previews, answers, and what platforms changed."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, label_text, row, row_text
from trunkline.app.view.text.cells import quoted
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.actions import ActionAnswered, ActionPreviewed, PolicyDecided, TranscriptChanged
from trunkline.sim.events.actions import AgentActs, WireActed, WireAnswered


@label(WireActed)
def _acted(_view: RunView, _event: Event, body: WireActed) -> str:
    what = f" {quoted(body.text)}" if body.text else ""
    message = f" on message {body.message_id}" if body.message_id else ""
    again = ", which was so already" if body.repeated else ""
    return f"{body.address.channel} carries out {body.action.value}{what}{message}{again}"


row_text(WireActed, "{action} {text}", look=Look.NOTE, at="address", arrow=True)
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
