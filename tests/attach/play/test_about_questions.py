"""Faults and waits that name a question: they strike what is about it, sent or edited, in any words."""

# The kind of an event says which body it has.
# pyright: reportAttributeAccessIssue=false

import pytest

from tests.attach.play.tries import bodies, first, scenario, toy, tried
from trunkline.sim.attach.fit import attach_unfit
from trunkline.sim.attach.kill_points import kill_points, named_kill_point
from trunkline.sim.scenario import ScenarioError
from trunkline.sim.scenario.attach_only import attach_only

ONE = 'at: 0s, id: one, as: ana, in: "telegram/@ana", say: "is it up?"'
TWO = 'at: 600ms, id: two, as: ana, in: "telegram/@ana", say: "slow, and now?"'


@pytest.mark.parametrize("streams", [False, True], ids=["sent whole", "growing"])
def test_a_fault_strikes_the_answer_to_its_question_and_no_other(streams: bool) -> None:
    profile = toy(TOY_STREAM="1" if streams else "")
    events = tried("at: 0s, fault: {on: send, do: refuse, question: two}", ONE, TWO, profile=profile)
    fired = [body.fault for body in bodies(events, "fault.fired")]
    assert fired == ["send/refuse"]
    refused = events[(first(events, "wire.refused").cause or 0) - 1]
    assert refused.seq > next(
        event.seq for event in events if event.kind == "model.asked" and "two" in event.body.marks
    )
    assert any("AZone-g1" in event.body.text for event in events if event.kind in ("wire.accepted", "wire.edited"))


def test_an_edit_is_struck_as_a_send_is() -> None:
    """The first piece of a growing answer goes through; the second request about the question is an edit."""
    fault = "at: 0s, fault: {on: send, do: refuse, question: one, nth: 2, times: 9}"
    events = tried(fault, ONE, profile=toy(TOY_STREAM="1"))
    called = [event for event in events if event.kind == "wire.called" and event.body.what == "act"]
    refused = {event.cause for event in events if event.kind == "wire.refused"}
    assert any(event.seq in refused for event in called)


@pytest.mark.parametrize("streams", [False, True], ids=["sent whole", "growing"])
def test_a_crash_at_the_acceptance_of_an_answer_waits_for_all_of_it(streams: bool) -> None:
    crash = "at: 0s, crash: {when: {event: wire.accepted, question: one}, restart_after: 100ms}"
    events = tried(crash, ONE, profile=toy(TOY_STREAM="1" if streams else ""))
    at = first(events, "process.crashed").seq
    shown = [event for event in events[:at] if event.kind in ("wire.accepted", "wire.edited")]
    assert "AZone-g1" in shown[-1].body.text


def test_a_name_that_nobody_says_is_refused_with_the_nearest() -> None:
    with pytest.raises(ScenarioError, match="expected the id of a `say`, found 'tow'"):
        scenario(ONE, TWO, "at: 1s, fault: {on: send, do: refuse, question: tow}")


def test_only_attached_gateways_have_marks() -> None:
    file = scenario(ONE, "at: 1s, fault: {on: send, do: refuse, question: one}")
    assert "marks" in attach_only(file)[0]
    wrong = scenario(ONE, "at: 1s, crash: {when: {event: thread.closed, question: one}}")
    assert any("about a question: such an event is about none" in reason for reason in attach_unfit(wrong, toy()))


def test_a_kill_point_of_a_growing_answer_is_the_edit_that_makes_it_whole() -> None:
    events = tried(ONE, profile=toy(TOY_STREAM="1"))
    assert [str(point.slug) for point in kill_points(events) if point.event == "wire.accepted"] == [
        "wire.accepted-none-1",
        "wire.accepted-one-1",
    ]
    killed = tried(ONE, profile=toy(TOY_STREAM="1"), kill_at=named_kill_point("wire.accepted-one-1"))
    at = first(killed, "process.crashed").seq
    shown = [event for event in killed[:at] if event.kind in ("wire.accepted", "wire.edited")]
    assert shown[-1].kind == "wire.edited" and "AZone-g1" in shown[-1].body.text
