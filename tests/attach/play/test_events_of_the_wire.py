"""Faults at events of the wire: the gateway is killed, stopped or frozen exactly there."""

import pytest

from tests.attach.play.tries import accepted, answers, bodies, first, kinds, scenario, toy, tried
from trunkline.core.events import Event
from trunkline.sim.attach.kill_points import KILLABLE, KillPoint, kill_points
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.index.marks import AnswerMark

ASKED = 'at: 0s, id: one, as: ana, in: "telegram/@ana", say: "is it up?"'
ONE = AnswerMark("one", 1)


def between(events: tuple[Event, ...], start: str, end: str) -> list[str]:
    """The kinds of the events of the wire between two events."""
    found = [event.kind for event in events]
    part = found[found.index(start) + 1 : found.index(end)]
    return [kind for kind in part if kind.startswith(("wire.", "model.", "platform."))]


def test_an_answer_is_caused_by_its_question() -> None:
    events = tried(ASKED)
    assert answers(events) == [ONE]
    chain, at = list[str](), first(events, "wire.accepted")
    while True:
        chain.append(at.kind)
        if at.cause is None:
            break
        at = events[at.cause - 1]
    assert chain == ["wire.accepted", "wire.called", "model.answered", "model.asked", "peer.said"]
    assert first(events, "wire.responded").cause == first(events, "wire.called", "AZone").seq


def test_a_request_at_whose_arrival_the_gateway_is_killed_is_not_taken() -> None:
    events = tried(ASKED, 'at: 0s, crash: {when: {event: wire.called, text: "*AZone*"}, restart_after: 100ms}')
    called = first(events, "wire.called", "AZone")
    assert called.cause is not None
    assert [e.kind for e in events if e.cause == called.seq and e.kind.startswith("wire.")] == []
    assert answers(events) == []
    assert bodies(events, "process.crashed")


def test_a_request_is_taken_if_the_gateway_is_killed_later() -> None:
    crash = 'at: 0s, crash: {when: {event: wire.called, text: "*AZone*", delay: 1ms}, restart_after: 100ms}'
    assert answers(tried(ASKED, crash)) == [ONE]


def test_a_request_is_taken_if_the_gateway_is_frozen_at_its_arrival() -> None:
    events = tried(ASKED, 'at: 0s, freeze: {when: {event: wire.called, text: "*AZone*"}, for: 300ms}')
    assert answers(events) == [ONE]
    order = kinds(events, "process.frozen", "wire.accepted", "process.thawed")
    assert order == ["process.frozen", "wire.accepted", "process.thawed"]


@pytest.mark.parametrize("event", KILLABLE)
def test_nothing_is_written_between_an_event_and_the_death_of_the_gateway(event: str) -> None:
    text = 'text: "*AZ*", ' if event == "wire.called" else ""
    events = tried(ASKED, f"at: 0s, crash: {{when: {{{text}event: {event}}}, restart_after: 100ms}}")
    struck = next(e for e in events if e.kind == "fault.fired")
    assert events[struck.seq].kind == "process.crashed"
    assert events[struck.seq].cause == struck.seq
    assert kinds(events, "gateway.launched") == ["gateway.launched"] * 2
    assert kinds(events, "gateway.ready") == ["gateway.ready"] * 2


def test_an_answer_of_the_model_counts_when_its_last_byte_is_written() -> None:
    file = scenario('at: 0s, id: one, as: ana, in: "telegram/@ana", say: "a slow one"')
    events = tried(file=file, profile=toy(TOY_STREAM="1"))
    asked, answered = first(events, "model.asked"), first(events, "model.answered")
    assert answered.cause == asked.seq
    assert answered.at - asked.at >= 0.4


def test_a_step_waits_for_the_model_being_asked_in_a_place() -> None:
    other = 'at: 0s, id: two, as: ben, in: telegram/ops/deploy, say: "a slow one"'
    for event in ("model.asked", "model.answered"):
        crash = f"at: 0s, crash: {{when: {{event: {event}, in: telegram/ops/deploy}}, restart_after: 100ms}}"
        events = tried(crash, other, 'at: 100ms, id: one, as: ana, in: "telegram/@ana", say: "up?"')
        struck = next(number for number, one in enumerate(events) if one.kind == "process.crashed")
        before = next(one for one in reversed(events[:struck]) if one.kind == event)
        assert getattr(before.body, "origin", None) == getattr(first(events, "peer.said", "slow").body, "address", "")


def test_sigterm_lets_the_gateway_end_its_work() -> None:
    slow = 'at: 0s, id: one, as: ana, in: "telegram/@ana", say: "a slow one"'
    events = tried(slow, "at: 0s, restart: {when: {event: model.asked}, down: 100ms}")
    assert kinds(events, "wire.accepted", "process.stopped", "gateway.ready") == [
        "gateway.ready",
        "wire.accepted",
        "process.stopped",
        "gateway.ready",
    ]


def test_what_has_not_happened_is_recorded() -> None:
    never = 'at: 0s, crash: {when: {event: wire.accepted, text: "*never*"}}'
    lost = 'at: 0s, fault: {on: send, do: reset, text: "*never*"}'
    later = 'when: {event: gateway.ready, nth: 7}, id: two, as: ana, in: "telegram/@ana", say: "again?"'
    events = tried(ASKED, never, lost, later)
    skipped = [e.body.step for e in events if isinstance(e.body, ScriptSkipped)]
    assert skipped == ["crash at wire.accepted", "two at gateway.ready", "fault send/reset"]
    spared = [step + ", may_miss: true" for step in (never, lost, later)]
    assert not [e for e in tried(ASKED, *spared) if isinstance(e.body, ScriptSkipped)]


def test_a_gateway_that_does_not_run_is_not_killed_again() -> None:
    events = tried(ASKED, "at: 200ms, crash: {restart_after: 600ms}", "at: 300ms, crash: {restart_after: 600ms}")
    assert len(bodies(events, "process.crashed")) == 1
    assert [e.body.why for e in events if isinstance(e.body, ScriptSkipped)] == ["the gateway does not run"]


def test_a_plain_turn_has_every_point_and_each_strikes() -> None:
    points = kill_points(tried(ASKED))
    # The toy polls and asks the model at the same time, so their order is open.
    assert sorted(point.event for point in points) == sorted(KILLABLE)
    assert {point.question for point in points} == {"one"}
    for point in points:
        events = tried(ASKED, kill_at=point)
        assert bodies(events, "process.crashed"), point
        assert not bodies(events, "script.skipped"), point


def test_a_point_that_does_not_come_is_no_crash() -> None:
    events = tried(ASKED, kill_at=KillPoint(event="wire.accepted", question="one", nth=2))
    assert not bodies(events, "process.crashed")
    assert [e.body.step for e in events if isinstance(e.body, ScriptSkipped)] == [
        "crash at wire.accepted of one, number 2"
    ]


def test_an_update_is_handed_out_again() -> None:
    again = "at: 500ms, replay: {messages: [one]}"
    events = tried(ASKED, again)
    pushes = [e.body for e in events if e.kind == "platform.pushed"]
    assert [getattr(push, "replay", None) for push in pushes] == [False, True]
    assert answers(events) == [ONE]
    assert len(answers(tried(ASKED, again, profile=toy(TOY_DEFECTS="answers-again")))) == 2


def test_a_message_that_the_platform_loses_is_never_pushed() -> None:
    events = tried('at: 0s, fault: {on: push, do: drop, text: "*up*"}', ASKED)
    assert not bodies(events, "platform.pushed")
    assert accepted(events) == []
    assert bodies(events, "fault.fired")


def test_messages_are_handed_out_in_another_order() -> None:
    late = 'at: 0s, fault: {on: push, do: slow, for: 400ms, text: "*first*"}'
    said = [f'at: {at}ms, id: {name}, as: ana, in: "telegram/@ana", say: "the {what}"' for at, name, what in ORDER]
    events = tried(late, *said)
    ids = {getattr(body, "message_id", ""): getattr(body, "text", "") for body in bodies(events, "peer.said")}
    pushed = [ids[getattr(body, "original_id", "")].split()[1] for body in bodies(events, "platform.pushed")]
    assert pushed == ["second", "first"]
    assert answers(events) == [AnswerMark("two", 1), ONE]


ORDER = ((0, "one", "first"), (100, "two", "second"))


def test_a_message_is_handed_out_twice_at_once() -> None:
    events = tried("at: 0s, fault: {on: push, do: duplicate}", ASKED)
    assert len(bodies(events, "platform.pushed")) == 2
    assert answers(events) == [ONE]


@pytest.mark.parametrize("event", ["platform.pushed", "platform.confirmed", "model.asked", "model.answered"])
@pytest.mark.parametrize("lock", ["archive: true, locked: true", "delete: true"], ids=["locked", "deleted"])
def test_a_thread_is_closed_at_an_event_before_the_answer(event: str, lock: str) -> None:
    ask = "at: 0s, id: one, as: ana, in: telegram/ops/deploy, say: up?"
    events = tried(f"at: 0s, when: {{event: {event}}}, in: telegram/ops/deploy, {lock}", ask)
    order = kinds(events, event, "thread.closed", "thread.archived", "wire.refused")
    assert order[0] == event
    assert order[1] in {"thread.closed", "thread.archived"}
    assert "wire.refused" in order
    assert ONE not in answers(events)


@pytest.mark.parametrize("event", ["model.asked", "wire.called", "wire.accepted", "platform.confirmed"])
@pytest.mark.parametrize(
    "stroke", ["fault: {on: connect, do: refuse-connection, for: 300ms}", "fault: {on: connect, do: error, for: 300ms}"]
)
def test_a_connection_breaks_at_an_event(event: str, stroke: str) -> None:
    text = ', text: "*AZ*"' if event == "wire.called" else ""
    later = 'when: {event: fault.fired, delay: 600ms}, at: 0s, id: two, as: ana, in: "telegram/@ana", say: "again?"'
    events = tried(f"at: 0s, when: {{event: {event}{text}}}, {stroke}", later, ASKED)
    struck = first(events, "fault.fired")
    assert any(one.kind == event for one in events[: struck.seq])
    assert answers(events)[-1] == AnswerMark("two", 1)
    assert not bodies(events, "script.skipped")
