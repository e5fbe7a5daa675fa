"""`y` copies, `x` writes: the menus, what is taken, where it lands, and what is said when it cannot."""

import os
from pathlib import Path

import pytest

from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import WIDE_SCREEN, app, press, settle, text_of
from tests.support.app.traces import DEFECT
from trunkline.app.tui.platform import file_export as export
from trunkline.app.tui.screens.dialogs.search_dialogs import MenuDialog
from trunkline.app.tui.screens.sessions.screen import SessionList
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.view.explain.explanation import event_line, explain
from trunkline.core.events import encode_trace, read_trace

COMMAND = f"trunkline run scenarios/tour/bound-completion-twice.yaml --seed 7 --bug {DEFECT}"
ALL_SIZES = ((80, 24), (120, 40), WIDE_SCREEN)
SIZES = pytest.mark.parametrize("size", ALL_SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


@pytest.fixture(autouse=True)
def _a_terminal_that_takes_copies(monkeypatch, tmp_path):
    for name in ("TMUX", "STY", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-kitty")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def here(monkeypatch, tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def toasts(one):
    return [note.message for note in one._notifications]


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


@SIZES
def test_picture_of_the_copy_menu(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("y"))


def test_picture_of_the_copy_menu_before_anything_happened(screen_compare):
    assert screen_compare(app(at_violation=False), terminal_size=(80, 24), run_before=pressing("y", "down"))


def test_picture_of_the_write_menu(screen_compare, monkeypatch):
    monkeypatch.setattr(Path, "cwd", lambda: Path("/srv/reports"))
    assert screen_compare(app(), terminal_size=(80, 24), run_before=pressing("x"))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("keys", "expected"),
    {
        "row": (("r",), lambda one: event_line(one.workspace.run.view, 57)),
        "row by Enter": (("enter",), lambda one: event_line(one.workspace.run.view, 57)),
        "decision": (("d",), lambda one: explain(one.workspace.run.view, 57).title),
        "id": (("i",), lambda one: one.workspace.run.view.event(57).intent),
        "command": (("c",), lambda _: COMMAND),
        "command from the end": (("end", "enter"), lambda _: COMMAND),
    }.values(),
)
async def test_what_is_copied(keys, expected):
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "y", *keys)
        assert isinstance(one.screen, TimelineScreen)
        assert one.clipboard.startswith(expected(one))
        assert toasts(one) and "copied: on the clipboard" in toasts(one)[0]


@pytest.mark.anyio
async def test_the_decision_has_every_line_of_the_why_pane():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "y", "d")
        for fact in explain(one.workspace.run.view, 57).lines:
            assert fact.text in one.clipboard and fact.mark in one.clipboard


@pytest.mark.anyio
async def test_the_row_of_another_pane_is_whole():
    one = app(ENTRIES[1])
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "4")
        chosen = one.screen.query_one(SessionList).rows[one.screen.query_one(SessionList).selected]
        await press(pilot, "y", "r")
        assert chosen.place in one.clipboard and "…" not in one.clipboard


@pytest.mark.anyio
async def test_closing_the_menu_copies_nothing():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        for key in ("escape", "q"):
            await press(pilot, "y")
            assert isinstance(one.screen, MenuDialog)
            await press(pilot, key)
            assert isinstance(one.screen, TimelineScreen)
        assert (one.clipboard, toasts(one)) == ("", [])


@pytest.mark.anyio
async def test_a_click_takes_a_line():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "y")
        await pilot.click("#choices", offset=(5, 1))
        await settle(one)
        assert one.clipboard.startswith("Why #57")


@pytest.mark.anyio
async def test_without_a_run_there_is_nothing_to_take():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        one.pop_screen()
        await settle(one)
        await press(pilot, "y", "x")
        assert toasts(one) == ["no run is open: s chooses a scenario"] * 2


@pytest.mark.anyio
async def test_where_the_terminal_may_not_copy_a_file_has_it(monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm-256color")
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "y", "c")
        (path,) = tmp_path.glob("trunkline-*.txt")
        assert path.read_text() == f"{COMMAND}\n" and path.stat().st_mode & 0o077 == 0
        assert str(path) in toasts(one)[0]


@pytest.mark.anyio
async def test_a_file_that_cannot_be_written_is_reported_with_path_and_errno(monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "y", "c")
        assert str(tmp_path / "gone") in toasts(one)[0] and "ENOENT" in toasts(one)[0]
        assert one.clipboard == COMMAND


@pytest.mark.parametrize(
    ("environment", "takes"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm-256color", "WT_SESSION": "x"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "linux"}, False),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({}, False),
    ],
)
def test_which_terminals_take_copies(environment, takes):
    assert export.takes_copies(environment) is takes


@pytest.mark.anyio
async def test_everything_is_written_and_nothing_overwritten(here):
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        seen = text_of(one)
        await press(pilot, "x", "a", "x", "a")
        run = one.workspace.run.view.run
    stem = "bound-completion-twice-seed7-at57"
    names = {f"{stem}{number}{end}" for number in ("", "-2") for end in (".svg", ".txt", ".jsonl")}
    assert {path.name for path in here.iterdir()} == names
    assert (here / f"{stem}.txt").read_text().rstrip() == seen.rstrip()
    assert (here / f"{stem}.jsonl").read_bytes() == encode_trace(run.trace)
    assert read_trace(here / f"{stem}.jsonl", whole=False).events == run.trace.events
    picture = (here / f"{stem}.svg").read_text()
    # Looking at it fetches nothing.
    assert picture.startswith("<svg") and "@font-face" not in picture and "url(http" not in picture


@pytest.mark.anyio
@pytest.mark.parametrize(("key", "end"), [("s", ".svg"), ("t", ".txt"), ("j", ".jsonl")])
async def test_one_of_them(here, key, end):
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "x", key)
        (path,) = here.iterdir()
        assert path.suffix == end and f"written: {path}" in toasts(one)


@pytest.mark.anyio
async def test_a_folder_that_is_gone_is_reported(here):
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "x")
        here.rmdir()
        await press(pilot, "t")
        (told,) = toasts(one)
        assert told.startswith("not written: ") and str(here) in told and "No such file" in told and "ENOENT" in told


@pytest.mark.anyio
async def test_a_working_folder_that_was_removed_is_a_toast(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "x", "t")
        assert [told.startswith("not written: ") and "ENOENT" in told for told in toasts(one)] == [True]


def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, _content):
            raise OSError(28, "No space left on device")

    def opening(path, _mode):
        path.write_bytes(b"half")
        return Full()

    monkeypatch.setattr(Path, "open", opening)
    monkeypatch.setattr(Path, "write_bytes", lambda path, content: os.close(os.open(path, os.O_CREAT | os.O_EXCL)))
    with pytest.raises(OSError) as failed:
        export.write_new(tmp_path, "run", ".txt", b"content")
    assert export.failure(failed.value) == f"{tmp_path / 'run.txt'}: No space left on device (ENOSPC)"
    assert list(tmp_path.iterdir()) == []


def test_names_of_scenarios_cannot_lead_elsewhere():
    one = app()
    header = one.workspace.run.view.run.trace.header
    assert "/" not in export.stem_of(one.workspace.run.view.run, 3)
    assert header.scenario in export.stem_of(one.workspace.run.view.run, 3)
