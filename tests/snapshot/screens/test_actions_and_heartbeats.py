"""Runs with changes, with the cross-context policy and with heartbeats, on the screens that show them."""

from functools import lru_cache

import msgspec
import pytest

from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press
from tests.support.sources import ROOT
from trunkline.app.runs.model import Run
from trunkline.app.tui.app import TrunklineApp
from trunkline.core.events import Body
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.events.heartbeat import HeartbeatStarted
from trunkline.sim import load_scenario, run_scenario

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")
CHANGES = "scenarios/faults/changes-over-a-crash.yaml"
LATE_EDIT = "scenarios/faults/edit-repeated-late.yaml"
BEATS = "scenarios/seeds/003-passive-delivery.yaml"
DENIED = "scenarios/faults/denial-holds.yaml"


@lru_cache(maxsize=8)
def played(path: str, *bugs: str) -> Run:
    result = run_scenario(load_scenario(ROOT / path), bugs=bugs)
    # Without the folder of this clone, which the pictures would show.
    header = msgspec.structs.replace(result.trace.header, path=path)
    return Run(trace=msgspec.structs.replace(result.trace, header=header), verdicts=result.verdicts)


def back_to(path: str, kind: type[Body]) -> list[str]:
    """The keys that move the cursor from the end to the first event of a kind."""
    events = played(path).trace.events
    first = next(event.seq for event in events if isinstance(event.body, kind))
    return ["$", "2", *["["] * (len(events) - first), "e"]


def show(path: str, *bugs: str) -> TrunklineApp:
    return app(run=played(path, *bugs), at_violation=False)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


@ALL
def test_changes_on_the_timeline(screen_compare, size):
    assert screen_compare(show(CHANGES), terminal_size=size, run_before=pressing("$", "2"))


@ALL
def test_edits_in_a_session(screen_compare, size):
    assert screen_compare(show(LATE_EDIT), terminal_size=size, run_before=pressing("$", "4"), picture=False)


@ALL
def test_a_late_edit_is_violated(screen_compare, size):
    one = show(LATE_EDIT, "change-repeated-at-once")
    assert screen_compare(one, terminal_size=size, run_before=pressing("$", "1"), picture=False)


@ALL
def test_heartbeats_in_the_overview(screen_compare, size):
    assert screen_compare(show(BEATS), terminal_size=size, run_before=pressing("$", "1"))


@ALL
def test_heartbeats_on_the_timeline(screen_compare, size):
    assert screen_compare(show(BEATS), terminal_size=size, run_before=pressing("$", "2"), picture=False)


def test_why_a_heartbeat_ran(screen_compare):
    keys = back_to(BEATS, HeartbeatStarted)
    assert screen_compare(show(BEATS), terminal_size=(120, 40), run_before=pressing(*keys))


def test_why_a_send_was_denied(screen_compare):
    keys = back_to(DENIED, PolicyDecided)
    assert screen_compare(show(DENIED), terminal_size=(120, 40), run_before=pressing(*keys))
