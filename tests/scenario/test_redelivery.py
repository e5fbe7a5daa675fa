"""A platform delivers a message again whose acknowledgement failed, so that the run comes to rest."""

from trunkline.core.events.base import RunEnded
from trunkline.core.events.gateway import InboundAckFailed, InboundDropped
from trunkline.sim import run_scenario
from trunkline.sim.scenario import load_text

FROZEN = """\
scenario: 1
title: frozen right before it acknowledges
world: {people: [ana], discord: {rooms: [ops]}}
cast: {agents: {main: [{do: [{reply: "re: {text}"}]}]}}
script:
  - {at: 1s, freeze: {when: {event: intent.prepared}}}
  - {at: 1s, as: ana, in: ops, say: one}
expect:
  accepted: [{in: ops, text: "re: one"}]
"""


def test_a_message_whose_acknowledgement_failed_comes_again_and_is_dropped():
    result = run_scenario(load_text(FROZEN, "frozen.yaml"))
    bodies = [event.body for event in result.trace.events]
    assert [type(body) for body in bodies if isinstance(body, InboundAckFailed | InboundDropped)] == [
        InboundAckFailed,
        InboundDropped,
    ]
    assert isinstance(bodies[-1], RunEnded) and bodies[-1].at_rest and result.holds
