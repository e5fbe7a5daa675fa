"""What a picture costs the one after it: lines that stay are the same strips, and nothing is left to be collected."""

import gc

import pytest
from textual.geometry import Region
from textual.strip import Strip

from tests.support.app.pilot import app, press, settle
from trunkline.app.gc_policy import APP_THRESHOLDS
from trunkline.app.tui.widgets.row_list import RowList

pytestmark = pytest.mark.anyio


def lines(pane: RowList) -> list[Strip]:
    return pane.render_lines(Region(0, 0, *pane.outer_size))


async def test_a_line_that_stays_is_the_very_same_strip():
    one = app()
    async with one.run_test(size=(200, 60)) as pilot:
        await settle(one)
        for pane in one.screen.query(RowList):
            before = lines(pane)
            pane.refresh()
            assert all(new is old for old, new in zip(before, lines(pane), strict=True)), pane
        pane = one.screen.query_one("#lane", RowList)
        before = lines(pane)
        await press(pilot, "up")
        same = sum(new is old for old, new in zip(before, lines(pane), strict=True))
        assert len(before) // 2 < same < len(before)


async def test_another_frame_and_another_title_are_drawn():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        pane = one.screen.query_one("#lane", RowList)
        before = lines(pane)
        await press(pilot, "tab")
        after = lines(pane)
        assert [strip.text for strip in after] == [strip.text for strip in before]
        assert all(new != old for old, new in zip(before, after, strict=True))
        pane.set_titles("Another")
        assert "Another" in lines(pane)[0].text


async def test_pictures_leave_next_to_nothing_to_the_collector():
    one = app()
    async with one.run_test(size=(200, 60)) as pilot:
        await press(pilot, "up", "down")
        gc.collect()
        gc.disable()
        try:
            for _ in range(10):
                await press(pilot, "up", "pageup", "pagedown")
            left = gc.collect()
        finally:
            gc.enable()
    # Ten rounds draw some thousand lines; each of them used to leave fifty objects.
    assert left < 5000


async def test_the_collector_is_as_before_when_the_app_is_left():
    before = gc.get_threshold()
    one = app()
    async with one.run_test(size=(80, 24)):
        assert gc.get_threshold() == APP_THRESHOLDS != before
    assert gc.get_threshold() == before
