"""B1: a conversation goes to the session that it is bound to."""

import pytest

from tests.support.factories import room
from tests.support.invariants.bound_trace import DEFAULT, OTHER, ROOM, THREAD, WORK, Author
from trunkline.core.events.gateway import TurnStarted
from trunkline.core.values import WorkKind
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import ThreadClosed, ThreadRequestAbandoned
from trunkline.sim.invariants import Status


@pytest.fixture
def b1() -> Author:
    return Author("B1")


# ---------------------------------------------------------------- B1: routes


def test_without_bindings_there_is_nothing_to_judge(b1: Author) -> None:
    b1.routed(DEFAULT)
    assert b1.end().verdict.status is Status.NOT_EXERCISED


def test_a_bound_conversation_belongs_to_its_session(b1: Author) -> None:
    b1.bound()
    b1.routed(WORK, binding="b1")
    assert (b1.end().verdict.status, b1.verdict.exercised) == (Status.OK, 2)


@pytest.mark.parametrize("key", [DEFAULT, "main:subagent:m2.hand1"])
def test_it_belongs_to_no_other_session(b1: Author, key: str) -> None:
    b1.bound()
    wrong = b1.routed(key)
    assert b1.wrong == [f"i1, posted at {THREAD}, went to session {key}"]
    assert b1.first_wrong == wrong


def test_other_conversations_do_not_belong_to_it(b1: Author) -> None:
    b1.bound()
    b1.routed("main:discord:default:channel:700", OTHER)
    assert b1.end().wrong == []


def test_an_equal_thread_of_another_account_is_another_conversation(b1: Author) -> None:
    b1.bound()
    b1.routed(DEFAULT, room("600", account="second", parent="500"))
    assert b1.end().wrong == []


@pytest.mark.parametrize("how", ["over", "ending"])
def test_after_its_end_it_goes_the_default_route(b1: Author, how: str) -> None:
    b1.bound()
    getattr(b1, how)()
    b1.routed(DEFAULT)
    assert b1.end().wrong == []
    b1.routed(WORK, binding="b1")
    assert b1.wrong == [f"i2, posted at {THREAD}, went to session {WORK}"]


def test_one_that_has_expired_takes_nothing_even_before_it_is_swept(b1: Author) -> None:
    b1.bound(until=60.0)
    b1.routed(WORK, binding="b1", after=59)
    assert b1.wrong == []
    b1.routed(WORK, binding="b1", after=1)
    assert b1.wrong == [f"i2, posted at {THREAD}, went to session {WORK}"]


def test_a_touch_moves_its_deadline(b1: Author) -> None:
    b1.bound(until=60.0)
    b1.now = 50.0
    b1.touched(until=110.0)
    b1.routed(WORK, binding="b1", after=50)
    assert b1.end().wrong == []


def test_an_ended_one_that_comes_back_with_another_process_is_found(b1: Author) -> None:
    b1.bound()
    b1.over()
    b1.crashed()
    b1.routed(WORK, binding="b1")
    assert len(b1.wrong) == 1


def test_the_session_of_a_conversation_is_its_own_also_after_it_was_bound_to_it(b1: Author) -> None:
    b1.bound(key=DEFAULT)
    b1.over()
    b1.routed(DEFAULT)
    assert b1.end().wrong == []


def test_the_next_binding_counts(b1: Author) -> None:
    b1.bound()
    b1.over()
    b1.bound(key="main:subagent:m2.hand1", binding="b2")
    b1.routed("main:subagent:m2.hand1", binding="b2")
    assert b1.end().wrong == []
    b1.routed(WORK, binding="b1")
    assert len(b1.wrong) == 1


# ---------------------------------------------------------------- B1: the router


def test_the_router_chooses_what_is_active(b1: Author) -> None:
    b1.bound()
    b1.chosen()
    assert (b1.end().wrong, b1.verdict.exercised) == ([], 2)


@pytest.mark.parametrize("how", ["over", "ending"])
def test_it_does_not_choose_what_is_over(b1: Author, how: str) -> None:
    b1.bound()
    getattr(b1, how)()
    b1.chosen("fallback", None)
    assert b1.wrong == []
    wrong = b1.chosen()
    assert b1.wrong == ["the completion of m1.hand1 was routed to a binding that is not active"]
    assert b1.first_wrong == wrong


def test_it_does_not_choose_what_has_expired(b1: Author) -> None:
    b1.bound(until=60.0)
    b1.chosen(after=60)
    assert len(b1.wrong) == 1


def test_it_does_not_choose_what_nobody_bound(b1: Author) -> None:
    b1.chosen()
    assert len(b1.wrong) == 1


# ---------------------------------------------------------------- B1: one binding for a conversation


def test_a_conversation_is_bound_again_after_its_end(b1: Author) -> None:
    b1.bound()
    b1.ending()
    b1.bound(binding="b2")
    assert b1.end().wrong == []


def test_it_has_no_second_binding_before(b1: Author) -> None:
    b1.bound()
    wrong = b1.bound(binding="b2")
    assert b1.wrong == [f"{THREAD} was bound while b1 still held it"]
    assert b1.first_wrong == wrong


def test_equal_threads_of_two_channels_are_two_conversations(b1: Author) -> None:
    b1.bound(room("C1", channel="slack", thread="17.5"), binding="b1")
    b1.bound(room("C2", channel="slack", thread="17.5"), key=DEFAULT, binding="b2")
    assert b1.end().wrong == []


def test_what_ends_was_bound_there(b1: Author) -> None:
    b1.bound()
    b1.over(place=OTHER)
    assert b1.wrong == ["b1 ended, but was never bound there"]
    b1.over("b7")
    assert len(b1.wrong) == 2


def test_one_that_ends_where_it_was_bound_is_in_order(b1: Author) -> None:
    b1.bound()
    b1.over()
    assert (b1.end().wrong, b1.verdict.exercised) == ([], 2)


# ---------------------------------------------------------------- B1: what is left behind


def test_a_refused_binding_leaves_no_thread(b1: Author) -> None:
    b1.opened()
    refused = b1.refused_binding()
    assert b1.wrong == ["a binding was refused, and discord/ops/m1.hand1 was left behind"]
    assert b1.first_wrong == refused


def test_one_that_was_refused_before_any_thread_leaves_none(b1: Author) -> None:
    b1.refused_binding()
    assert (b1.end().wrong, b1.verdict.exercised) == ([], 1)


@pytest.mark.parametrize(("name", "key"), [("ops/m2.hand1", WORK), ("ops/m1.hand1", DEFAULT)])
def test_threads_of_others_are_not_its_own(b1: Author, name: str, key: str) -> None:
    b1.opened(name)
    b1.refused_binding(key)
    assert b1.end().wrong == []


def test_a_thread_that_is_bound_is_not_left_behind(b1: Author) -> None:
    b1.opened()
    b1.bound()
    b1.refused_binding()
    assert b1.end().wrong == []


def test_a_thread_that_answers_opened_on_a_message_is_none_of_it(b1: Author) -> None:
    b1.opened(on_message="m1")
    b1.refused_binding()
    assert b1.end().wrong == []


def test_a_thread_whose_opening_was_not_reported_cannot_be_known(b1: Author) -> None:
    b1.tell(FaultFired(fault="thread/lose-response"), node="sim")
    b1.opened()
    b1.refused_binding()
    assert b1.wrong == []
    # The next one is told.
    b1.opened("ops/m2.hand1", place=OTHER)
    b1.refused_binding("main:subagent:m2.hand1")
    assert len(b1.wrong) == 1


def test_a_request_that_was_given_up_excuses_one_thread_and_no_other(b1: Author) -> None:
    b1.tell(ThreadRequestAbandoned(address=ROOM, key="m1.hand1"), node="discord")
    b1.opened()
    b1.opened("ops/m1.hand1+2", place=OTHER)
    b1.refused_binding()
    assert b1.wrong == ["a binding was refused, and discord/ops/m1.hand1+2 was left behind"]


@pytest.mark.parametrize(("inbound", "wrong"), [("m1", 1), ("m2", 2)])
def test_a_request_of_a_process_that_died_excuses_one_thread_of_its_turn(b1: Author, inbound: str, wrong: int) -> None:
    running = TurnStarted(agent="main", session_id="s", session_key="k", work=WorkKind.MESSAGE, origin=ROOM)
    b1.tell(running, turn=f"t-{inbound}", inbound=inbound)
    b1.tell(ProcessCrashed(why="crash"))
    b1.opened()
    b1.opened("ops/m1.hand1+2", place=OTHER)
    b1.refused_binding()
    assert len(b1.end().wrong) == wrong


@pytest.mark.parametrize(("how", "wrong"), [("deleted", 0), ("archived", 1)])
def test_a_thread_that_was_deleted_is_not_left_behind(b1: Author, how: str, wrong: int) -> None:
    b1.opened()
    b1.tell(ThreadClosed(address=THREAD, how=how), node="discord")
    b1.refused_binding()
    assert len(b1.end().wrong) == wrong
