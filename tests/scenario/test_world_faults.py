"""What can go wrong in a scenario, and what the gateway makes of it: accounts, connections, transports, the store."""

from typing import Any

import msgspec
import pytest

from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentSettled,
    LaneWaiting,
    SendPreviewed,
    SendRefused,
    TransportFallback,
)
from trunkline.core.events.gateway import AdapterFailed, InboundAdmitted, StoreFailed
from trunkline.core.events.leases import AdapterInstalled
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState, Transport
from trunkline.sim import RunResult, Status, judge, run_scenario
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PlatformConnected, PlatformPushed
from trunkline.sim.scenario import load_text

SAY = "as: ana, in: {place}, say: hi"


def run(script: list[str], world: str = "", gateway: str = "{}", **options: Any) -> RunResult:
    """A run in which people say hi and are answered; `world` has settings of discord."""
    lines = ["scenario: 1", "title: made for a test", f"gateway: {gateway}", "world:", "  people: [ana]"]
    lines += [f"  discord: {{rooms: [ops], {world}}}", "  telegram: {}", "  whatsapp: {rooms: [crew]}", "  signal: {}"]
    lines += ['cast: {agents: {main: [{do: [{reply: "re: {text}"}]}]}}', "script:"]
    return run_scenario(load_text("\n".join([*lines, *(f"  - {{{step}}}" for step in script)]), "made.yaml"), **options)


def bodies(result: RunResult, kind: type[Any]) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def at(result: RunResult, kind: type[Any]) -> list[float]:
    return [event.at for event in result.trace.events if isinstance(event.body, kind)]


def says(place: str, when: str = "1s") -> str:
    return f"at: {when}, {SAY.format(place=place)}"


def settled(result: RunResult) -> list[tuple[IntentState, Reason]]:
    return [(body.state, body.reason) for body in bodies(result, IntentSettled)]


def fired(result: RunResult) -> list[str]:
    return [body.fault for body in bodies(result, FaultFired)]


def holds(result: RunResult) -> bool:
    """Nothing is violated, and everything came to rest."""
    broken = [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED]
    return not broken and bodies(result, RunEnded)[-1].at_rest


# ---------------------------------------------------------------- phones


@pytest.mark.parametrize("place", ["whatsapp/crew", "whatsapp/@ana", "signal/@ana"])
def test_people_on_phones_are_answered(place: str) -> None:
    result = run([says(place)])
    [accepted] = bodies(result, WireAccepted)
    assert accepted.text == "re: hi"
    assert accepted.transport is (Transport.GATEWAY if place.startswith("whatsapp") else Transport.DIRECT)
    assert holds(result)


# ---------------------------------------------------------------- sends


def test_a_reset_on_a_platform_with_keys_is_tried_again_and_seen_once() -> None:
    for do in ("reset", "reset-before"):
        result = run([f"fault: {{on: send, do: {do}}}", says("discord/@ana")])
        assert (fired(result), len(bodies(result, WireAccepted))) == ([f"send/{do}"], 1)
        assert [body.reason for body in bodies(result, AttemptEnded)] == [Reason.RESPONSE_LOST, Reason.ACCEPTED]
        assert holds(result)


@pytest.mark.parametrize(("do", "seen"), [("reset", 1), ("reset-before", 0)])
def test_a_reset_on_a_platform_with_neither_is_parked(do: str, seen: int) -> None:
    result = run([f"fault: {{on: send, do: {do}}}", says("signal/@ana")])
    parked, notice = settled(result)
    # The notice about it is seen, too.
    assert (len(bodies(result, WireAccepted)), parked) == (seen + 1, (IntentState.UNKNOWN, Reason.PARKED))
    assert notice[0] is IntentState.DELIVERED
    assert holds(result)


@pytest.mark.parametrize("place", ["discord/@ana", "telegram/@ana", "whatsapp/@ana", "signal/@ana"])
def test_a_refused_connection_is_tried_again_everywhere(place: str) -> None:
    result = run(["fault: {on: send, do: refuse-connection, times: 2}", says(place), "at: 2m, note: end"])
    assert [body.reason for body in bodies(result, AttemptEnded)] == [Reason.NOT_SENT] * 2 + [Reason.ACCEPTED]
    assert len(bodies(result, WireAccepted)) == 1
    assert holds(result)


def test_an_answer_that_names_no_message_is_no_receipt() -> None:
    result = run(["fault: {on: send, do: no-receipt}", says("signal/@ana")])
    assert [body.reason for body in bodies(result, AttemptEnded)] == [Reason.NO_RECEIPT, Reason.ACCEPTED]
    assert settled(result)[0][0] is IntentState.UNKNOWN
    assert holds(result)


def test_a_hybrid_goes_by_the_gateway_path_when_the_direct_one_provably_fails() -> None:
    script = ["fault: {on: send, do: refuse-connection, transport: direct}", says("discord/@ana")]
    result = run(script, "mode: hybrid")
    assert [body.transport for body in bodies(result, WireAccepted)] == [Transport.GATEWAY]
    assert len(bodies(result, TransportFallback)) == 1
    assert holds(result)


def test_a_hybrid_stays_on_its_transport_when_nobody_knows() -> None:
    result = run(["fault: {on: send, do: reset, transport: direct}", says("discord/@ana")], "mode: hybrid")
    assert bodies(result, TransportFallback) == []
    assert [body.transport for body in bodies(result, WireAccepted)] == [Transport.DIRECT]
    assert holds(result)


# ---------------------------------------------------------------- accounts that cannot send


def test_an_account_that_is_not_ready_costs_no_attempt() -> None:
    # Asked at recovery: what an earlier process left is not sent before.
    script = [
        "crash: {when: {event: intent.prepared}, restart_after: 1s}",
        "at: 1s, fault: {on: ready, do: error, in: telegram/@ana, for: 60s}",
        says("telegram/@ana"),
        "at: 2m, note: end",
    ]
    result = run(script)
    assert fired(result) == ["ready/error"]
    assert {(body.reason, body.detail) for body in bodies(result, LaneWaiting)} == {
        (Reason.NOT_READY, "telegram-offline")
    }
    assert [body.attempt for body in bodies(result, AttemptStarted)] == [1]
    assert at(result, WireAccepted)[0] > 61.0
    assert holds(result)


def test_a_broken_connection_comes_back_and_what_was_said_meanwhile_is_answered() -> None:
    script = ["at: 5s, fault: {on: connect, do: error, in: whatsapp/crew, for: 30s}", says("whatsapp/crew", "10s")]
    result = run([*script, "at: 3m, note: end"])
    assert fired(result) == ["connect/error"]
    assert [body.channel for body in bodies(result, AdapterFailed)][:1] == ["whatsapp"]
    again = [when for when, body in zip(at(result, PlatformConnected), bodies(result, PlatformConnected), strict=True)]
    assert max(again) > 35.0
    assert len(bodies(result, WireAccepted)) == 1
    assert holds(result)


def test_a_quiet_account_whose_connection_is_closed_again_and_again_is_connected_at_once_each_time() -> None:
    """Slack and Discord close good connections from time to time; only failures in a row make the wait longer."""
    breaks = [f"at: {2 * n}m, fault: {{on: connect, do: error, in: whatsapp/crew, for: 100ms}}" for n in range(1, 5)]
    result = run([*breaks, "at: 10m, note: end"])
    waits = [body.retry_in for body in bodies(result, AdapterFailed) if body.channel == "whatsapp"]
    assert waits == [1.0, 1.0, 1.0, 1.0]
    in_a_row = run(["at: 5s, fault: {on: connect, do: error, in: whatsapp/crew, for: 6s}", "at: 1m, note: end"])
    assert [body.retry_in for body in bodies(in_a_row, AdapterFailed)] == [1.0, 2.0, 4.0]


# ---------------------------------------------------------------- adapters that are not there


def test_an_adapter_that_is_missing_when_the_first_process_starts_comes_later() -> None:
    script = ["fault: {on: boot, do: missing, in: telegram/@ana, for: 20s}", says("telegram/@ana")]
    result = run([*script, says("discord/@ana", "2s")])
    assert (fired(result), at(result, AdapterInstalled)) == (["boot/missing"], [20.0])
    assert [(body.channel, body.account) for body in bodies(result, AdapterInstalled)] == [("telegram", "default")]
    assert [body.address.channel for body in bodies(result, WireAccepted)] == ["discord", "telegram"]
    assert holds(result)


def test_an_adapter_may_be_missing_in_a_later_process() -> None:
    script = [
        "crash: {when: {event: intent.prepared}, restart_after: 5s}",
        "at: 1s, fault: {on: boot, do: missing, in: telegram/@ana, for: 20s}",
        says("telegram/@ana"),
        "at: 1m, note: end",
    ]
    result = run(script)
    assert fired(result) == ["boot/missing"]
    assert {body.reason for body in bodies(result, LaneWaiting)} == {Reason.NO_ADAPTER}
    assert [body.attempt for body in bodies(result, AttemptStarted)] == [1]
    assert len(bodies(result, WireAccepted)) == 1
    assert holds(result)


def test_a_process_that_ends_before_its_adapter_comes_is_not_given_it() -> None:
    script = ["fault: {on: boot, do: missing, in: telegram/@ana, for: 20s}", "at: 5s, crash: {restart_after: 1s}"]
    result = run([*script, says("telegram/@ana", "10s"), "at: 1m, note: end"])
    assert (fired(result), bodies(result, AdapterInstalled)) == (["boot/missing", "crash"], [])
    assert len(bodies(result, WireAccepted)) == 1
    assert holds(result)


# ---------------------------------------------------------------- the store


@pytest.mark.parametrize(("do", "error"), [("error", "database or disk is full"), ("write-error", "disk I/O error")])
def test_a_commit_is_refused_and_tried_again(do: str, error: str) -> None:
    result = run([f"fault: {{on: store, do: {do}, nth: 2, times: 3}}", says("discord/@ana"), says("telegram/@ana")])
    assert fired(result) == [f"store/{do}"] * 3
    assert [body.error for body in bodies(result, StoreFailed)] == [error] * 3
    assert len(bodies(result, WireAccepted)) == 2
    assert holds(result)


@pytest.mark.parametrize(
    ("carries", "kind"), [("inbound", InboundAdmitted), ("intent", IntentPrepared), ("ack", ChunkAcked)]
)
@pytest.mark.parametrize("do", ["error", "write-error"])
def test_a_fault_may_strike_what_a_commit_carries_only(carries: str, kind: type[Any], do: str) -> None:
    script = [f"fault: {{on: store, do: {do}, carries: {carries}, times: 4}}", says("telegram/@ana")]
    result, usual = run([*script, "at: 1m, note: end"]), run([*script[1:], "at: 1m, note: end"])
    assert fired(result) == [f"store/{do}"] * 4
    order = [type(event.body) for event in result.trace.events if isinstance(event.body, StoreFailed | kind)]
    assert order == [StoreFailed] * 4 + [kind]
    # Nothing else was held up: what comes before it is where it is otherwise.
    before = [event.kind for event in result.trace.events if event.kind != "fault.fired"]
    assert (
        before[: before.index("store.failed")] == [e.kind for e in usual.trace.events][: before.index("store.failed")]
    )
    assert len(bodies(result, WireAccepted)) == 1
    assert holds(result)


# ---------------------------------------------------------------- what clients send beside texts

ASK = "poll: {question: Which lamp?, options: [red, green]}"


def test_a_client_asks_a_poll_where_there_are_polls() -> None:
    result = run([f"at: 1s, send: {{to: {place}, {ASK}}}" for place in ("discord/ops", "whatsapp/crew", "signal/@ana")])
    assert [body.poll for body in bodies(result, WireAccepted)] == [("Which lamp?", "red", "green")] * 2
    [refused] = bodies(result, SendRefused)
    assert refused.reason is Reason.UNSUPPORTED
    assert refused.detail == "a poll on signal:default: the adapter has no poll; it has media, message-ids, text"
    assert holds(result)


def test_a_poll_that_cannot_be_asked_is_refused() -> None:
    options = ", ".join(f"option {n}" for n in range(13))
    result = run([f"at: 1s, send: {{to: whatsapp/crew, poll: {{question: Which?, options: [{options}]}}}}"])
    [refused] = bodies(result, SendRefused)
    assert (refused.reason, refused.detail) == (Reason.BAD_POLL, "Poll supports at most 12 options")
    assert bodies(result, WireAccepted) == []


def test_a_payload_goes_through_as_it_is() -> None:
    text = '{"buttons": ["on", "off"]}'
    result = run(
        [f"at: 1s, send: {{to: {place}, text: lamps, payload: '{text}'}}" for place in ("discord/ops", "signal/@ana")]
    )
    assert [body.payload for body in bodies(result, WireAccepted)] == [text]


def test_best_effort_is_one_attempt_and_a_dry_run_none() -> None:
    script = [
        "fault: {on: send, do: error, times: 3}",
        "at: 1s, send: {to: discord/ops, text: lamps, best_effort: true}",
        "at: 2s, send: {to: discord/ops, text: lamps, dry_run: true}",
        "at: 1m, note: end",
    ]
    result = run(script)
    assert len(bodies(result, AttemptStarted)) == 1
    assert [body.chunks for body in bodies(result, SendPreviewed)] == [("lamps",)]
    assert bodies(result, WireAccepted) == []


# ---------------------------------------------------------------- messages on their way in, and hands


def test_a_message_that_comes_late_is_overtaken():
    late = "at: 0.5s, fault: {on: push, do: slow, in: ops, for: 3s}"
    result = run([late, "at: 1s, as: ana, in: ops, say: one", "at: 2s, as: ana, in: ops, say: two"])
    assert [body.text for body in bodies(result, WireAccepted)] == ["re: two", "re: one"]
    assert fired(result) == ["push/slow"]
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []


def test_only_the_push_that_is_meant_comes_late():
    late = "at: 0s, fault: {on: push, do: slow, in: ops, text: two, for: 3s}"
    script = [late, "at: 1s, as: ana, in: ops, say: one", "at: 2s, as: ana, in: ops, say: two"]
    plain = [script[0].replace("push", "thread"), *script[1:]]
    then, usual = (at(run(steps), WireAccepted) for steps in (script, plain))
    assert then == [usual[0], pytest.approx(usual[1] + 3.0)]


def test_a_message_that_is_lost_on_its_way_is_not_the_gateways_to_account_for():
    script = ["at: 0s, fault: {on: push, do: drop, text: one}", "at: 1s, as: ana, in: ops, say: one"]
    result = run([*script, "at: 2s, as: ana, in: ops, say: two"])
    assert [body.text for body in bodies(result, WireAccepted)] == ["re: two"]
    assert fired(result) == ["push/drop"]
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []


def test_a_message_that_is_lost_after_a_failed_send_is_not_the_gateways_either():
    script = ["at: 0s, fault: {on: send, do: refuse}", "at: 1s, as: ana, in: ops, say: one"]
    lost = ["at: 9s, fault: {on: push, do: drop}", "at: 10s, as: ana, in: ops, say: two"]
    result = run([*script, *lost, "at: 5m, as: ana, in: ops, say: three"])
    assert fired(result) == ["send/refuse", "push/drop"]
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []


def test_a_lost_message_that_is_handed_out_after_all_counts_again():
    script = ["at: 0s, fault: {on: push, do: drop}", "at: 1s, id: m, as: ana, in: ops, say: one"]
    result = run([*script, "at: 2s, replay: {messages: [m]}"])
    assert [body.text for body in bodies(result, WireAccepted)] == ["re: one"]
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []
    pushed = next(event for event in result.trace.events if isinstance(event.body, PlatformPushed))
    cut = [event for event in result.trace.events if event.seq <= pushed.seq]
    found = judge([*cut, msgspec.structs.replace(result.trace.events[-1], seq=pushed.seq + 1)])
    assert "L1" in [verdict.id for verdict in found if verdict.status is Status.VIOLATED]


@pytest.mark.parametrize(
    ("kind", "outcome", "at_least"), [("error", "error", 1.0), ("drop", "timeout", 10.0), ("slow", "ok", 5.0)]
)
def test_a_hand_that_fails_never_answers_or_takes_longer(kind, outcome, at_least):
    text = f"""
scenario: 1
title: made for a test
gateway: {{hands: {{defaults: {{deadline: 10s}}}}}}
world: {{people: [ana], discord: {{rooms: [ops]}}}}
cast:
  agents:
    main:
      - {{when: {{callback: "*"}}, do: [{{reply: "{{hand}} {{outcome}}"}}]}}
      - {{do: [{{delegate: {{hand: codex}}}}, {{silent: true}}]}}
  hands: {{codex: {{takes: 1s, result: done}}}}
script:
  - {{at: 0s, fault: {{on: hand, do: {kind}, text: "g*", for: 4s}}}}
  - {{at: 1s, as: ana, in: ops, say: go}}
  - {{at: 30s, as: ana, in: ops, say: again}}
"""
    result = run_scenario(load_text(text, "made.yaml"))
    seen = bodies(result, WireAccepted)
    # The first one only: the next hand works as ever.
    assert [body.text for body in seen] == [f"codex {outcome}", "codex ok"]
    assert at(result, WireAccepted)[0] - 1.0 >= at_least
    assert fired(result) == [f"hand/{kind}"]
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []


@pytest.mark.parametrize("hand", ["press", "scout"])
@pytest.mark.parametrize(
    ("kind", "outcome", "at_least"), [("error", "error", 1.0), ("drop", "timeout", 10.0), ("slow", "ok", 5.0)]
)
def test_workers_and_agents_that_work_as_hands_are_struck_too(hand, kind, outcome, at_least):
    text = f"""
scenario: 1
title: made for a test
gateway:
  agents: [{{id: main, default: true}}, {{id: scout}}]
  hands: {{defaults: {{deadline: 10s}}, each: {{press: {{worker: true}}}}}}
world: {{people: [ana], discord: {{rooms: [ops]}}}}
cast:
  agents:
    main:
      - {{when: {{callback: "*"}}, do: [{{reply: "{{hand}} {{outcome}}"}}]}}
      - {{do: [{{delegate: {{hand: {hand}, task: "{{text}}"}}}}, {{silent: true}}]}}
    scout: [{{when: {{task: "*"}}, do: [{{think: 1s}}, {{reply: done}}]}}]
  workers: {{wim: {{hand: press, rules: [{{works: 1s}}]}}}}
script:
  - {{at: 0s, fault: {{on: hand, do: {kind}, text: "g*", for: 4s}}}}
  - {{at: 1s, as: ana, in: ops, say: go}}
  - {{at: 3s, as: ana, in: ops, say: next}}
"""
    result = run_scenario(load_text(text, "made.yaml"))
    seen = sorted(zip([body.text for body in bodies(result, WireAccepted)], at(result, WireAccepted), strict=True))
    # Only the first task is struck. A worker that loses it goes on with the next one.
    assert sorted(said for said, _ in seen) == sorted([f"{hand} {outcome}", f"{hand} ok"])
    assert next(when for said, when in seen if said.endswith(outcome)) - 1.0 >= (0 if outcome == "ok" else at_least)
    assert max(when for _, when in seen) - 1.0 >= at_least
    assert fired(result) == [f"hand/{kind}"]
    assert [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED] == []
