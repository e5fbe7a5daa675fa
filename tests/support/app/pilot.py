"""The app under test: no timer, a theme that is set, and waiting that does not ask how busy the machine is."""

import asyncio
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from textual._context import active_app
from textual.app import App
from textual.events import Key
from textual.keys import _character_to_key  # pyright: ignore[reportPrivateUsage]
from textual.pilot import Pilot

from tests.support.app.listed_runs import ENTRIES, ListedRuns
from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.platform.textual_private import screen_lines
from trunkline.app.tui.state.open_run import Playback
from trunkline.app.tui.state.workspace import Workspace

SIZES = ((80, 24), (120, 40))
#: for `parametrize("size", ...)`: left to `pytest --all`
WIDE_SCREEN = pytest.param((200, 60), marks=pytest.mark.slow, id="200x60")
ROUNDS = 3
PATIENCE = 30
MOST_FRAMES = 10_000


def app(
    entry: ScenarioEntry | None = ENTRIES[0],
    *,
    bugs: bool = True,
    at_violation: bool = True,
    theme: str = "textual-dark",
    ascii_only: bool = False,
    run: Run | None = None,
) -> TrunklineApp:
    """The app on a hand-made run, or on the picker."""
    workspace = Workspace(ListedRuns(), seed=7, run=run)
    if entry is not None and run is None:
        workspace.open(entry, seed=7, bugs=entry.bugs if bugs else (), at_violation=at_violation)
    return TrunklineApp(workspace, theme=theme, ascii_only=ascii_only, clocked=False)


async def settle(one: App[Any]) -> None:
    """Wait until everything that was asked for is drawn: what is under way may ask for more, so three times."""
    pilot = Pilot(one)
    for _ in range(ROUNDS):
        # With a delay of its own it does not ask how busy the process is; it draws what waits for the next frame.
        await pilot.pause(0)
        async with asyncio.timeout(PATIENCE):
            await _drawn(one)


async def until(one: App[Any], seen: Callable[[], bool]) -> None:
    """Wait until something is so that comes in its own time, such as what the palette finds; not for ever."""
    async with asyncio.timeout(PATIENCE):
        while not seen():
            await settle(one)


def play_out(playback: Playback) -> None:
    """Let time pass until nothing plays any more."""
    for _ in range(MOST_FRAMES):
        if not playback.playing:
            return
        playback.tick(0.1)
    raise AssertionError(f"it still plays after {MOST_FRAMES} frames")


async def _drawn(one: App[Any]) -> None:
    """Wait for the screen to be drawn. One that is gone tells nothing: another one took its place, or the app ended."""
    screen, done = one.screen, asyncio.Event()
    screen.call_after_refresh(done.set)
    # Of a new size the app tells its screens a little later, by a timer: there may be more of them.
    while one._resize_timer is not None or not (done.is_set() or one._exit or screen is not one.screen):  # noqa: ASYNC110
        await asyncio.sleep(0.0005)


async def settled(_least: float = 0, _most: float = 1) -> None:
    """`settle` of the app that runs, in place of Textual's waiting for an idle process."""
    await settle(active_app.get())


async def press(pilot: Any, *keys: str) -> None:
    """Press keys, one after another, each seen through to the picture."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
        pilot.app.post_message(Key(name, _character_of(key)))
        await settle(pilot.app)


def _character_of(key: str) -> str | None:
    """What a key types: of one that is named, the character with this name."""
    if len(key) == 1:
        return key
    try:
        return unicodedata.lookup(key.replace("_", " "))
    except KeyError:
        return None


def text_of(one: TrunklineApp) -> str:
    """The picture as plain lines."""
    return "\n".join(strip.text.rstrip() for strip in screen_lines(one))
