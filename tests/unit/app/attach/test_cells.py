"""Which cell is tried next, when one is given up, and what makes its tries those of another version."""

from msgspec import structs

from tests.support.attach.cells import a_cell, a_gateway, a_record, finished, once, twice
from trunkline.app.attach.cells import Cell, Trouble, gateway_given_up, next_cell, tries_left

TROUBLE = Trouble(problem="it does not start")


def test_everything_is_tried_once_before_anything_is_tried_again():
    first, second = a_record(once()), a_record(name="other")
    assert next_cell([first, second], 2, 0) is second
    second.running = 1
    assert next_cell([first, second], 2, 0) is first
    first.running = 1
    assert next_cell([first, second], 2, 0) is second, "two tries of each are wanted"
    second.running = 2
    assert next_cell([first, second], 2, 0) is None


def test_where_the_gateway_differs_from_the_promise_it_is_tried_more_often():
    holds, broken = a_record(once()), a_record(twice(), name="other")
    assert next_cell([holds, broken], 1, 5) is broken
    assert tries_left([holds, broken], 1, 5) == 4
    assert tries_left([holds, broken], 1, 0) == 0
    assert next_cell([holds], 1, 5) is None


def test_more_tries_are_never_fewer():
    assert a_record(twice()).wanted(3, 2) == 3


def test_a_cell_that_breaks_off_is_given_up_and_a_good_try_still_counts():
    record = a_record(once(), troubles=[TROUBLE])
    assert next_cell([record], 2, 0) is record
    record.troubles.append(TROUBLE)
    assert next_cell([record], 2, 0) is None


def test_a_cell_of_which_a_try_broke_off_has_one_at_a_time():
    record = a_record(troubles=[TROUBLE], running=1)
    assert next_cell([record], 5, 0) is None
    record.running = 0
    assert next_cell([record], 5, 0) is record


def test_a_gateway_that_cannot_be_run_is_not_started_for_every_scenario():
    broken, untried, other = a_record(troubles=[TROUBLE] * 2), a_record(), a_record(name="other")
    assert gateway_given_up(untried, [broken, untried, other])
    assert next_cell([broken, untried, other], 1, 0) is other
    assert tries_left([broken, untried, other], 1, 0) == 1
    once_played = [broken, a_record(once()), untried]
    assert not gateway_given_up(untried, once_played)


def test_what_cannot_be_attached_is_not_tried():
    assert next_cell([a_record(cannot=("it has no threads",))], 1, 0) is None


def test_numbers_of_tries_are_never_given_twice():
    record = a_record(once())
    assert [record.take_number(), record.take_number()] == [2, 3]
    record.finished.append(finished(once(), 9))
    assert record.take_number() == 10


def test_another_version_profile_scenario_or_waiting_time_begins_a_cell_again():
    cell = a_cell()
    changed = a_gateway(version="2.0")
    profile = cell.gateway.profile.model_copy(update={"notices": ("another",)})
    prints = {
        cell.fingerprint,
        structs.replace(cell, gateway=changed).fingerprint,
        structs.replace(cell, gateway=structs.replace(cell.gateway, profile=profile)).fingerprint,
        a_cell(patience=9.0).fingerprint,
        a_cell(settle=9.0).fingerprint,
    }
    assert len(prints) == 5
    assert a_cell().fingerprint == cell.fingerprint


def test_the_place_of_the_installation_does_not_matter():
    cell: Cell = a_cell()
    moved = structs.replace(cell, gateway=structs.replace(cell.gateway, install=cell.gateway.install / "moved"))
    assert moved.fingerprint == cell.fingerprint
