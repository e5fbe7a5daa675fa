"""Pictures of the screens at two sizes. `make snapshots` takes them again; look at them before keeping them."""

import pytest

from tests.support.app.changes import changed_sessions
from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import SIZES, app, press

BOTH = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


@BOTH
def test_timeline_at_the_violation(screen_compare, size):
    assert screen_compare(app(), terminal_size=size)


@BOTH
def test_timeline_rewound(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("k", "k", "k", "k"))


@BOTH
def test_timeline_unfolded(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("m"))


@BOTH
def test_timeline_with_the_chain_lit(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("c"))


@BOTH
def test_timeline_of_retries_and_mirrors_at_the_end(screen_compare, size):
    assert screen_compare(app(ENTRIES[1]), terminal_size=size, run_before=pressing("$"))


@BOTH
def test_timeline_without_the_defect(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("d"))


@BOTH
def test_explanation_zoomed(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("e"))


@BOTH
def test_sessions(screen_compare, size):
    assert screen_compare(app(ENTRIES[1]), terminal_size=size, run_before=pressing("$", "4", "tab"))


@BOTH
def test_sessions_that_moved_were_left_and_were_reset(screen_compare, size):
    assert screen_compare(app(run=changed_sessions()), terminal_size=size, run_before=pressing("$", "4", "tab"))


@BOTH
def test_timeline_of_sends_and_changes_of_sessions(screen_compare, size):
    assert screen_compare(app(run=changed_sessions()), terminal_size=size, run_before=pressing("$"))


@BOTH
def test_explanation_of_a_route(screen_compare, size):
    keys = ("m", *["]"] * 15, "e")
    assert screen_compare(app(at_violation=False), terminal_size=size, run_before=pressing(*keys))


@BOTH
def test_picker(screen_compare, size):
    assert screen_compare(app(None), terminal_size=size)


@BOTH
def test_picker_filtered_with_a_scenario_that_cannot_run(screen_compare, size):
    keys = ("/", *"crash", "enter")
    assert screen_compare(app(None), terminal_size=size, run_before=pressing(*keys))


@BOTH
def test_help(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("?"))


def test_wide_timeline(screen_compare):
    assert screen_compare(app(), terminal_size=(200, 60))


def test_too_small(screen_compare):
    assert screen_compare(app(), terminal_size=(50, 14))


def test_nothing_has_happened_yet(screen_compare):
    assert screen_compare(app(at_violation=False), terminal_size=(80, 24))


@pytest.mark.parametrize("theme", ["textual-light", "high-contrast", "colour-blind", "ansi-dark"])
def test_themes(screen_compare, theme):
    assert screen_compare(app(theme=theme), terminal_size=(80, 24), picture=True)


def test_plain_ascii(screen_compare):
    assert screen_compare(app(ascii_only=True), terminal_size=(80, 24))


def test_no_colour(screen_compare, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen_compare(app(), terminal_size=(80, 24), picture=True)
