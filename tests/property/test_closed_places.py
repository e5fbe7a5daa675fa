"""A place that is open again ends every wait for it, whenever it was closed and whatever the connection does."""

from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.events.delivery import IntentSettled
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.values import IntentState
from trunkline.sim import run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

WORLD = """\
scenario: 2
title: made for a test
world: {people: [ana], telegram: {rooms: {team: {id: "-1007", threads: {deploy: {id: "10"}}}}}}
cast: {agents: {main: [{do: [{reply: "re: {text}"}]}]}}
script:
  - {at: 0s, in: telegram/team/deploy, archive: true, locked: true}
"""
#: what happens shortly before the place opens for good
TROUBLE = ("note: none", "fault: {on: connect, do: error, for: 20s}", "restart: {down: 10s}", "crash: {}")
#: seconds until a connection that broke is back at the latest, and the answers are sent
SOON = 65.0


def longest_wait(said: list[int], gaps: list[tuple[int, int]], wait: int, trouble: str, before: int) -> float:
    """How long after the last opening of a topic something for it arrived. `gaps`: it is open for a while."""
    at, steps = 0, [(now, f"send: {{target: '-1007:topic:10', channel: telegram, text: s{now}}}") for now in said]
    for closed, length in gaps:
        steps += [(at + closed, "in: telegram/team/deploy, unarchive: true")]
        at += closed + length
        steps += [(at, "in: telegram/team/deploy, archive: true, locked: true")]
    opens = max(at, *said) + wait
    steps += [(opens, "in: telegram/team/deploy, unarchive: true"), (max(opens - before, at), trouble)]
    lines = (f"  - {{at: {when}s, {step}}}\n" for when, step in sorted(steps, key=lambda step: step[0]))
    result = run_scenario(load_text(WORLD + "".join(lines), "made.yaml"))
    assert result.violations == ()
    seen = {event.body.text: event.at for event in result.trace.events if isinstance(event.body, WireAccepted)}
    # What was on its way as the process ended is in doubt.
    ends = (event.body for event in result.trace.events if isinstance(event.body, IntentSettled))
    assert len(seen) + sum(end.state is IntentState.UNKNOWN for end in ends) == len(said)
    return max(seen.values(), default=opens) - opens


@given(
    said=st.lists(st.integers(1, 3000), min_size=1, max_size=3, unique=True),
    gaps=st.lists(st.tuples(st.integers(1, 1500), st.integers(1, 300)), max_size=3),
    wait=st.integers(15, 4000),
    trouble=st.sampled_from(TROUBLE),
    before=st.integers(0, 14),
)
def test_no_place_opens_without_its_waits_ended(
    said: list[int], gaps: list[tuple[int, int]], wait: int, trouble: str, before: int
) -> None:
    assert longest_wait(said, gaps, wait, trouble, before) < SOON


def test_without_the_word_of_the_platform_it_takes_minutes(monkeypatch) -> None:
    monkeypatch.setattr(Delivery, "wake_reopened", lambda *_: None)
    assert longest_wait([1], [], 3700, TROUBLE[0], 0) > SOON
