"""A trace whose lines can be read and contradict each other: what cannot be shown is said, and the app goes on."""

from typing import Any

import pytest

from tests.support.app.pilot import WIDE_SCREEN, app, press, settle, text_of
from trunkline.app.tui.state import open_run
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.timeline.timeline import Timeline

pytestmark = pytest.mark.anyio

#: what cannot be made -> the keys of the screens that say so, and the name that it has there
LATE = {
    "HandRuns": ("7", "hands"),
    "MessageRows": ("3", "messages"),
    "QueueRows": ("6", "queue"),
    "Sessions": ("4", "sessions"),
}


def broken(*_: Any, **__: Any) -> Any:
    """What a view does when its events make no sense to it; one of nothing can be made."""
    raise AssertionError("a run that never began has ended")


def breaks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    made = getattr(open_run, name)
    monkeypatch.setattr(
        open_run, name, lambda view, *more, **how: broken() if getattr(view, "last", 1) else made(view, *more, **how)
    )


@pytest.mark.parametrize("size", [(80, 24), WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", LATE)
async def test_a_screen_says_that_it_cannot_be_made(name, size, monkeypatch):
    breaks(monkeypatch, name)
    key, word = LATE[name]
    one = app()
    async with one.run_test(size=size) as pilot:
        await press(pilot, key)
        assert f"the {word} of this trace cannot be shown" in text_of(one)
        said = [note.message for note in one._notifications if f"the {word} of this trace" in note.message]
        assert len(said) == 1 and "AssertionError: a run that never began has ended at test_unmade.py:" in said[0]
        # Everything else can be looked at, and every key of the list does no harm.
        await press(pilot, "j", "enter", "l", "enter", "h", "e", "e", "n", "]", "0", "1", "2", "3", "4", "5", "6")
        await press(pilot, "7", "8", "9", "2", "\\", key, "$")
        assert f"the {word} of this trace cannot be shown" in text_of(one)
        assert sum(f"the {word} of this trace" in note.message for note in one._notifications) == 1


async def test_without_the_lives_of_messages_three_screens_say_so(monkeypatch):
    monkeypatch.setattr(open_run, "MessageHistories", lambda view: broken() if view.events else MessageHistories(view))
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        for key in ("3", "6", "7", "1", "4"):
            await press(pilot, key)
            one.clear_notifications()
            await settle(one)
            assert ("the messages of this trace cannot be shown" in text_of(one)) is (key in "367")
        await press(pilot, "2", "v", "]", "3", "enter")
        await settle(one)


async def test_internal_events_that_make_no_sense_stay_folded(monkeypatch):
    def timeline(view: Any, lanes: Any, *, unfolded: bool = False) -> Timeline:
        return broken() if unfolded else Timeline(view, lanes)

    monkeypatch.setattr(open_run, "Timeline", timeline)
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        one.workspace.show_internal = True
        one.sync()
        await settle(one)
        assert one.workspace.timeline.seqs == one.workspace.run.folded.seqs
        assert ["internal events" in note.message for note in one._notifications] == [True]
        await press(pilot, "j", "]")
