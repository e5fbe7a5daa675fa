"""Heartbeats and the schedule: due, skipped by a guard, started, and how they ended."""

from __future__ import annotations

from trunkline.app.text.cells import clean, quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, label_text, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.heartbeat import (
    CronDue,
    CronEnded,
    CronScheduled,
    GuardResult,
    HeartbeatDue,
    HeartbeatEnded,
    HeartbeatScheduled,
    HeartbeatSkipped,
    HeartbeatStarted,
    SystemEventAdded,
)


def _guards(guards: tuple[GuardResult, ...]) -> str:
    """What the guard said that stopped it; the Why pane has the others."""
    said = [f"{one.guard} says {one.reason.value}" for one in guards if one.reason is not None]
    return f"; {', '.join(said)}" if said else ""


label_text(HeartbeatScheduled, "the heartbeat of {agent} is scheduled{next_at: for …|seconds}")
row_text(HeartbeatScheduled, "heartbeat of {agent} scheduled")
label_text(HeartbeatDue, "the heartbeat of {agent} is due: {reason}{wake:, …}")


@label(HeartbeatSkipped)
def _skipped(_view: RunView, _event: Event, body: HeartbeatSkipped) -> str:
    detail = f" ({clean(body.detail)})" if body.detail else ""
    return f"the heartbeat of {body.agent} is skipped: {body.reason.value}{detail}{_guards(body.guards)}"


row_text(HeartbeatSkipped, "heartbeat of {agent} skipped: {reason}", look=Look.SUPPRESSED)


@label(HeartbeatStarted)
def _started(view: RunView, _event: Event, body: HeartbeatStarted) -> str:
    to = f"answers → {view.places.label(body.to)}" if body.to else "no answers"
    why = f" ({body.reason.value})" if body.reason else ""
    events = f", {body.events} events" if body.events else ""
    events += f", {clean(body.detail)}" if body.detail else ""
    return f"the heartbeat of {body.agent} starts, {to}{why}{events}{_guards(body.guards)}"


row_text(HeartbeatStarted, "heartbeat of {agent} ({wake})")


@label(HeartbeatEnded)
def _ended(view: RunView, _event: Event, body: HeartbeatEnded) -> str:
    to = f" to {view.places.label(body.to)}" if body.to else ""
    why = _why(body)
    detail = f" {clean(body.detail)}" if body.detail else ""
    text = f": {quoted(body.preview)}" if body.preview else ""
    return f"the heartbeat of {body.agent} ends: {body.status}{to}{why}{detail}{text}"


@row(HeartbeatEnded)
def _ended_row(draw: RowBuilder, event: Event, body: HeartbeatEnded) -> TimelineRow:
    look = Look.ALARM if body.status == "failed" else Look.SUPPRESSED if body.silent else Look.NOTE
    return draw.note(event, look, f"heartbeat {body.status}{_why(body)}", draw.lanes.gateway)


def _why(body: HeartbeatEnded) -> str:
    """The reason of an end, unless its status says it already."""
    return f" ({body.reason.value})" if body.reason is not None and body.reason.value != body.status else ""


label_text(SystemEventAdded, "the next heartbeat of {agent} will deal with {text:quoted}{source:, from …}")
row_text(SystemEventAdded, "event for {agent}: {text:quoted}")
label_text(CronScheduled, "entry {entry} of the schedule is planned{next_at: for …|seconds}{reason: (…)}")
row_text(CronScheduled, "schedule: {entry} planned")
label_text(CronDue, "entry {entry} of the schedule fires ({reason}) and starts a {starts} of {agent}")
row_text(CronDue, "schedule: {entry} fires")
label_text(CronEnded, "the turn of entry {entry} of the schedule ends: {outcome}{reason: (…)}")
