"""The footer: what matters now is in it, at most eight keys, in one line of 80 cells; and the letter of the run."""

import pytest

from tests.snapshot.behaviour.test_keys import SCREENS
from tests.support.app.listed_runs import ENTRIES, ListedRuns
from tests.support.app.pilot import app, press, settle, text_of
from trunkline.app.tui.widgets.bars import MOST_KEYS, footer_keys

pytestmark = pytest.mark.anyio

RUN = [name for name in SCREENS if name != "picker"]


def last_line(one: object) -> str:
    return text_of(one).splitlines()[-1]  # type: ignore[arg-type]


def first_line(one: object) -> str:
    return text_of(one).splitlines()[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RUN)
async def test_after_a_violation_next_twin_and_fault_are_shown_on_every_screen(name):
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        one.action_show(name)
        await settle(one)
        shown = last_line(one)
        assert all(word in shown for word in ("i Fault", "t Twin", "? Help", "q Quit")), shown
        assert "n Next" in shown
        assert len(footer_keys(one.workspace, name)) <= MOST_KEYS
        await press(pilot, "0")
        assert "t Twin" not in last_line(one)
        assert "i Fault" in last_line(one)


@pytest.mark.parametrize("name", RUN)
async def test_on_a_branch_it_can_be_taken_back_and_kept(name):
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        one.workspace.open(ENTRIES[0], seed=7, bugs=(), at_violation=False)
        await press(pilot, "r")
        one.action_show(name)
        await settle(one)
        assert "run B" in first_line(one)
        assert "u Undo" not in last_line(one)
        # The hand-made source cannot place any: the footer only asks whether there are some.
        one.workspace.branch.faults = (object(),)  # type: ignore[assignment]
        one.screen.sync()  # type: ignore[attr-defined]
        await settle(one)
        shown = last_line(one)
        assert "u Undo" in shown and "W Keep" in shown and "? Help" in shown
        assert ("9 Diff" in shown) is (name != "diff")


async def test_the_letter_of_the_run_is_there_as_soon_as_there_are_two():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        assert "run A" not in first_line(one) and "run B" not in first_line(one)
        await press(pilot, "p")
        assert "run A" in first_line(one)
        await press(pilot, "r")
        assert "run B" in first_line(one)
        await press(pilot, "p", "p")
        assert isinstance(one.workspace.source, ListedRuns)


async def test_a_notification_is_one_line_and_stays_in_the_notes():
    one = app()
    async with one.run_test(size=(80, 24), notifications=True) as pilot:
        await press(pilot, "escape")
        told = "nothing to leave here: q quits"
        assert [note.message for note in one._notifications] == [told]
        lines = text_of(one).splitlines()
        assert [index for index, line in enumerate(lines) if told in line] == [len(lines) - 2]
        one.clear_notifications()
        one.notify("/srv/x.svg\nENOSPC", title="not written", severity="error", timeout=8)
        await press(pilot, "v")
        shown = text_of(one)
        assert "✗   not written: /srv/x.svg  ENOSPC" in shown
        assert f"·   {told}" in shown
        await press(pilot, *"nospc")
        assert f"·   {told}" not in text_of(one)


async def test_asking_for_a_violation_where_there_is_none_leaves_the_cursor():
    one = app(bugs=False)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "0", "]", "]", "exclamation_mark")
        assert one.workspace.cursor == 2
        assert "no invariant is broken" in one.notes[0].text
