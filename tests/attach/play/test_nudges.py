"""Where nothing came, the asker writes once more before anybody says that the question is lost."""

from tests.attach.play.tries import answers, scenario, toy, tried
from trunkline.core.events import Event
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.marks import AnswerMark, nudged_mark, questions_in
from trunkline.sim.invariants import judge

ASKED = 'at: 0s, id: one, as: ana, in: "telegram/@ana", say: "is it up?"'
IN_A_TOPIC = "at: 0s, id: one, as: ana, in: telegram/ops/deploy, say: is it up?"
REFUSED = "at: 0s, fault: {on: send, do: refuse}"
GONE = "at: 0s, in: telegram/ops/deploy, delete: true, when: {event: model.asked}"


def nudges(events: tuple[Event, ...]) -> list[PeerSaid]:
    said = (event.body for event in events if isinstance(event.body, PeerSaid))
    return [body for body in said if any(map(nudged_mark, questions_in(body.text)))]


def test_nobody_writes_again_who_has_an_answer() -> None:
    assert nudges(tried(ASKED)) == []


def test_who_has_none_writes_again_and_is_answered() -> None:
    silent = toy(TOY_DEFECTS="gives-up-silently")
    events = tried(ASKED, REFUSED, profile=silent)
    (again,) = nudges(events)
    assert again.text == "are you there? QZagainone"
    verdict = next(found for found in judge(events) if found.id == "X4")
    (violation,) = verdict.violations
    assert "nor when its asker wrote again; its answer was tried once and refused" in violation.summary
    assert AnswerMark("againone", 1) in answers(events)


def test_of_a_topic_that_is_gone_they_go_on_in_its_room() -> None:
    (again,) = nudges(tried(IN_A_TOPIC, GONE, profile=toy(TOY_DEFECTS="gives-up-silently")))
    assert again.address.thread is None


def test_those_of_one_place_write_once() -> None:
    second = 'at: 100ms, id: two, as: ana, in: "telegram/@ana", say: "and now?"'
    file = scenario("at: 0s, fault: {on: send, do: refuse, times: 2}", ASKED, second)
    assert len(nudges(tried(file=file, profile=toy(TOY_DEFECTS="gives-up-silently")))) == 1
