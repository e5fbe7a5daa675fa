"""Recovered messages keep their rate, also when their account is away after the first of them."""

from itertools import pairwise

from trunkline.core.events.delivery import AttemptStarted
from trunkline.sim import run_scenario
from trunkline.sim.scenario import load_text

AWAY = """\
scenario: 1
title: Recovered messages keep their rate when their account is away in between
gateway: {delivery: {recovery_rate: 0.2, not_ready_wait: 2s, backoff: [40s]}}
world: {people: [ana, bo, cleo, dan], telegram: {}}
cast: {agents: {main: []}}
script:
  - {at: 0s, fault: {on: ready, do: error, for: 20s}}
  - {at: 1s, send: {to: "@ana", text: one}}
  - {at: 1s, send: {to: "@bo", text: two}}
  - {at: 1s, send: {to: "@cleo", text: three}}
  - {at: 1s, send: {to: "@dan", text: four}}
  - {at: 2s, crash: {}}
  - {at: 20s, fault: {on: send, do: refuse-connection}}
  - {at: 23s, fault: {on: ready, do: error, for: 60s}}
  - {at: 200s, note: the account is back}
"""


def test_a_time_that_passes_while_the_account_is_away_is_replaced():
    run = run_scenario(load_text(AWAY, "away.yaml"))
    firsts: dict[str | None, float] = {}
    for event in run.trace.events:
        if isinstance(event.body, AttemptStarted):
            firsts.setdefault(event.intent, event.at)
    times = sorted(firsts.values())
    # The first finds the account away; the times of the others pass until it is back.
    assert (run.violations, len(times)) == ((), 4)
    assert times[1] > 80
    assert all(after - before > 4.9 for before, after in pairwise(times))
