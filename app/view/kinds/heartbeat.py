"""Heartbeats and the schedule: due, skipped by a guard, started, and how they ended."""

from __future__ import annotations

from trunkline.app.view.kinds.registry import label_text, row_text
from trunkline.app.view.labels.templates import FORMATS
from trunkline.app.view.rows.row import Look
from trunkline.app.view.rows.row_builder import RowBuilder
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
    """The answer of the guard that stopped it; the Why pane has the others."""
    said = [f"{one.guard} says {one.reason.value}" for one in guards if one.reason is not None]
    return f"; {', '.join(said)}" if said else ""


def _why(body: HeartbeatEnded) -> str:
    """The reason of an end, unless its status says it already."""
    return f" ({body.reason.value})" if body.reason is not None and body.reason.value != body.status else ""


def _look(_draw: RowBuilder, body: HeartbeatEnded) -> Look:
    return Look.ALARM if body.status == "failed" else Look.SUPPRESSED if body.silent else Look.NOTE


FORMATS["guards"] = lambda _view, guards: _guards(guards)
FORMATS["why_ended"] = lambda _view, body: _why(body)

label_text(HeartbeatScheduled, "the heartbeat of {agent} is scheduled{next_at: for …|seconds}")
row_text(HeartbeatScheduled, "heartbeat of {agent} scheduled")
label_text(HeartbeatDue, "the heartbeat of {agent} is due: {reason}{wake:, …}")
label_text(HeartbeatSkipped, "the heartbeat of {agent} is skipped: {reason}{detail: (…)}{guards:guards}")
row_text(HeartbeatSkipped, "heartbeat of {agent} skipped: {reason}", look=Look.SUPPRESSED)
label_text(
    HeartbeatStarted,
    "the heartbeat of {agent} starts, {to:answers → …|place}{to:?|no answers}{reason: (…)}{events:, … events}"
    "{detail:, …}{guards:guards}",
)
row_text(HeartbeatStarted, "heartbeat of {agent} ({wake})")
label_text(
    HeartbeatEnded,
    "the heartbeat of {agent} ends: {status}{to: to …|place}{body:why_ended}{detail: …}{preview:: …|quoted}",
)
row_text(HeartbeatEnded, "heartbeat {status}{body:why_ended}", look=_look)
label_text(SystemEventAdded, "the next heartbeat of {agent} will deal with {text:quoted}{source:, from …}")
row_text(SystemEventAdded, "event for {agent}: {text:quoted}")
label_text(CronScheduled, "entry {entry} of the schedule is planned{next_at: for …|seconds}{reason: (…)}")
row_text(CronScheduled, "schedule: {entry} planned")
label_text(CronDue, "entry {entry} of the schedule fires ({reason}) and starts a {starts} of {agent}")
row_text(CronDue, "schedule: {entry} fires")
label_text(CronEnded, "the turn of entry {entry} of the schedule ends: {outcome}{reason: (…)}")
