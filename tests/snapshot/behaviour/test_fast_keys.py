"""Keys typed without a pause: none is lost, and none goes to the screen below what the one before it opened."""

from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste

from tests.support.app.pilot import app, settle, text_of
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.dialogs.search_dialogs import FilterDialog, HelpDialog
from trunkline.app.tui.screens.picker.screen import PickerScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen

pytestmark = pytest.mark.anyio


def suffixes(folder: Path) -> list[str]:
    """Of the files that were written."""
    return [path.suffix for path in folder.iterdir()]


async def type_fast(one: TrunklineApp, *keys: str) -> None:
    """All keys at once, as a terminal hands over what was typed while the app was busy."""
    for key in keys:
        typed = {"slash": "/", "question_mark": "?", "space": " "}.get(key, key if len(key) == 1 else None)
        one.post_message(Key(key, typed))
    # Each waits for the one before it, so their pictures do too.
    for _ in range(len(keys) + 1):
        await settle(one)


def filter_of(one: TrunklineApp) -> Any:
    return one.workspace.search.filter


async def test_a_filter_is_typed_and_taken_at_once():
    one = app()
    async with one.run_test(size=(80, 24)):
        at = one.workspace.cursor
        await type_fast(one, "slash", *"told")
        assert isinstance(one.screen, FilterDialog)
        assert one.screen.words.value == "told"
        assert one.workspace.cursor == at
        await type_fast(one, "enter", "slash", "escape", "z")
        assert isinstance(one.screen, TimelineScreen)
        assert str(filter_of(one)) == "told"
        assert one.screen.query_one("#body").has_class("-zoom")


async def test_a_letter_of_a_menu_goes_to_the_menu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    one = app()
    async with one.run_test(size=(80, 24)):
        await type_fast(one, "y", "r")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.chain_of is None
        copied = one.clipboard
        await type_fast(one, "y", "c", "c")
        assert one.clipboard.startswith("trunkline run") and one.clipboard != copied
        # The second c came when the menu was gone.
        assert one.workspace.chain_of is not None
        await type_fast(one, "x", "j")
        assert isinstance(one.screen, TimelineScreen)
        assert suffixes(tmp_path) == [".jsonl"]


async def test_help_is_typed_into_and_does_what_was_found():
    one = app()
    async with one.run_test(size=(80, 24)):
        await type_fast(one, "question_mark", *"last")
        assert isinstance(one.screen, HelpDialog)
        assert one.screen.words.value == "last"


async def test_the_picker_is_open_before_its_filter_is_typed():
    one = app()
    async with one.run_test(size=(80, 24)):
        await type_fast(one, "s", "slash", "n", "o")
        assert isinstance(one.screen, PickerScreen)
        assert "no" in text_of(one)
        assert one.workspace.cursor


async def test_screens_are_gone_through_as_fast_as_they_are_named():
    one = app()
    async with one.run_test(size=(80, 24)):
        await type_fast(one, *"123456789", "2", "0", "right_square_bracket", "right_square_bracket")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == 2


async def test_what_is_pasted_waits_too():
    one = app()
    async with one.run_test(size=(80, 24)):
        one.post_message(Key("slash", "/"))
        one.post_message(Paste("ops"))
        for _ in range(3):
            await settle(one)
        assert isinstance(one.screen, FilterDialog)
        assert one.screen.words.value == "ops"


async def test_filter_typed_on_a_screen_without_rows_of_events_shows_the_timeline():
    one = app()
    async with one.run_test(size=(80, 24)):
        await type_fast(one, "1", "slash", *"gen", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert str(filter_of(one)) == "gen"
