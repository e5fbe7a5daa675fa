"""What strangers wrote is drawn as text, on every screen and in every dialog: nothing of it commands the terminal.

Texts are cleaned where rows are made. So that a forgotten path is found here too, the last look at each line, which
would hide it, is switched off.
"""

import re
from operator import attrgetter

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from tests.support.app.pilot import press, text_of, until
from tests.support.paths import FIXTURES
from trunkline.app.runs.scenario_source import SimSource, entry_of, load
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.keys import SCREENS
from trunkline.app.tui.platform import file_export
from trunkline.app.tui.platform.terminal_lifecycle import HarmlessLines
from trunkline.app.tui.platform.textual_private import screen_lines
from trunkline.app.tui.state.workspace import Workspace

FOLDER = FIXTURES / "reported" / "simulator"
EVIL, TITLE = FOLDER / "evil.yaml", FOLDER / "evil2.yaml"
#: pressed on each screen, each followed by Escape: details, menus, dialogs, searches
DEEPER = (("j", "j", "enter"), ("e",), ("y",), ("slash", "e"), ("question_mark",), ("b",), ("f",), ("G", "k", "enter"))
SIZE = (140, 45)


@pytest.fixture
def unguarded(monkeypatch):
    """Switch off the last look at each line."""
    monkeypatch.setattr(HarmlessLines, "apply", lambda _self, segments, _background: segments)


def app_on(path, theme="textual-dark"):
    source = SimSource((FOLDER,))
    workspace = Workspace(source)
    workspace.open(entry_of(load(path)), seed=0, bugs=(), at_violation=False)
    workspace.run.playback.seek(workspace.run.view.last)
    return TrunklineApp(workspace, theme=theme, clocked=False)


def raw(one) -> list[str]:
    """The drawn lines that hold what a terminal would not print."""
    return [strip.text for strip in screen_lines(one) if not strip.text.isprintable()]


def commanding(one) -> list[object]:
    """What became an action by markup of a stranger."""
    styles = [segment.style for strip in screen_lines(one) for segment in strip if segment.style is not None]
    return [style.meta for style in styles if "app.quit" in str(style.meta) or "danger" in str(style.link)]


@pytest.mark.anyio
@pytest.mark.parametrize("screen", SCREENS, ids=lambda spec: spec.name)
async def test_no_screen_and_no_dialog_draws_a_command(unguarded, screen, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one = app_on(EVIL)
    async with one.run_test(size=SIZE) as pilot:
        await press(pilot, screen.key)
        for keys in ((), *DEEPER):
            await press(pilot, *keys)
            assert (keys, raw(one), commanding(one)) == (keys, [], [])
            await press(pilot, "escape", screen.key)


@pytest.mark.anyio
async def test_the_picker_the_palette_and_the_notes_draw_titles_as_text(unguarded):
    one = app_on(TITLE)
    async with one.run_test(size=SIZE) as pilot:
        await press(pilot, "s")
        assert "harmless" in text_of(one)
        assert raw(one) == []
        await press(pilot, "escape")
        one.notify("a \x1b[31m\x9b2J [bold]note[/bold]\nof two lines")
        assert one.notes[0].text == "a ·[31m·2J [bold]note[/bold]  of two lines"
        one.action_command_palette()
        await press(pilot, *"bold")
        await until(one, lambda: "[bold]x" in text_of(one))
        assert (raw(one), commanding(one)) == ([], [])


@pytest.mark.anyio
async def test_what_is_copied_presses_no_keys(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one = app_on(EVIL)
    async with one.run_test(size=SIZE):
        file_export.copy(one, "line \x1b[31m one\nmix \u202e\x9b\u200d\r end", {})
        assert one.clipboard == "line ·[31m one\nmix ··\u200d· end"


def test_the_last_look_keeps_the_width_of_a_line_and_leaves_out_what_commands():
    style = Style(bold=True)
    line = [Segment("a\x1b]52;c;eA==\x07b\u202e好", style), Segment("plain")]
    found = HarmlessLines().apply(line, Color(0, 0, 0))
    assert found == [Segment("a]52;c;eA==b好", style), Segment("plain")]
    assert sum(map(attrgetter("cell_length"), found)) == sum(map(attrgetter("cell_length"), line))


@pytest.mark.anyio
async def test_each_line_is_looked_at_once_more():
    one = app_on(TITLE)
    async with one.run_test(size=SIZE):
        assert isinstance(one.get_line_filters()[-1], HarmlessLines)


@pytest.mark.anyio
async def test_a_screenshot_holds_no_control_character():
    one = app_on(EVIL)
    async with one.run_test(size=SIZE):
        picture = one.export_screenshot()
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", picture) == []
