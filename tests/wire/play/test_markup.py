"""A message with markup is the same message in the trace of the wire as in virtual time."""

import pytest

from trunkline.sim import run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text
from trunkline.sim.wire.play.run import run_on_wire

TEXT = "use `new_session` or **bold** here"
FILE = """\
scenario: 1
title: markup
world: {{people: [ana], {platform}: {{rooms: {{ops: {{}}}}}}}}
cast: {{agents: {{main: [{{do: [{{reply: "{text}"}}]}}]}}}}
script: [{{at: 1s, as: ana, in: {platform}/ops, say: hi}}]
"""


@pytest.mark.parametrize("platform", ["telegram", "discord", "slack", "matrix", "signal"])
def test_markup_breaks_no_promise_on_the_wire(platform: str) -> None:
    file = load_text(FILE.format(platform=platform, text=TEXT))
    for run in (run_scenario(file), run_on_wire(file, speed=50.0)):
        assert run.holds, run.violations
        assert len([one for one in run.trace.events if isinstance(one.body, WireAccepted)]) == 1
