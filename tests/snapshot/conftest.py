"""Pictures that do not depend on how busy the machine is, nor on how late it is."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from textual.notifications import Notification
from textual.widgets import Input

from tests.support.app.pilot import settled


@pytest.fixture(scope="package", autouse=True)
def few_collections() -> Iterator[None]:
    """What the tests imported stays: to look at it again and again is a fifth of the time that pictures take."""
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()


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
