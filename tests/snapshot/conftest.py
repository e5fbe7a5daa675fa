"""Screens compared with what they looked like: a picture where colours matter, else their exact text.

Neither depends on how busy the machine is, nor on the time of day. `make snapshots` takes all of them again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.notifications import Notification
from textual.widgets import Input

from tests.support.app.pilot import settle, settled, text_of
from trunkline.app.tui.app import TrunklineApp

PICTURE_SIZE = (120, 40)


class ScreenText(SingleFileSnapshotExtension):
    """One text file per screen, as it stands in a terminal."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


@pytest.fixture
def screen_compare(snap_compare: Callable[..., bool], snapshot: SnapshotAssertion) -> Callable[..., bool]:
    """Compare a screen with its snapshot: a picture at 120x40 or on request, else text."""

    def compare(
        app: TrunklineApp,
        terminal_size: tuple[int, int] = (80, 24),
        run_before: Callable[[Any], Awaitable[None]] | None = None,
        picture: bool | None = None,
    ) -> bool:
        if picture is None:
            picture = terminal_size == PICTURE_SIZE and not app.ascii_only
        if picture:
            return snap_compare(app, terminal_size=terminal_size, run_before=run_before)

        async def shown() -> str:
            async with app.run_test(size=terminal_size) as pilot:
                if run_before is not None:
                    await run_before(pilot)
                await settle(app)
                return text_of(app) + "\n"

        text = asyncio.run(shown())
        assert text == snapshot.use_extension(ScreenText)
        return True

    return compare


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's pilot waits until the process uses little processor time; here, until everything is drawn.

    Nothing moves by itself: no animation, no blinking, and what is told in a corner stays.
    """
    for module in ("textual.app", "textual.pilot"):
        monkeypatch.setattr(f"{module}.wait_for_idle", settled)
    # Whoever waits for a picture waits for the next frame: sixty a second are few where nobody looks.
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", 1 / 500)
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(Input, "cursor_blink", False)
    monkeypatch.setattr(Notification, "time_left", 60.0)
    monkeypatch.setattr(Notification, "has_expired", False)
