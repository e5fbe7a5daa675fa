"""The clock of heartbeats and of the schedule in simulated runs: what stops it, what moves it, and what it costs."""

from typing import Any

import pytest

from tests.support.scenario.worlds import broken, seen, values_of
from trunkline.core.events import Body
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatStarted
from trunkline.core.reasons import Reason
from trunkline.sim import RunResult, run_scenario
from trunkline.sim.scenario import load_text

WORLD = """\
scenario: 1
title: made for a test
world:
  people: [ana]
  telegram: {rooms: {crew: {id: "-1007"}}}
"""
TWO = """\
gateway:
  agents: [{id: main, heartbeat: {every: 10m, target: none}}, {id: ops, heartbeat: {every: 10m, target: none}}]
  cron: [{id: tick, every: 10m, text: tick, agent: ops, target: telegram, to: "-1007"}]
"""
ONE = "gateway:\n  heartbeat: {every: 10m, target: none}\n"
QUIET = "{when: {heartbeat: true}, do: [{reply: HEARTBEAT_OK}]}"


def run(gateway: str, cast: str, *script: str):
    steps = "".join(f"  - {{{step}}}\n" for step in script)
    return run_scenario(load_text(f"{WORLD}{gateway}cast: {{agents: {{{cast}}}}}\nscript:\n{steps}", "made.yaml"))


def timed(result: RunResult, kind: type[Body]) -> list[tuple[float, Any]]:
    """The events of a kind, with their times."""
    return [(event.at, event.body) for event in result.trace.events if isinstance(event.body, kind)]


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("way", ['fail: "no model"', "nonsense: number", "nonsense: exits", "think: 5h"])
def test_an_agent_that_hangs_or_fails_stops_neither_the_others_nor_the_schedule(way: str) -> None:
    agents = (
        f"main: [{{when: {{heartbeat: true}}, do: [{{{way}}}]}}],"
        f" ops: [{QUIET}, {{when: {{cron: tick}}, do: [{{reply: tick}}]}}]"
    )
    result = run(TWO, agents, "at: 35m, note: the end")
    started = [body.agent for at, body in timed(result, HeartbeatStarted) if at < 35 * 60]
    assert started.count("ops") == 3
    assert started.count("main") == (1 if way.startswith("think") else 3)
    ticks = [text for place, text in seen(result) if place == "crew"]
    assert ticks == ["tick"] * len(ticks)
    assert len(ticks) >= 3 if way.startswith("think") else len(ticks) == 3
    if not way.startswith("think"):
        assert broken(result) == []


def test_a_request_that_waits_costs_nothing() -> None:
    calm = run(ONE, f"main: [{QUIET}]", "at: 60s, wake_heartbeat: true", "at: 2m, note: the end")
    busy = run(
        ONE,
        f"main: [{QUIET}]",
        "at: 60s, wake_heartbeat: true",
        "at: 62s, wake_heartbeat: {reason: hook}",
        "at: 2m, note: the end",
    )
    assert values_of(busy, "heartbeat.skipped", "reason") == ["min-spacing"]
    assert len(values_of(busy, "heartbeat.started", "wake")) == 2
    assert busy.steps < calm.steps + 100


def test_a_run_that_waits_for_its_session_is_recorded_once() -> None:
    answers = 'main: [{when: {heartbeat: true}, do: [{reply: HEARTBEAT_OK}]}, {do: [{think: 100s}, {reply: "done"}]}]'
    main = ONE + "  session: {dm_scope: main}\n"
    result = run(main, answers, 'at: 590s, as: ana, in: "@ana", say: think', "at: 12m, note: the end")
    assert broken(result) == []
    assert values_of(result, "heartbeat.skipped", "reason") == ["requests-in-flight"]
    ((at, started),) = timed(result, HeartbeatStarted)
    # The answer comes after 100 s; the session is looked at each second.
    assert 690.0 <= at <= 692.0
    assert started.due == 600.0


@pytest.mark.parametrize(("step", "most"), [("forward: 3h", 300.0), ("back: 3h", 900.0)])
def test_a_clock_that_is_set_neither_stops_heartbeats_nor_makes_them_many(step: str, most: float) -> None:
    result = run(ONE, f"main: [{QUIET}]", f"at: 4h, clock: {{{step}}}", "at: 5h, note: the end")
    assert broken(result) == []
    after = [event.at for event in result.trace.events if event.kind == "heartbeat.started" and event.at > 4 * 3600]
    assert after[0] - 4 * 3600 <= most
    assert 5 <= len(after) <= 7


def test_a_message_that_waits_until_the_quiet_hours_is_not_sent_and_not_remembered() -> None:
    hours = '{start: "00:00", end: "00:25", timezone: UTC}'
    gateway = f"gateway:\n  heartbeat: {{every: 20m, target: last, active_hours: {hours}}}\n"
    alert = 'main: [{when: {heartbeat: true}, do: [{reply: "the disk is full"}]}, {do: [{reply: hello}]}]'
    result = run(
        gateway,
        alert,
        'at: 1s, as: ana, in: "@ana", say: hi',
        'at: 19m, fault: {on: send, do: refuse-connection, text: "the disk*", times: 4}',
        "at: 25h, note: the end",
    )
    assert broken(result) == []
    ended = [(at < 3600, body.status, body.reason) for at, body in timed(result, HeartbeatEnded)]
    # At 00:20 it cannot be sent in time; at 00:00 and 00:20 of the next day it is said, and then it is a repetition.
    assert ended == [(True, "failed", Reason.QUIET_HOURS), (False, "sent", None), (False, "skipped", Reason.DUPLICATE)]
    assert [text for place, text in seen(result) if place == "@ana"] == ["hello", "the disk is full"]
