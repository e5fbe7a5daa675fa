"""Heartbeats as facts: the standing of each agent at the cursor, and the guards of a run."""

from tests.support.factories import direct
from trunkline.app.runs.model import Run
from trunkline.app.view.explain.explanation import facts_of
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import Verdicts
from trunkline.app.view.labels.heartbeat_facts import standing_facts
from trunkline.app.view.overview.cards import latest_facts
from trunkline.core.events import Body, Event, Trace, TraceHeader
from trunkline.core.events.heartbeat import (
    GuardResult,
    HeartbeatEnded,
    HeartbeatScheduled,
    HeartbeatSkipped,
    HeartbeatStarted,
)
from trunkline.core.reasons import Reason

PLACE = direct("100", channel="whatsapp")
PASSED = (GuardResult(guard="enabled"), GuardResult(guard="active-hours"))


def view_of(*bodies: Body) -> RunView:
    events = tuple(Event(seq=n, at=float(n), node="gateway", body=body) for n, body in enumerate(bodies, 1))
    return RunView(Run(trace=Trace(header=TraceHeader(scenario="none", title="t"), events=events), verdicts=()))


def lines(view: RunView, seq: int) -> list[str]:
    return [fact.text for fact in standing_facts(view, seq)]


def test_the_standing_is_that_of_the_cursor() -> None:
    view = view_of(
        HeartbeatScheduled(agent="main", next_at=1800.0),
        HeartbeatStarted(agent="main", guards=PASSED, wake="interval", next_at=3600.0, to=PLACE),
        HeartbeatEnded(agent="main", status="sent", to=PLACE, preview="The disk is full."),
    )
    assert lines(view, 0) == []
    assert lines(view, 1) == ["main: no run yet, next at 1800.000"]
    assert lines(view, 2) == ["main: #2 2.000 running, next at 3600.000"]
    assert lines(view, 3) == ["main: #3 3.000 sent, next at 3600.000"]


def test_each_agent_has_a_line_and_one_without_a_schedule_is_off() -> None:
    view = view_of(
        HeartbeatScheduled(agent="main", next_at=None),
        HeartbeatSkipped(agent="ops", reason=Reason.QUIET_HOURS, wake="interval", next_at=90.0),
    )
    assert lines(view, 2) == ["main: no run yet, off", "ops: #2 2.000 skipped (quiet-hours), next at 90.000"]


def test_a_wake_leaves_the_schedule_as_it_is() -> None:
    view = view_of(
        HeartbeatScheduled(agent="main", next_at=1800.0),
        HeartbeatStarted(agent="main", guards=PASSED, wake="wake"),
        HeartbeatEnded(agent="main", status="ok-token", reason=Reason.OK_TOKEN),
    )
    assert lines(view, 3) == ["main: #3 3.000 ok-token, next at 1800.000"]


def test_the_why_pane_names_the_guard_that_stopped_it() -> None:
    guards = (*PASSED, GuardResult(guard="session-idle", reason=Reason.REQUESTS_IN_FLIGHT))
    view = view_of(HeartbeatSkipped(agent="main", reason=Reason.REQUESTS_IN_FLIGHT, guards=guards, wake="interval"))
    facts = {fact.label: fact.text for fact in facts_of(view, view.event(1))}
    assert facts["heartbeat"] == "of main is skipped, by interval"
    assert facts["passed"] == "enabled, active-hours"
    assert facts["stopped"] == "session-idle says requests-in-flight"
    assert facts["because"].startswith("requests-in-flight: ")


def test_the_why_pane_of_an_end_has_its_text_and_place() -> None:
    view = view_of(HeartbeatEnded(agent="main", status="skipped", reason=Reason.DUPLICATE, to=PLACE, preview="again"))
    facts = {fact.label: fact.text for fact in facts_of(view, view.event(1))}
    assert (facts["heartbeat"], facts["says"]) == ("of main ended: skipped", "“again”")
    assert facts["because"].startswith("duplicate: ")


def test_the_overview_shows_it() -> None:
    view = view_of(HeartbeatScheduled(agent="main", next_at=60.0))
    assert ("heartbeat", "main: no run yet, next at 60.000") in [
        (fact.label, fact.text) for fact in latest_facts(view, Verdicts(view), 1)
    ]
