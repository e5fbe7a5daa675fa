"""Every event kind has a label, and a timeline row or a reason to have none; what records it is declared."""

import pytest

from trunkline.app.runs.model import Run
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import KINDS
from trunkline.core.events import BODIES, Trace, TraceHeader
from trunkline.sim import find_scenarios, load_scenario, run_scenario
from trunkline.sim.index.projection import EventFeed
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants import CHECKERS

#: kinds that the timeline folds into the row before them, each with the reason
WITHOUT_ROW = {
    "run.phase": "the runner's own bookkeeping",
    "agent.told": "the posted message has the row",
    "operator.asked": "what the turn does has rows",
    "client.asked": "send.requested follows and has the row",
    "world.limits": "part of the setting, recorded before anything happens",
    "world.heartbeat": "part of the setting",
    "world.account": "part of the setting",
    "world.person": "part of the setting",
    "world.place": "part of the setting; the place has a lane",
    "world.session": "part of the setting; the session has a card",
    "platform.connected": "every process connects every account at its start",
    "route.decided": "inside the gateway; explained at the posted message",
    "inbound.admitted": "inside the gateway; explained at the posted message",
    "session.created": "inside the gateway; the session has a card",
    "transcript.appended": "inside the gateway; on the Sessions screen",
    "turn.started": "inside the gateway; what the turn does has rows",
    "tool.called": "what the tool does has rows",
    "delegation.accepted": "the start of the hand has the row",
    "hand.began": "the start of the hand has the row",
    "hand.answered": "the end of the hand has the row",
    "hand.progressed": "the progress that the gateway stores has the row",
    "agent.given": "what the turn does has rows",
    "agent.checked": "what the turn does has rows",
    "agent.answered": "what the turn says has rows",
    "agent.sends": "the posted message has the row",
    "agent.reasoned": "what the turn does has rows",
    "agent.quotes": "the posted message has the row",
    "agent.delegated": "the start of the hand has the row",
    "completion.planned": "the announcement has rows",
    "target.resolved": "send.requested has the row",
    "hook.sent": "the outcome has the row",
    "intent.prepared": "inside the gateway; the attempt's outcome has the row",
    "attempt.started": "inside the gateway; the platform's reaction has the row",
    "chunk.acked": "the accepted message has the row",
    "adapter.ended": "a stream ends in order only with its process",
    "binding.touched": "the message that touched the binding has the row",
    "control.called": "the posted message has the row",
    "heartbeat.due": "its start, or the guard that stops it, has the row",
    "cron.ended": "what the turn says has rows",
    "gateway.attached": "part of the setting",
    "platform.confirmed": "the posted message has the row",
    "platform.confirming": "the posted message has the row",
    "wire.responded": "what the platform did with the request has the row",
}


def test_every_kind_has_a_label():
    assert set(BODIES.values()) == set(KINDS)


def test_a_kind_without_a_row_has_a_reason():
    assert {body.kind for body, kind in KINDS.items() if kind.row is None} == set(WITHOUT_ROW)


@pytest.mark.parametrize("name", ["killed-on-the-way", "own-webhook-echo", "queue-full"])
def test_bodies_declare_what_records_them(name: str):
    (scenario,) = (load_scenario(path) for path in find_scenarios(["scenarios"]) if path.stem == name)
    for event in run_scenario(scenario).trace.events:
        recorder = event.node if event.node in ("gateway", "sim") else "platform"
        assert event.body.recorded_by == recorder, event.kind


#: kinds that no checker judges and no projection of the index takes, each with the reason
WITHOUT_PROJECTION = {
    "agent.checked": "explains what a crash changes, and promises nothing",
    "action.previewed": "a dry run has no effect",
    "wire.answered": "an answer changes nothing that people see",
    "peer.deleted": "what the gateway hears of it is judged",
    "peer.reacted": "what the gateway hears of it is judged",
    "peer.voted": "the gateway does not hear of it",
    "adapter.connected": "what is received then is judged",
    "adapter.ended": "a stream that ends normally has no effect to judge",
    "backlog.waiting": "the senders that wait are judged by what they send",
    "bug.enabled": "part of the setting",
    "control.called": "the effect of a chat command is judged, not the command",
    "delegation.progressed": "progress changes no result",
    "cron.ended": "what the turn says is judged",
    "gateway.reached_out": "it was stopped there, or went where no checker looks",
    "hand.progressed": "progress changes nothing that people see",
    "platform.confirming": "the repeated delivery that may follow is judged",
    "worker.died": "a task without an answer is judged by its deadline",
    "worker.reported": "progress changes nothing that people see",
    "heartbeat.event_added": "the run that deals with it is judged",
    "lease.awaited": "the lease that is taken is judged",
    "lease.lost": "attempts without a lease are judged",
    "run.joined": "the setting of a watched gateway",
    "script.missed": "the runner reports it",
    "sender.escaped": "what the agent was given is judged",
    "send.joined": "the answer to the client is judged",
    "webhook.gone": "posts of the bot instead are judged",
}


def test_a_kind_that_nothing_is_computed_from_has_a_reason():
    index = RunView(Run(trace=Trace(header=TraceHeader(scenario="none"), events=()), verdicts=()))
    facts = RunFacts()
    feed = EventFeed(facts, facts.wire_side, *(checker(facts) for checker in CHECKERS))
    taken = {*feed.handlers, *index.takes}
    assert {kind for kind, body in BODIES.items() if body not in taken} == set(WITHOUT_PROJECTION)
