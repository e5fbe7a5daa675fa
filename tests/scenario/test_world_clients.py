"""Clients and operators of a scenario: what they ask, what they are told, and what becomes of the queue."""

from typing import Any

import pytest

from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    IntentReopened,
    IntentSettled,
    MirrorAppended,
    MirrorRefused,
    OperatorActed,
    SendPreviewed,
    SendRequested,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim import RunResult, Status, run_scenario
from trunkline.sim.events.script import ClientAnswered, ClientRequested, FaultFired, ScriptSkipped
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

LOST = "at: 0s, fault: {on: send, do: lose-response, in: telegram/@ana}"
SEND = 'at: 1s, send: {to: telegram/@ana, text: "the lift works", key: k}'


def run(*steps: str, expect: str = "", seed: int = 1) -> RunResult:
    lines = ["scenario: 1", "title: made for a test", "world:", "  people: [ana, bo]"]
    lines += ["  discord: {rooms: [ops]}", "  telegram: {}", 'cast: {agents: {main: [{do: [{reply: "re: {text}"}]}]}}']
    lines += ["script:", *(f"  - {{{step}}}" for step in steps), expect]
    return run_scenario(load_text("\n".join(lines), "made.yaml"), seed=seed)


def bodies(result: RunResult, kind: type[Any]) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def statuses(result: RunResult) -> list[str]:
    return [body.status for body in bodies(result, ClientAnswered)]


def ends(result: RunResult) -> list[IntentState]:
    return [body.state for body in bodies(result, IntentSettled)]


def holds(result: RunResult) -> bool:
    broken = [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED]
    return not broken and not result.unmet and bodies(result, RunEnded)[-1].at_rest


# ---------------------------------------------------------------- clients


def test_a_client_learns_what_came_of_its_send() -> None:
    result = run(SEND)
    [asked], [answer], [accepted] = (bodies(result, kind) for kind in (ClientRequested, ClientAnswered, WireAccepted))
    assert (asked.key, asked.dry_run) == ("k", False)
    assert (answer.key, answer.status, answer.provider_id) == ("k", "delivered", accepted.provider_id)
    assert holds(result)


def test_what_the_gateway_does_has_the_clients_question_as_its_cause() -> None:
    events = run(SEND).trace.events
    [asked] = [event.seq for event in events if isinstance(event.body, ClientRequested)]
    assert [event.cause for event in events if isinstance(event.body, SendRequested | ClientAnswered)] == [asked, asked]


@pytest.mark.parametrize(
    ("send", "status"),
    [
        ("text: a, dry_run: true", "dry-run"),
        ("text: ''", "refused"),
        ("text: a, session: 'no:key'", "refused"),
        ("text: refuse me", "failed"),
        ("text: refuse me, best_effort: true", "not-delivered"),
    ],
)
def test_nothing_but_a_delivery_is_reported_as_one(send: str, status: str) -> None:
    fault = 'at: 0s, fault: {on: send, do: refuse, text: "refuse*"}'
    result = run(fault, f"at: 1s, send: {{to: telegram/@ana, {send}}}")
    [answer] = bodies(result, ClientAnswered)
    assert (answer.status, answer.provider_id) == (status, None)
    assert not bodies(result, WireAccepted)


def test_a_client_whose_process_dies_learns_nothing_until_it_asks_again() -> None:
    crash = "at: 0s, crash: {when: {event: wire.accepted}, restart_after: 1s}"
    result = run(
        crash, SEND.replace("telegram/@ana", "discord/ops"), "at: 9s, send: {to: discord/ops, text: x, key: k}"
    )
    assert [(body.status, body.cached) for body in bodies(result, ClientAnswered)] == [("delivered", True)]
    assert [body.text for body in bodies(result, WireAccepted)] == ["the lift works"]


# ---------------------------------------------------------------- broadcasts


def test_each_place_of_a_broadcast_is_judged_by_itself() -> None:
    fault = "at: 0s, fault: {on: send, do: refuse, in: telegram/@bo}"
    result = run(fault, 'at: 1s, send: {to: [discord/ops, telegram/@ana, telegram/@bo], text: "fire drill", key: d}')
    assert sorted(statuses(result)) == ["delivered", "delivered", "failed"]
    assert len({body.key for body in bodies(result, ClientRequested)}) == 3
    assert len(bodies(result, WireAccepted)) == 2
    assert holds(result)


def test_a_broadcast_that_names_a_place_twice_is_refused_whole() -> None:
    result = run('at: 1s, send: {to: [discord/ops, discord/ops], text: "fire drill"}')
    assert statuses(result) == ["refused", "refused"]
    assert not bodies(result, WireAccepted)


def test_a_broadcast_can_be_a_dry_run() -> None:
    result = run('at: 1s, send: {to: [discord/ops, telegram/@ana], text: "fire drill", dry_run: true}')
    assert statuses(result) == ["dry-run", "dry-run"]
    assert [body.chunks for body in bodies(result, SendPreviewed)] == [("fire drill",)] * 2
    assert not bodies(result, WireAccepted)


# ---------------------------------------------------------------- operators


NOTE = "delivery: The message to * may not have arrived*"


@pytest.mark.parametrize(
    ("verdict", "states", "accepted", "lines"),
    [
        ("sent", [IntentState.UNKNOWN, IntentState.DELIVERED], 1, [NOTE, "assistant: the lift works"]),
        ("abandon", [IntentState.UNKNOWN, IntentState.UNKNOWN], 0, [NOTE]),
        ("unsent", [IntentState.UNKNOWN, IntentState.DELIVERED], 1, [NOTE, "assistant: the lift works"]),
    ],
)
def test_an_operator_says_what_became_of_a_chunk_in_doubt(
    verdict: str, states: list[IntentState], accepted: int, lines: list[str]
) -> None:
    lost = LOST if verdict == "sent" else LOST.replace("lose-response", "drop")
    step = f'at: 60s, queue: {{do: resolve, verdict: {verdict}, in: telegram/@ana, text: "the lift*"}}'
    expect = f"expect: {{transcripts: [{{in: telegram/@ana, lines: {lines}}}]}}"
    result = run(lost, SEND, step, expect=expect)
    assert ends(result) == states
    assert [body.verb for body in bodies(result, OperatorActed)] == [verdict]
    assert len(bodies(result, WireAccepted)) == accepted
    assert len(bodies(result, IntentReopened)) == (verdict == "unsent")
    assert holds(result)


def test_an_operator_has_what_failed_tried_again() -> None:
    fault = "at: 0s, fault: {on: send, do: refuse, in: telegram/@ana}"
    result = run(fault, SEND, "at: 60s, queue: {do: retry, state: failed}")
    assert ends(result) == [IntentState.FAILED, IntentState.DELIVERED]
    assert [(body.before, body.reason) for body in bodies(result, IntentReopened)] == [
        (IntentState.FAILED, Reason.OPERATOR_RETRY)
    ]
    assert holds(result)


def test_an_operator_removes_what_has_ended() -> None:
    other = 'at: 2s, send: {to: telegram/@bo, text: "mind the step"}'
    result = run(LOST, SEND, other, "at: 60s, queue: {do: purge, in: telegram/@ana, state: unknown}")
    assert [(body.verb, body.detail) for body in bodies(result, OperatorActed)] == [("purge", "1 intents: unknown")]
    again = run(LOST, SEND, other, "at: 60s, queue: {do: purge}", "at: 61s, queue: {do: purge, state: unknown}")
    assert [body.detail for body in bodies(again, OperatorActed)] == [
        "1 intents: all that have ended",
        "1 intents: unknown",
    ]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ('at: 9s, queue: {do: retry, text: "nothing*"}', "no queued message matches"),
        ("at: 9s, queue: {do: retry, in: telegram/@ana}", "IllegalTransition"),
        ("at: 9s, queue: {do: resolve, verdict: sent, in: telegram/@bo}", "no queued message matches"),
        ("at: 9s, queue: {do: retry, process: second}", "no gateway process runs"),
    ],
)
def test_what_an_operator_cannot_do_is_recorded(step: str, why: str) -> None:
    result = run(SEND, step)
    [skipped] = bodies(result, ScriptSkipped)
    assert why in skipped.why
    assert ends(result) == [IntentState.DELIVERED]


# ---------------------------------------------------------------- transcripts that refuse


def test_a_line_that_is_refused_comes_later_and_nothing_else_waits_for_it() -> None:
    fault = "at: 0s, fault: {on: mirror, do: refuse, for: 30s}"
    expect = 'expect: {transcripts: [{in: telegram/@ana, lines: ["assistant: the lift works", "assistant: mind it"]}]}'
    result = run(fault, SEND, "at: 5s, send: {to: telegram/@ana, text: mind it}", "at: 40s, note: late", expect=expect)
    assert {body.reason for body in bodies(result, MirrorRefused)} == {Reason.MIRROR_REFUSED}
    appended = [event.at for event in result.trace.events if isinstance(event.body, MirrorAppended)]
    assert len(appended) == 2
    assert min(appended) > 30
    assert statuses(result) == ["delivered", "delivered"]
    assert holds(result)
    assert max(event.at for event in result.trace.events if isinstance(event.body, IntentSettled)) < 6


def test_a_run_waits_for_lines_that_were_refused() -> None:
    result = run("at: 0s, fault: {on: mirror, do: refuse, for: 400s}", SEND, "at: 390s, note: late")
    assert len(bodies(result, MirrorRefused)) > 2
    assert len(bodies(result, MirrorAppended)) == 1
    assert holds(result)


def test_a_message_that_is_parked_after_all_owes_no_line() -> None:
    crash = "at: 0s, crash: {when: {event: mirror.refused}, restart_after: 1s}"
    result = run("at: 0s, fault: {on: mirror, do: refuse, for: 30s}", crash, SEND, "at: 60s, note: late")
    assert ends(result) == [IntentState.UNKNOWN]
    assert not bodies(result, MirrorAppended)
    assert holds(result)


# ---------------------------------------------------------------- rows that nobody can read


@pytest.mark.parametrize(
    ("which", "detail", "seen"),
    [
        ("", "3 rows", []),
        (", in: telegram/@ana", "2 rows", ["three"]),
        (', text: "t*"', "2 rows", ["one"]),
        (', in: telegram/@ana, text: "t*"', "1 rows", ["one", "three"]),
        (", in: discord/ops", "0 rows", ["one", "two", "three"]),
    ],
)
def test_what_is_stored_of_messages_can_be_damaged(which: str, detail: str, seen: list[str]) -> None:
    said = [("ana", "one"), ("ana", "two"), ("bo", "three")]
    sends = [f"at: 1s, send: {{to: telegram/@{who}, text: {text}}}" for who, text in said]
    result = run(
        "at: 0s, fault: {on: ready, do: error, for: 5s}",
        *sends,
        "at: 2s, restart: {down: 10s}",
        f"at: 5s, fault: {{on: queue, do: damage{which}}}",
        "at: 30s, note: all is over",
    )
    fired = [body for body in bodies(result, FaultFired) if body.fault == "queue/damage"]
    assert [body.detail for body in fired] == [detail]
    assert sorted(body.text for body in bodies(result, WireAccepted)) == sorted(seen)
    broken = [body.detail for body in bodies(result, IntentSettled) if body.reason is Reason.BROKEN_ROW]
    assert len(broken) == 3 - len(seen)
    assert holds(result)


def test_damage_to_what_a_process_holds_does_not_matter_to_it() -> None:
    slow = "at: 0s, fault: {on: ready, do: error, for: 5s}"
    result = run(slow, SEND, "at: 2s, fault: {on: queue, do: damage}", "at: 30s, note: all is over")
    assert statuses(result) == ["delivered"]
    assert holds(result)
