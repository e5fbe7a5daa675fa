"""The app under test: no timer, a theme that is set, and waiting that does not ask how busy the machine is."""

from __future__ import annotations

import asyncio
from typing import Any

from app.runs import Run, ScenarioEntry
from app.tui.app import TrunklineApp
from app.tui.desk import Desk
from tests.snapshot._traces import ENTRIES, ListedRuns

SIZES = ((80, 24), (120, 40))


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
    desk = Desk(ListedRuns(), seed=7, run=run)
    if entry is not None and run is None:
        desk.open(entry, seed=7, bugs=entry.bugs if bugs else (), at_violation=at_violation)
    return TrunklineApp(desk, theme=theme, ascii_only=ascii_only, clocked=False)


async def settle(one: TrunklineApp) -> None:
    """Wait until everything that was asked for is drawn."""
    for _ in range(3):
        await asyncio.sleep(0)
        done = asyncio.Event()
        one.screen.call_after_refresh(done.set)
        await asyncio.wait_for(done.wait(), 10)


async def press(pilot: Any, *keys: str) -> None:
    """Press keys, one after another, each seen through to the picture."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot.app)


def text_of(one: TrunklineApp) -> str:
    """The picture as plain lines."""
    strips = one.screen._compositor.render_strips(one.size)  # pyright: ignore[reportPrivateUsage]
    return "\n".join(strip.text.rstrip() for strip in strips)
