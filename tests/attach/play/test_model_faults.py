"""Faults of the model, between a real process and the scripted model's socket."""

from typing import Any

import pytest

from tests.attach.play.tries import answers, bodies, first, kinds, scenario, toy, tried
from trunkline.core.errors import ConfigError
from trunkline.core.events import BODIES
from trunkline.sim import run_scenario
from trunkline.sim.index.marks import AnswerMark
from trunkline.sim.scenario.attach_only import ATTACH_EVENTS, attach_only

ASKED = 'at: 0s, id: one, as: ana, in: "telegram/@ana", say: "is it up?"'
ONE = [AnswerMark("one", 1)]
#: a gateway that streams shows its answer by edits
SEEN = ("wire.accepted", "wire.acted", "wire.edited")


#: what the toy takes for a failure; it takes a stream that breaks off for an answer
FAILURES = [("error", 500), ("error, status: 503", 503), ("rate-limit, for: 1s", 429), ("reset-before", None)]


@pytest.mark.parametrize(
    ("do", "status", "stream"),
    [*((do, status, stream) for do, status in FAILURES for stream in ("", "1")), ("half-answer", None, "")],
)
def test_the_model_fails_once(do: str, status: int | None, stream: str) -> None:
    events = tried(f'at: 0s, fault: {{on: model, do: {do}, text: "*up*"}}', ASKED, profile=toy(TOY_STREAM=stream))
    asked = [event for event in events if event.kind == "model.asked"]
    assert len(asked) == 2
    struck = first(events, "fault.fired")
    assert struck.cause == asked[0].seq
    statuses: list[Any] = [getattr(body, "status", None) for body in bodies(events, "model.answered")]
    assert statuses == ([200] if status is None else [status, 200])
    # What was not said has no generation.
    assert answers(events, *SEEN)[-1:] == ONE


def test_the_model_refuses_for_good() -> None:
    events = tried("at: 0s, fault: {on: model, do: refuse}", ASKED)
    assert [getattr(body, "status", None) for body in bodies(events, "model.answered")] == [400]
    assert answers(events) == []
    assert kinds(events, "wire.accepted") == ["wire.accepted"]


def test_the_model_is_slow() -> None:
    events = tried("at: 0s, fault: {on: model, do: slow, for: 1200ms}", ASKED, patience=1.0)
    asked, answered = first(events, "model.asked"), first(events, "model.answered")
    assert answered.at - asked.at >= 1.2
    assert answers(events) == ONE


def test_the_model_never_answers() -> None:
    events = tried("at: 0s, fault: {on: model, do: drop}", ASKED, patience=0.8)
    assert bodies(events, "model.asked")
    assert not bodies(events, "model.answered")
    assert answers(events) == []


def test_a_fault_strikes_the_question_of_its_place() -> None:
    other = 'at: 100ms, id: two, as: ben, in: telegram/ops, say: "is it up?"'
    events = tried("at: 0s, fault: {on: model, do: refuse, in: telegram/ops}", ASKED, other)
    assert answers(events) == ONE
    assert [getattr(body, "status", None) for body in bodies(events, "model.answered")] == [200, 400]


@pytest.mark.parametrize("event", sorted(ATTACH_EVENTS))
def test_a_step_that_waits_for_what_only_attach_records_is_refused_elsewhere(event: str) -> None:
    for step in (f"crash: {{when: {{event: {event}}}}}", f"when: {{event: {event}}}, note: b"):
        with pytest.raises(ConfigError, match=f"only: a step that waits for {event}, which no run"):
            run_scenario(scenario(f"at: 0s, {step}", ASKED))


def test_every_event_of_a_gateway_that_is_not_ours_is_one_of_these() -> None:
    modules = {f"trunkline.sim.events.{name}" for name in ("attach", "model")}
    own = {kind for kind, body in BODIES.items() if body.__module__ in modules}
    assert own | {"wire.edited", "wire.deleted"} <= ATTACH_EVENTS


def test_a_step_that_waits_for_what_every_run_records_is_played() -> None:
    assert attach_only(scenario("at: 0s, crash: {when: {event: wire.accepted}}", ASKED)) == ()


def test_a_run_without_a_model_on_the_wire_refuses_them() -> None:
    file = scenario("at: 0s, fault: {on: model, do: error}", ASKED)
    with pytest.raises(ConfigError, match="try is played by `trunkline attach` only: a fault model/error: there is no"):
        run_scenario(file)
