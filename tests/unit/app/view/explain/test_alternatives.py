"""Why not there: only what was recorded."""

from tests.support.app.bound_runs import bound_threads
from tests.support.app.traces import bound_completion
from trunkline.app.view.explain.resolver import why_not
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events.bindings import RouterDecided
from trunkline.sim.events.wire import WireAccepted


def view_of(run=None) -> RunView:
    return RunView(run or bound_threads())


def test_every_place_has_an_answer_once():
    view = view_of()
    for event in view.events:
        names = [answer.name for answer in why_not(view, event.seq)]
        assert len(names) == len(set(names))
        assert {view.places.label(place.address) for place in view.places.in_order()} <= set(names)


def test_the_candidates_of_the_router_have_their_reasons():
    view = view_of()
    decided = next(event for event in view.events if isinstance(event.body, RouterDecided))
    assert isinstance(decided.body, RouterDecided)
    told = {answer.name: answer for answer in why_not(view, decided.seq)}
    for one in decided.body.candidates:
        answer = told[view.places.label(one.conversation)]
        assert answer.taken is one.chosen
        assert one.reason.sentence in answer.text
        assert answer.seq == decided.seq


def test_a_place_that_no_decision_considered_says_so():
    view = view_of()
    answers = why_not(view, 1)
    assert answers
    assert all(not answer.considered for answer in answers if not answer.taken)
    assert all("no decision" in answer.text for answer in answers if not answer.considered)


def test_the_taken_place_comes_first():
    view = view_of(bound_completion(bug=True))
    for event in view.events:
        if isinstance(event.body, WireAccepted):
            first = why_not(view, event.seq)[0]
            assert first.taken
            assert first.name == view.places.label(event.body.address)


def test_later_decisions_are_left_out():
    view = view_of()
    for event in view.events:
        assert all(answer.seq <= event.seq for answer in why_not(view, event.seq))


def test_before_the_first_event_nothing_was_decided():
    assert all(not answer.considered for answer in why_not(view_of(), 0))
