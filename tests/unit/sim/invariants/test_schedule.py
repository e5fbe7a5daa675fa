"""H4: what a schedule promises is kept, unless the configuration changes."""

import pytest

from tests.support.event_stories import Story
from trunkline.core.events.heartbeat import HeartbeatScheduled
from trunkline.sim.events.world import WorldHeartbeat
from trunkline.sim.invariants.base import Status


@pytest.mark.parametrize("configured", [True, False])
def test_only_another_configuration_moves_a_heartbeat_over_a_restart(configured: bool) -> None:
    story = Story("H4")
    story.tell(WorldHeartbeat(agent="main", every=60), node="sim")
    story.tell(HeartbeatScheduled(agent="main", next_at=60.0))
    story.crashed()
    if configured:
        story.tell(WorldHeartbeat(agent="main", every=90), node="sim")
    story.tell(HeartbeatScheduled(agent="main", next_at=90.0))
    assert (story.end().verdict.status is Status.VIOLATED) is not configured
