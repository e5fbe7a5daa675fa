"""Pictures of the screens at two sizes. `make snapshots` takes them anew; look at them before keeping them."""

from __future__ import annotations

import pytest

from tests.support.app.changes import changed_sessions
from tests.support.app.pilot import SIZES, app, press
from tests.support.app.traces import ENTRIES

BOTH = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


@BOTH
def test_timeline_at_the_violation(snap_compare, size):
    assert snap_compare(app(), terminal_size=size)


@BOTH
def test_timeline_rewound(snap_compare, size):
    assert snap_compare(app(), terminal_size=size, run_before=pressing("k", "k", "k", "k"))


@BOTH
def test_timeline_unfolded(snap_compare, size):
    assert snap_compare(app(), terminal_size=size, run_before=pressing("m"))


@BOTH
def test_timeline_with_the_chain_lit(snap_compare, size):
    assert snap_compare(app(), terminal_size=size, run_before=pressing("c"))


@BOTH
def test_timeline_of_retries_and_mirrors_at_the_end(snap_compare, size):
    assert snap_compare(app(ENTRIES[1]), terminal_size=size, run_before=pressing("$"))


@BOTH
def test_timeline_without_the_defect(snap_compare, size):
    assert snap_compare(app(), terminal_size=size, run_before=pressing("d"))


@BOTH
def test_explanation_zoomed(snap_compare, size):
    assert snap_compare(app(), terminal_size=size, run_before=pressing("e"))


@BOTH
def test_sessions(snap_compare, size):
    assert snap_compare(app(ENTRIES[1]), terminal_size=size, run_before=pressing("$", "4", "tab"))


@BOTH
def test_sessions_that_moved_were_left_and_began_anew(snap_compare, size):
    assert snap_compare(app(run=changed_sessions()), terminal_size=size, run_before=pressing("$", "4", "tab"))


@BOTH
def test_timeline_of_sends_and_changes_of_sessions(snap_compare, size):
    assert snap_compare(app(run=changed_sessions()), terminal_size=size, run_before=pressing("$"))


@BOTH
def test_explanation_of_a_route(snap_compare, size):
    keys = ("m", *["]"] * 15, "e")
    assert snap_compare(app(at_violation=False), terminal_size=size, run_before=pressing(*keys))


@BOTH
def test_picker(snap_compare, size):
    assert snap_compare(app(None), terminal_size=size)


@BOTH
def test_picker_filtered_with_a_scenario_that_cannot_run(snap_compare, size):
    keys = ("/", *"crash", "enter")
    assert snap_compare(app(None), terminal_size=size, run_before=pressing(*keys))


@BOTH
def test_help(snap_compare, size):
    assert snap_compare(app(), terminal_size=size, run_before=pressing("?"))


def test_wide_timeline(snap_compare):
    assert snap_compare(app(), terminal_size=(200, 60))


def test_too_small(snap_compare):
    assert snap_compare(app(), terminal_size=(50, 14))


def test_nothing_has_happened_yet(snap_compare):
    assert snap_compare(app(at_violation=False), terminal_size=(80, 24))


@pytest.mark.parametrize("theme", ["textual-light", "high-contrast", "colour-blind", "ansi-dark"])
def test_themes(snap_compare, theme):
    assert snap_compare(app(theme=theme), terminal_size=(80, 24))


def test_plain_ascii(snap_compare):
    assert snap_compare(app(ascii_only=True), terminal_size=(80, 24))


def test_no_colour(snap_compare, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(), terminal_size=(80, 24))
