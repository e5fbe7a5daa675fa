"""The gateway dies twice, at every pair of points around its notices: nobody reads one a third time, or none.

The platform has neither keys nor a look-up, and loses the first response to each notice. Each further copy takes a
death at one moment: the second while a request is out, a third between two commits of the recovery from that.
"""

from itertools import count

from tests.support.scale import run_nightly
from trunkline.sim import CrashAt
from trunkline.sim.explore import Explorer
from trunkline.sim.run.crash_at import crash_at
from trunkline.sim.scenario import load_text

SCENARIO = load_text(
    """\
scenario: 2
title: made for a test
gateway:
  delivery: {failed_notice: "It failed.", doubt_notice: "In doubt."}
  turns: {error_notice: "No answer.", max_attempts: 9}
world:
  people: [ana, bo, cai]
  telegram: {}
cast:
  agents:
    main:
      - {when: {text: raise}, do: [{fail: "no"}]}
      - do: [{reply: "re: {text}"}]
script:
  - {at: 0s, fault: {on: send, do: lose-response, text: "re: doubt", times: 9}}
  - {at: 0s, fault: {on: send, do: refuse, text: "re: fail", times: 9}}
  - {at: 0s, fault: {on: send, do: lose-response, text: "In doubt."}}
  - {at: 0s, fault: {on: send, do: lose-response, text: "It failed."}}
  - {at: 0s, fault: {on: send, do: lose-response, text: "No answer."}}
  - {at: 1s, as: ana, in: "@ana", say: doubt}
  - {at: 1s, as: bo, in: "@bo", say: fail}
  - {at: 1s, as: cai, in: "@cai", say: raise}
""",
    "made.yaml",
)


def pairs(explorer: Explorer, every: int) -> tuple[int, set[str]]:
    """How many pairs of deaths were played, and what was broken: at each state that a kill can leave, and at each
    commit of the recovery."""
    states = explorer.points.states
    firsts = [crash_at(point) for point in {state: point for point, state in states.items()}.values()]
    played, broken = 0, set[str]()
    for first in firsts[::every]:
        for n in count(1):
            run = explorer.run((first, CrashAt(what="commit", n=n)))
            if run.fired < 2:
                break
            played += 1
            broken |= {f"{first.name}, {n}: {breach.id} {breach.summary}" for breach in run.breaches}
    return played, broken


def test_nobody_reads_a_notice_a_third_time_wherever_the_gateway_dies_twice():
    explorer = Explorer(SCENARIO)
    assert explorer.sound.breaches == ()
    played, broken = pairs(explorer, 1 if run_nightly() else 6)
    assert broken == set()
    assert played > (800 if run_nightly() else 100)


def test_a_gateway_that_repeats_its_notices_is_found():
    _, broken = pairs(Explorer(SCENARIO, bugs=["notice-repeated-for-ever"]), 20)
    assert any(" D1 " in what for what in broken)
