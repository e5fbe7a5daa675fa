"""The clock of the screens: playing, stopping, seeking."""

from tests.support.app.listed_runs import ENTRIES, ListedRuns
from tests.support.app.traces import bound_completion
from trunkline.app.tui.state.open_run import LONGEST, Playback
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.timeline.status_line import PlaybackMode
from trunkline.app.view.timeline.timeline import Timeline


def playback(*, bug: bool = True) -> Playback:
    view = RunView(bound_completion(bug=bug))
    return Playback(view, frozenset(Timeline(view, TimelineLanes(view)).seqs))


def play(clock: Playback, seconds: float = 60.0, tick: float = 0.03) -> float:
    """Let wall time pass until it stops by itself; returns how long that took."""
    passed = 0.0
    while clock.playing and passed < seconds:
        clock.tick(tick)
        passed += tick
    return passed


def test_playing_stops_at_the_violation():
    clock = playback()
    clock.play()
    assert clock.mode is PlaybackMode.PLAYING
    play(clock)
    assert clock.mode is PlaybackMode.AUTO_PAUSED
    assert clock.cursor == clock.view.marks.stops[0]


def test_playing_goes_on_after_it_and_ends():
    clock = playback()
    clock.play()
    play(clock)
    clock.play()
    play(clock)
    assert (clock.cursor, clock.mode) == (clock.view.last, PlaybackMode.ENDED)


def test_playing_from_the_end_starts_again():
    clock = playback(bug=False)
    clock.seek(clock.view.last)
    clock.play()
    assert clock.cursor == 0


def test_no_wait_is_long_and_no_row_flashes_by():
    clock = playback(bug=False)
    rows = sum(seq in clock.visible for seq in range(1, clock.view.last + 1))
    clock.play()
    passed = play(clock)
    assert rows * 0.2 < passed < rows * LONGEST


def test_speed_divides_the_time():
    slow, fast = playback(bug=False), playback(bug=False)
    fast.faster(1)
    assert fast.speed == 2
    slow.play()
    fast.play()
    assert abs(play(slow) - 2 * play(fast)) < 0.2


def test_speed_has_ends():
    clock = playback()
    clock.faster(99)
    clock.faster(1)
    assert clock.speed == 4096
    clock.faster(-99)
    assert clock.speed == 0.25


def test_looking_back_is_rewound():
    clock = playback()
    clock.seek(40)
    clock.seek(12)
    assert (clock.mode, clock.head) == (PlaybackMode.REWOUND, 40)


def test_seeking_stays_inside():
    clock = playback()
    clock.seek(-3)
    assert clock.cursor == 0
    clock.seek(10_000)
    assert clock.cursor == clock.view.last


def test_a_paused_clock_does_not_move():
    clock = playback()
    assert not clock.tick(10)
    assert clock.cursor == 0


def workspace() -> Workspace:
    found = Workspace(ListedRuns())
    found.open(ENTRIES[0], seed=7, bugs=ENTRIES[0].bugs, at_violation=True)
    return found


def test_the_twin_goes_round():
    one = workspace()
    second = one.cursor
    assert one.twin()
    assert one.cursor < second
    assert one.twin()
    assert one.cursor == second


def test_the_switch_runs_with_and_without_the_defect():
    one = workspace()
    one.rerun(bugs=one.other_bugs())
    assert one.run.view.marks.stops == []
    assert not one.next_violation(1)
    one.rerun(bugs=one.other_bugs())
    assert len(one.run.view.marks.stops) == 1


def test_violations_go_round():
    one = workspace()
    one.open(ENTRIES[1], seed=3, bugs=())
    stops = one.run.view.marks.stops
    seen = []
    for _ in range(3):
        one.next_violation(1)
        seen.append(one.cursor)
    assert seen == [stops[0], stops[1], stops[0]]
    one.next_violation(-1)
    assert one.cursor == stops[1]


def test_the_chain_lights_what_belongs_together():
    one = workspace()
    one.toggle_chain()
    lit = [row.text for row in one.timeline.rows if one.lit(row.seq)]
    assert "“ship it”" in lit
    assert "“any mail?”" not in lit
    one.toggle_chain()
    assert all(one.lit(row.seq) for row in one.timeline.rows)
