"""X5: how often the model is asked for an answer."""

from tests.support.wire_story import ANA, BEN, DEPLOY, OPS, WireStory
from trunkline.core.values import Peer
from trunkline.sim import Status
from trunkline.sim.events.attach import GatewayExited
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import PlatformPushed


def test_a_second_turn_that_nobody_sees_is_x5_alone():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_turn_may_run_again_after_a_failure_of_the_model():
    story = WireStory()
    story.ask("a1")
    story.turn("a1", status=500)
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_turn_may_run_again_after_a_fault_on_the_model():
    story = WireStory()
    story.ask("a1")
    asked = story.prompt("a1")
    story.tell(FaultFired(fault="model/cut"), asked)
    story.model_says(asked, "This answer breaks")
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_model_that_is_slow_has_not_failed():
    story = WireStory()
    story.ask("a1")
    asked = story.prompt("a1")
    story.tell(FaultFired(fault="model/slow"), asked)
    story.model_says(asked, "Done. AZa1-g1")
    story.model_says(story.prompt("a1"), "Done. AZa1-g2")
    story.send("Done. AZa1-g1")
    assert story.end().broken == ["X5"]


def test_a_request_that_was_given_up_may_be_made_again():
    story = WireStory()
    story.ask("a1")
    story.prompt("a1")
    story.now += 14.5
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_gateway_that_does_not_wait_for_the_model_asks_twice():
    story = WireStory()
    story.ask("a1")
    story.prompt("a1")
    story.now += 13.5
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_request_that_was_given_up_for_the_same_message_is_another_turn():
    story = WireStory()
    said = story.ask("a1")
    story.prompt("a1")
    story.tell(PlatformPushed(address=ANA, message_id="q-a1", original_id="q-a1", replay=True), said)
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_two_requests_at_once_that_are_both_answered_are_two_turns():
    story = WireStory()
    story.ask("a1")
    first, second = story.prompt("a1"), story.prompt("a1")
    story.model_says(first, "Done. AZa1-g1")
    story.model_says(second, "Done. AZa1-g2")
    story.send("Done. AZa1-g1")
    assert story.end().broken == ["X5"]


def test_a_failure_of_another_turn_is_no_reason_for_another_one():
    story = WireStory()
    story.ask("a1")
    story.ask("b1", BEN)
    text = story.turn("a1")
    story.turn("b1", status=500)
    story.turn("a1")
    story.send(text)
    story.send(story.turn("b1"), BEN)
    assert story.end().broken == ["X5"]
    assert "asked again for a1" in story.summaries("X5")[0]


def test_a_fault_on_a_send_is_no_reason_for_another_turn():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.fault("send/reset")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_turn_may_run_again_after_the_process_was_killed_in_it():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.crash()
    story.send(NOTICE_OF_RESTART)
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_what_a_killed_process_had_asked_is_read_after_its_end_and_may_be_asked_again():
    """The request was in the socket when the process was killed."""
    story = WireStory()
    story.ask("a1")
    story.tell(FaultFired(fault="crash"))
    story.tell(ProcessCrashed(why="crash"), after=0.0)
    story.prompt("a1")
    story.start()
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_what_the_next_process_asks_twice_is_two_turns():
    """The first of the two was asked by the process that runs."""
    story = WireStory()
    story.ask("a1")
    story.crash()
    story.turn("a1")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_turn_may_run_again_after_a_freeze():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.tell(ProcessFrozen(why="freeze"))
    story.tell(ProcessThawed())
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_turn_whose_answer_people_had_before_the_crash_must_not_run_again():
    story = WireStory()
    story.answered("a1")
    story.crash()
    story.turn("a1")
    assert story.end().broken == ["X5"]


def test_requests_beside_a_turn_are_none():
    story = WireStory()
    story.answered("a1")
    story.prompt("a1", beside=True)
    assert story.end().broken == []


def test_a_message_that_waited_is_no_second_turn_of_the_first():
    story = WireStory()
    story.ask("a1", OPS)
    story.prompt("a1")
    story.ask("a2", OPS, peer=Peer(id="8"))
    story.send(story.turn("a1", "a2"), OPS)
    assert story.end().broken == []
    assert story.verdict("X5").exercised == 2


def test_an_answer_that_takes_long_is_none_that_was_given_up():
    story = WireStory()
    story.ask("a1")
    first = story.prompt("a1")
    story.now += 20.0
    second = story.prompt("a1")
    story.model_says(first, "Done. AZa1-g1")
    story.model_says(second, "Done. AZa1-g2")
    story.send("Done. AZa1-g2")
    assert story.end().broken == ["X5"]


def test_what_a_killed_process_had_asked_is_no_reason_where_people_have_the_answer():
    story = WireStory()
    story.answered("a1")
    story.tell(FaultFired(fault="crash"))
    story.tell(ProcessCrashed(why="crash"), after=0.0)
    story.prompt("a1")
    story.start()
    story.turn("a1")
    assert story.end().broken == ["X5"]


def test_a_process_that_ends_by_itself_leaves_requests_behind_too():
    story = WireStory()
    story.ask("a1")
    story.tell(GatewayExited(number=1, code=1))
    story.prompt("a1")
    story.start()
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_trouble_before_the_first_turn_hides_none_after_it():
    story = WireStory()
    story.fault("push/duplicate")
    story.ask("a1")
    story.turn("a1")
    story.crash()
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_fault_that_the_first_turn_triggered_elsewhere_is_no_failure_of_the_model():
    story = WireStory()
    story.ask("a1")
    asked = story.prompt("a1")
    story.tell(FaultFired(fault="connect/reset"), asked)
    story.model_says(asked, "Done. AZa1-g1")
    story.model_says(story.prompt("a1"), "Done. AZa1-g2")
    story.send("Done. AZa1-g1")
    assert story.end().broken == ["X5"]


# judging by side


def test_what_needs_the_inside_of_the_gateway_is_not_judged():
    story = WireStory()
    story.answered("a1", DEPLOY)
    inside = [verdict for verdict in story.end().verdicts if not verdict.id.startswith("X")]
    assert {verdict.status for verdict in inside} == {Status.NOT_EXERCISED}
    assert {verdict.note for verdict in inside} == {
        "not judged: it needs the inside of the gateway, and only the wire is known here"
    }
    assert [verdict.id for verdict in story.verdicts if verdict.id.startswith("X")] == [
        f"X{number}" for number in range(1, 11)
    ]


NOTICE_OF_RESTART = "⚠️ I go on with your question."
