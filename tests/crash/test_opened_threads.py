"""The gateway ends at each commit while results open a thread: it is opened, and they are seen once."""

from collections import Counter

import pytest

from trunkline.core.events.bindings import FallbackDenied
from trunkline.core.values import Address
from trunkline.sim import CrashAt, RunResult, ScenarioFile, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadOpened
from trunkline.sim.explore import Explorer
from trunkline.sim.scenario import load_text

FILE = """\
scenario: 1
title: made for a test
gateway:
  hands: {announce: %(announce)s, defaults: {on_restart: rerun}}
  channels: {discord: {auto_thread: true}}
world: {people: [ana], discord: {rooms: [ops]}}
cast:
  agents:
    main:
      - when: {callback: "*"}
        do: [%(told)s]
      - do: [{delegate: {hand: k, task: one}}, {delegate: {hand: k, task: two}}, %(asked)s]
  hands: {k: {takes: 5s, result: "done {task}"}}
  hooks: {%(hook)s}
script:
  - {at: 0s, fault: {on: thread, do: %(fault)s, times: 1}}
  - {at: 1s, as: ana, in: ops, say: work}
"""
REPLY, SEND = '{reply: "{result}"}', '{send: {text: "{result}"}}'
WAYS = {
    "callback": {"told": REPLY},
    "callback-tool": {"told": SEND},
    "direct": {"announce": "direct"},
    "failed-turn": {"asked": "{fail: model is down}"},
    "hook": {"asked": '{reply: "the password"}', "hook": 'h: {when: {text: "*password*"}, cancel: secret}'},
    "tool-then-silent": {"asked": '{send: {text: "on it"}}', "announce": "direct"},
}


def made(**given: str) -> ScenarioFile:
    base = {"announce": "turn", "told": REPLY, "asked": "{silent: true}", "hook": "", "fault": "lose-response"}
    return load_text(FILE % {**base, **given}, "made.yaml")


def seen(result: RunResult) -> Counter[tuple[str, str]]:
    bodies = [event.body for event in result.trace.events if isinstance(event.body, WireAccepted)]
    return Counter((body.address.conversation, body.text) for body in bodies)


def opened(result: RunResult) -> list[Address]:
    return [event.body.address for event in result.trace.events if isinstance(event.body, ThreadOpened)]


@pytest.mark.slow(every=6)
@pytest.mark.parametrize("way", WAYS)
def test_the_first_result_opens_the_thread_wherever_the_gateway_ends(way: str) -> None:
    file = made(**WAYS[way])
    sound = run_scenario(file)
    [thread] = opened(sound)
    results = {(thread.conversation, "done one"): 1, (thread.conversation, "done two"): 1}
    assert results.items() <= seen(sound).items()
    for n in Explorer(file).points.commits:
        for kind in ("kill", "stop"):
            result = run_scenario(file, crash=CrashAt(what="commit", n=n, kind=kind))
            assert result.violations == (), (n, kind)
            assert opened(result) == [thread], (n, kind)
            assert seen(result) == seen(sound), (n, kind)


@pytest.mark.parametrize("way", ["callback", "direct"])
def test_a_thread_that_is_refused_to_one_result_is_opened_for_the_next(way: str) -> None:
    """The one that was refused leaves a notice in the room, without its content."""
    result = run_scenario(made(**WAYS[way], fault="refuse"))
    assert result.violations == ()
    [thread] = opened(result)
    [denied] = [event.body for event in result.trace.events if isinstance(event.body, FallbackDenied)]
    assert denied.asked.conversation == thread.conversation  # pyright: ignore[reportOptionalMemberAccess]
    assert denied.refused is not None
    said = seen(result)
    assert said[denied.refused.conversation, next(text for place, text in said if place != thread.conversation)] == 1
    assert sum(count for (place, _), count in said.items() if place == thread.conversation) == 1
