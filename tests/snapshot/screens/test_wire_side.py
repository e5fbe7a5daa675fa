"""Runs of which only the wire is known: what each screen shows of them, and what it says nobody can know."""

import pytest

from tests.support.app.pilot import SIZES, app, press, text_of
from tests.support.app.wire_runs import GROWING, KILLED, NEXT_DOOR, RESENT, wire_run
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.messages.screen import MessageList
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.screens.wire_side.wire_lists import QuestionList, RequestList

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
UNKNOWN = "not known: only the wire of toy 1.0 was recorded"


def opened(name: str) -> TrunklineApp:
    return app(run=wire_run(name), at_violation=False)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


@BOTH
def test_overview(screen_compare, size):
    assert screen_compare(opened(RESENT), terminal_size=size, run_before=pressing("$", "1"))


@BOTH
def test_timeline_of_an_answer_next_door(screen_compare, size):
    assert screen_compare(opened(NEXT_DOOR), terminal_size=size, run_before=pressing("$", "p"))


@BOTH
def test_timeline_of_a_kill(screen_compare, size):
    assert screen_compare(opened(KILLED), terminal_size=size, run_before=pressing("$"))


@BOTH
def test_questions(screen_compare, size):
    assert screen_compare(opened(RESENT), terminal_size=size, run_before=pressing("$", "3"))


@BOTH
def test_places(screen_compare, size):
    assert screen_compare(opened(GROWING), terminal_size=size, run_before=pressing("$", "4", "tab"))


@BOTH
def test_requests(screen_compare, size):
    assert screen_compare(opened(KILLED), terminal_size=size, run_before=pressing("$", "6"))


@BOTH
def test_invariants(screen_compare, size):
    assert screen_compare(opened(RESENT), terminal_size=size, run_before=pressing("$", "8"), picture=False)


@BOTH
@pytest.mark.parametrize(("key", "screen"), [("5", "bindings"), ("7", "hands"), ("9", "diff")])
def test_what_is_inside_names_the_screens_that_show_what_is_known(screen_compare, size, key, screen):
    assert screen_compare(opened(KILLED), terminal_size=size, run_before=pressing("$", key), picture=False)


@pytest.mark.parametrize(("key", "screen"), [("3", "questions"), ("6", "requests")])
def test_lists_at_a_width_in_between(screen_compare, key, screen):
    one = opened(RESENT)
    assert screen_compare(one, terminal_size=(100, 30), run_before=pressing("$", key), picture=False)


@pytest.mark.parametrize("key", ["o", "w", "H", "r", "d", "i", "W"])
async def test_no_key_speaks_of_the_inside(key: str):
    one = opened(RESENT)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "5", key)
        said = [note.message for note in one._notifications]
        assert len(said) == 1
        assert (
            UNKNOWN in said[0]
            or said[0] == "this is a run of toy 1.0: y copies the command that plays its scenario again"
        )


@pytest.mark.parametrize("key", ["3", "4", "5", "6", "7"])
async def test_what_needs_the_inside_says_so(key: str):
    one = opened(RESENT)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", key)
        assert UNKNOWN in text_of(one)


async def test_enter_leads_from_a_request_to_what_people_saw():
    one = opened(RESENT)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "6", "down", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.run.view.event(one.workspace.cursor).kind == "wire.accepted"


async def test_the_lists_follow_the_kind_of_run():
    one = opened(RESENT)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "3")
        assert one.screen.query_one(QuestionList).display
        assert not one.screen.query_one(MessageList).display
        assert one.screen.query_one(QuestionList).has_focus
        await press(pilot, "6")
        assert one.screen.query_one(RequestList).count == 2


async def test_a_filter_keeps_questions_by_their_rows():
    one = opened(KILLED)
    async with one.run_test(size=(120, 40)) as pilot:
        one.workspace.search.set_filter("second")
        await press(pilot, "$", "3")
        assert one.screen.query_one(QuestionList).count == 1
