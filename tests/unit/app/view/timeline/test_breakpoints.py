"""Breakpoints, seeking, timers: where playing stops, and where the cursor is sent."""

import pytest

from tests.support.app.listed_runs import ENTRIES, ListedRuns
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.timeline.filters import (
    Breakpoint,
    BreakpointKind,
    Breakpoints,
    BreakpointTargets,
    read_moment,
    read_speed,
)
from trunkline.app.view.timeline.status_line import PlaybackMode
from trunkline.core.errors import UsageError


def workspace(*, bugs: bool = True) -> Workspace:
    found = Workspace(ListedRuns())
    found.open(ENTRIES[0], seed=7, bugs=ENTRIES[0].bugs if bugs else ())
    return found


def play(one: Workspace) -> None:
    playback = one.run.playback
    playback.play()
    for _ in range(5000):
        one.tick(0.1)
        if not playback.playing:
            return
    raise AssertionError("it never stopped")


def test_it_stops_at_a_kind():
    one = workspace()
    one.search.breakpoints.toggle(Breakpoint(BreakpointKind.KIND, "turn.started"))
    play(one)
    playback = one.run.playback
    assert playback.mode is PlaybackMode.BREAKPOINT
    assert one.run.view.event(one.cursor).kind == "turn.started"
    play(one)
    assert one.cursor > 0
    assert playback.mode in (PlaybackMode.BREAKPOINT, PlaybackMode.AUTO_PAUSED)


def test_it_stops_at_a_lane_at_a_filter_and_at_an_invariant():
    one = workspace()
    field = one.search.field(one.run)
    lane = next(name for name in field.names if "deploy" in name)
    points = (
        Breakpoint(BreakpointKind.LANE, lane),
        Breakpoint(BreakpointKind.FILTER, "v:dup"),
        Breakpoint(BreakpointKind.INVARIANT, "D2"),
    )
    for point in points:
        hits = field.hits(point)
        assert hits, point
        one.search.breakpoints = Breakpoints()
        one.search.breakpoints.toggle(point)
        one.seek(0)
        play(one)
        assert one.cursor == min(hits)


def test_broken_invariants_stop_it_unless_switched_off():
    one = workspace()
    play(one)
    assert one.run.playback.mode is PlaybackMode.AUTO_PAUSED
    one.seek(0)
    one.search.breakpoints.on_broken = False
    play(one)
    assert one.run.playback.mode is PlaybackMode.ENDED
    one.seek(0)
    one.search.breakpoints.on_broken = True
    play(one)
    assert one.run.playback.mode is PlaybackMode.AUTO_PAUSED


def test_they_stay_when_another_run_is_opened():
    one = workspace()
    one.search.breakpoints.toggle(Breakpoint(BreakpointKind.KIND, "turn.started"))
    one.rerun(bugs=())
    play(one)
    assert one.run.playback.mode is PlaybackMode.BREAKPOINT


def test_setting_twice_removes():
    points, point = Breakpoints(), Breakpoint(BreakpointKind.KIND, "turn.ended")
    assert points.toggle(point)
    assert not points.toggle(point)
    assert points.set == ()
    assert str(point) == "kind turn.ended"


def test_a_filter_that_is_none_is_refused():
    points = Breakpoints()
    with pytest.raises(UsageError):
        points.toggle(Breakpoint(BreakpointKind.FILTER, "v:purple"))
    assert points.set == ()


def test_what_is_offered_is_of_the_event_under_the_cursor():
    one = workspace()
    field: BreakpointTargets = one.search.field(one.run)
    stop = one.run.view.marks.stops[0]
    row = one.timeline.rows[one.timeline.row_at(stop)]
    offers = list(field.offers(stop, row, "ship"))
    assert offers[0] == Breakpoint(BreakpointKind.FILTER, "ship")
    assert {offer.on for offer in offers} == set(BreakpointKind)
    assert list(field.offers(0, None, "")) == []


# ---------------------------------------------------------------- moments


def test_a_time_is_the_last_event_up_to_it():
    view = workspace().run.view
    for event in view.events:
        seq = read_moment(view, f"t {event.at:.6f}")
        assert view.time(seq) == event.at
        assert seq == view.last or view.time(seq + 1) > event.at
    assert read_moment(view, "0.0") == read_moment(view, "t0")


def test_a_number_is_an_event():
    view = workspace().run.view
    assert read_moment(view, "#14") == 14
    assert read_moment(view, " # 0") == 0


@pytest.mark.parametrize("text", ["#99999", "t 99999", "soon", "", "t -1"])
def test_what_is_no_moment_is_reported(text):
    with pytest.raises(UsageError):
        read_moment(workspace().run.view, text)


def test_speeds():
    assert [read_speed(text) for text in ("x8", "speed 0.5", "×64", "x0", "8")] == [8.0, 0.5, 64.0, None, None]


def test_the_next_timer_is_half_a_second_away_or_more():
    one = workspace()
    seen = []
    while one.next_timer():
        seen.append(one.cursor)
    view = one.run.view
    assert seen == sorted(set(seen))
    before = 0
    for seq in seen:
        assert view.time(seq) - view.time(before) >= 0.5 - 1e-6
        assert all(view.time(other) - view.time(before) < 0.5 for other in range(before, seq))
        before = seq


def test_following_ends_with_the_first_move():
    one = workspace()
    one.follow()
    assert (one.cursor, one.run.playback.mode) == (one.run.view.last, PlaybackMode.FOLLOWING)
    one.step(-1)
    assert one.run.playback.mode is PlaybackMode.REWOUND


# ---------------------------------------------------------------- the filter of the workspace


def test_moving_goes_from_match_to_match_and_round():
    one = workspace()
    one.search.set_filter("v:dup")
    first, second = one.timeline.seqs
    one.seek(0)
    stops = []
    for _ in range(3):
        assert one.next_match(1)
        stops.append(one.cursor)
    assert stops == [first, second, first]
    assert one.next_match(-1)
    assert one.cursor == second
    one.search.set_filter("nobodysaysthis")
    assert not one.next_match(1)
    one.search.set_filter("")
    assert one.timeline is one.all_rows
