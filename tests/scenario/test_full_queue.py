"""A full queue stops nobody for good: whatever ends frees its room, also when the end has something to announce."""

import pytest

from trunkline.core.events.delivery import BacklogWaiting, IntentSettled
from trunkline.core.values import IntentState
from trunkline.sim import load_scenario, run_scenario
from trunkline.sim.events.wire import WireAccepted

#: how the waiting answers end -> the fault that ends them, and the settings that it needs
ENDS = {
    IntentState.EXPIRED: ("{on: ready, do: error, in: slack/ops, for: 5m}", "max_age: 30s"),
    IntentState.DEAD: ("{on: thread, do: error, in: slack/ops, times: 99}", "max_attempts: 2, backoff: [1s]"),
    IntentState.FAILED: ("{on: thread, do: refuse, in: slack/ops, times: 99}", "max_attempts: 2"),
}
FILE = """
scenario: 1
title: a full queue, and ends that have something to announce
gateway:
  channels: {{slack: {{auto_thread: true}}}}
  delivery: {{{settings}, {limit}}}
world: {{people: [ana], slack: {{rooms: [ops]}}, telegram: {{}}}}
cast: {{agents: {{main: [{{do: [{{reply: "re {{text}}"}}]}}]}}}}
script:
  - {{at: 0s, fault: {fault}}}
  - {{at: 1s, as: ana, in: slack/ops, say: one}}
  - {{at: 1s, as: ana, in: slack/ops, say: two}}
  - {{at: 1s, as: ana, in: slack/ops, say: three}}
  - {{at: 2s, as: ana, in: slack/ops, say: four}}
  - {restart}
  - {{at: 10m, as: ana, in: "telegram/@ana", say: are you there?}}
"""


@pytest.mark.parametrize("restart", ["{at: 20s, restart: {}}", "{at: 20s, crash: {}}", "{at: 9m, restart: {}}"])
@pytest.mark.parametrize("limit", ["max_backlog: 1", "max_backlog: 3", "max_backlog_per_conversation: 1"])
@pytest.mark.parametrize("state", ENDS, ids=str)
def test_ends_with_a_notice_make_progress_at_any_limit(tmp_path, state, limit, restart):
    fault, settings = ENDS[state]
    path = tmp_path / "full.yaml"
    path.write_text(FILE.format(settings=settings, limit=limit, fault=fault, restart=restart))
    result = run_scenario(load_scenario(path))
    assert result.unmet == ()
    assert result.violations == ()
    events = result.trace.events
    ended = [e for e in events if isinstance(e.body, IntentSettled) and e.body.state is state]
    assert len(ended) >= 4
    assert "re are you there?" in [e.body.text for e in events if isinstance(e.body, WireAccepted)]
    # The answers go to a thread each, so that only the limit of the gateway is reached by them.
    assert limit != "max_backlog: 1" or any(isinstance(e.body, BacklogWaiting) for e in events)
