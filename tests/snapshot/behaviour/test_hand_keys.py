"""Keys between messages and delegations, and from columns to bars."""

import pytest

from tests.support.app.hand_runs import many_hands, side_by_side
from tests.support.app.pilot import app, press, text_of
from tests.support.app.queued_runs import queued, silence
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.hands.screen import HandList, HandsScreen
from trunkline.app.tui.screens.messages.screen import MessagesScreen
from trunkline.app.tui.screens.queue.screen import QueueScreen
from trunkline.app.tui.screens.sessions.screen import SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.view.hands.cells import run_bar

pytestmark = pytest.mark.anyio
SCREENS = {"2": TimelineScreen, "3": MessagesScreen, "4": SessionsScreen, "6": QueueScreen}


def hands_of(one: TrunklineApp) -> HandList:
    return one.screen.query_one(HandList)


def chosen(one: TrunklineApp) -> str:
    row = hands_of(one).chosen
    assert row is not None
    return row.name


def go_to(one: TrunklineApp, kind: str, number: int = 0) -> int:
    """Move the cursor to an event of a kind."""
    seqs = [event.seq for event in one.workspace.run.view.events if event.kind == kind]
    one.workspace.seek(seqs[number])
    return seqs[number]


@pytest.mark.parametrize("key", SCREENS)
async def test_h_leads_from_a_message_to_its_delegation_and_back(key):
    one = app(run=many_hands(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$")
        seq = go_to(one, "wire.accepted", 1)
        await press(pilot, key, "H")
        assert isinstance(one.screen, HandsScreen)
        assert chosen(one) == "h2"
        await press(pilot, "H")
        assert isinstance(one.screen, SCREENS[key])
        assert one.workspace.subject == seq


async def test_h_takes_the_selected_row_and_not_the_cursor():
    one = app(run=many_hands(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "6", "g", "H")
        assert chosen(one) == "h1"
        await press(pilot, "6", "j", "H")
        assert chosen(one) == "h5"


async def test_h_leads_from_the_event_of_a_delegation_that_has_no_message():
    one = app(run=many_hands(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$")
        go_to(one, "delegation.ignored")
        await press(pilot, "2", "H")
        assert chosen(one) == "h8"
        await press(pilot, "H")
        assert isinstance(one.screen, HandsScreen)
        assert "it has no message: the agent that delegated it cancelled it" in one.notes[0].text


async def test_h_says_when_no_delegation_belongs_to_a_message():
    one = app(run=queued(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "6", "H")
        assert isinstance(one.screen, QueueScreen)
        assert "no delegation belongs to this" in one.notes[0].text


async def test_b_shows_bars_and_columns_again():
    one = app(run=many_hands(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "7")
        assert "outcome" in text_of(one)
        await press(pilot, "B")
        shown = text_of(one)
        assert "outcome" not in shown
        assert "━━━" in shown
        assert "▼" in shown
        assert "┄ waits" in shown
        await press(pilot, "B")
        assert "outcome" in text_of(one)


async def test_bars_stand_still_while_the_cursor_moves():
    one = app(run=many_hands(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "7", "B")
        before = [bar(one, at) for at in range(8)]
        await press(pilot, *["["] * 30)
        assert [bar(one, at) for at in range(8)] == before


def bar(one: TrunklineApp, index: int) -> str:
    rows = hands_of(one)
    run = rows.workspace.run
    history = run.hands.histories[index]
    return "".join(cell.char for cell in run_bar(run.view, run.hands, history, *rows.scale(), 60))


async def test_keys_of_hands_do_nothing_without_hands():
    one = app(run=silence(), at_violation=False)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "7", "B", "H", "B")
        assert isinstance(one.screen, HandsScreen)


async def test_a_thousand_delegations_are_drawn_as_fast_as_ten():
    """Only the rows in view are computed, for columns and for bars."""
    one = app(run=side_by_side(1000), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "7", "G")
        assert chosen(one) == "h1000"
        hands = one.workspace.run.hands
        asked: list[str] = []
        row = hands.row
        hands.row = lambda run, seq: asked.append(run.id) or row(run, seq)  # pyright: ignore[reportAttributeAccessIssue]
        await press(pilot, "[", "B", "[")
        assert 0 < len(set(asked)) < 40
