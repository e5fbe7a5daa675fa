"""A run that goes on: followed, rewound, paused, broken; every screen of it; and what cannot be done with it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.app.listed_runs import ENTRIES, ListedRuns
from tests.support.app.pilot import press, settle, text_of
from tests.support.app.traces import bound_completion
from tests.support.app.wire_runs import KILLED, RESENT, wire_run
from trunkline.app.runs.live_run import Budget, Feed, LiveRun
from trunkline.app.runs.model import Run
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.messages.screen import MessageList
from trunkline.app.tui.state.workspace import LiveSession, Workspace
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.timeline.status_line import PlaybackMode
from trunkline.core.events import Event, Trace, encode_event
from trunkline.core.events.trace import encode_header
from trunkline.sim import judge

pytestmark = pytest.mark.anyio

TRACE = bound_completion(bug=True, seed=7).trace
HEADER = encode_header(TRACE.header) + b"\n"
LINES = [encode_event(event) + b"\n" for event in TRACE.events]
SIZES = ((80, 24), (120, 40), (200, 60))
ALL = pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40", "200x60"])
SCREENS = ("1", "2", "3", "4", "5", "6", "7", "8", "9")


class Growing:
    """A trace in a file that a test writes, and the app over it, whose clock the test moves."""

    def __init__(self, folder: Path, trace: Trace = TRACE) -> None:
        self._header = encode_header(trace.header) + b"\n"
        self._lines = [encode_event(event) + b"\n" for event in trace.events]
        # Short and the same everywhere: it is in the pictures.
        folder.joinpath("run.jsonl").touch()
        self.path = folder / "run.jsonl"
        self.feed = Feed(self.path)
        self.feed.name = "run.jsonl"
        self.app = TrunklineApp(Workspace(ListedRuns(), live=LiveRun(self.feed)), theme="textual-dark", clocked=False)
        # A busy machine must not change a picture: a frame has all the time that it needs.
        self.live.budget, self.live.settling = Budget(2000, 60.0), 60.0
        self.done = 0

    def write(self, *parts: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(parts))

    def tell(self, until: int) -> None:
        """Write the events up to one of them, and let a frame pass."""
        self.write(*([] if self.done else [self._header]), *self._lines[self.done : until])
        self.done = until
        self.frame()

    def frame(self) -> None:
        self.app.workspace.tick(1 / 30)
        self.app.sync()

    @property
    def live(self) -> LiveSession:
        assert self.app.workspace.live is not None
        return self.app.workspace.live

    @property
    def mode(self) -> PlaybackMode:
        return self.app.workspace.run.playback.mode


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path)


BROKEN = min(broken.at for verdict in judge(TRACE.events) for broken in verdict.violations)


def titles(picture: str) -> list[str]:
    """The status line, and the titles of the panes."""
    lines = picture.splitlines()
    return [lines[0], *(line for line in lines if "╭" in line and "Why" not in line)]


# ---------------------------------------------------------------- pictures


@ALL
def test_it_waits(screen_compare: Any, growing: Growing, size: tuple[int, int]):
    async def before(pilot: Any) -> None:
        growing.frame()
        await settle(pilot.app)

    assert screen_compare(growing.app, terminal_size=size, run_before=before, picture=False)


@ALL
def test_followed(screen_compare: Any, growing: Growing, size: tuple[int, int]):
    async def before(pilot: Any) -> None:
        growing.tell(BROKEN - 1)
        await settle(pilot.app)

    assert screen_compare(growing.app, terminal_size=size, run_before=before)


@ALL
def test_rewound_while_it_grows(screen_compare: Any, growing: Growing, size: tuple[int, int]):
    async def before(pilot: Any) -> None:
        growing.tell(BROKEN - 8)
        await press(pilot, "[", "[")
        growing.tell(BROKEN - 1)
        await settle(pilot.app)

    assert screen_compare(growing.app, terminal_size=size, run_before=before)


@ALL
def test_broken_feed(screen_compare: Any, growing: Growing, size: tuple[int, int]):
    async def before(pilot: Any) -> None:
        growing.tell(BROKEN - 1)
        growing.write(b'{"seq":')
        growing.write(b"what\n")
        growing.frame()
        await settle(pilot.app)

    assert screen_compare(growing.app, terminal_size=size, run_before=before)


# ---------------------------------------------------------------- behaviour


async def test_it_follows_the_end_and_stops_at_the_first_violation(growing: Growing):
    one = growing.app
    async with one.run_test(size=(80, 24)) as pilot:
        assert growing.mode is PlaybackMode.WAITING
        growing.tell(10)
        assert (growing.mode, one.workspace.cursor) == (PlaybackMode.LIVE, 10)
        growing.tell(20)
        assert (growing.mode, one.workspace.cursor) == (PlaybackMode.LIVE, 20)
        growing.tell(len(LINES) - 1)
        assert (growing.mode, one.workspace.cursor) == (PlaybackMode.AUTO_PAUSED, BROKEN)
        await settle(one)
        ahead = len(LINES) - 1 - BROKEN
        assert f"AUTO-PAUSED −{ahead}" in text_of(one)
        await press(pilot, "F")
        assert (growing.mode, one.workspace.cursor) == (PlaybackMode.LIVE, len(LINES) - 1)
        growing.tell(len(LINES))
        # What only the end can break is broken there.
        assert (growing.mode, one.workspace.cursor, one.workspace.ticking) == (
            PlaybackMode.AUTO_PAUSED,
            len(LINES),
            False,
        )
        await press(pilot, "F")
        assert growing.mode is PlaybackMode.FOLLOWING
        # From here on it is a run like any other.
        await press(pilot, "0", "space")
        assert growing.mode is PlaybackMode.PLAYING


async def test_rewound_the_cursor_stays_and_what_lies_ahead_is_counted(growing: Growing):
    one = growing.app
    async with one.run_test(size=(80, 24)) as pilot:
        growing.tell(10)
        await press(pilot, "[", "[", "[")
        growing.tell(20)
        await settle(one)
        assert (growing.mode, one.workspace.cursor) == (PlaybackMode.REWOUND, 7)
        assert "REWOUND −13" in text_of(one)
        await press(pilot, "F")
        assert (growing.mode, one.workspace.cursor) == (PlaybackMode.LIVE, 20)


async def test_paused_it_reads_nothing_and_no_timer_runs(growing: Growing, monkeypatch: pytest.MonkeyPatch):
    one = growing.app
    one._clocked = True
    async with one.run_test(size=(80, 24)) as pilot:
        assert one._timer is not None
        assert one._timer._active.is_set()
        growing.tell(10)
        await press(pilot, "space")
        assert not one._timer._active.is_set()
        assert growing.mode is PlaybackMode.PAUSED
        growing.write(*LINES[10:20])
        monkeypatch.setattr(Feed, "pull", lambda *_: pytest.fail("read while paused"))
        await pilot.pause(0.2)
        assert one.workspace.tick(1.0) is False
        assert one.workspace.run.view.last == 10
        assert "Pause" not in text_of(one).splitlines()[-1]
        monkeypatch.undo()
        await press(pilot, "space")
        assert one._timer._active.is_set()
        growing.frame()
        assert (growing.mode, one.workspace.run.view.last, one.workspace.cursor) == (PlaybackMode.LIVE, 20, 20)


async def test_following_reads_on(growing: Growing):
    async with growing.app.run_test(size=(80, 24)) as pilot:
        growing.tell(5)
        await press(pilot, "space", "F")
        growing.tell(9)
        assert (growing.mode, growing.app.workspace.cursor) == (PlaybackMode.LIVE, 9)


async def test_a_breakpoint_stops_following(growing: Growing):
    from trunkline.app.view.timeline.filters import Breakpoint, BreakpointKind

    one = growing.app
    async with one.run_test(size=(80, 24)):
        growing.tell(3)
        kind = TRACE.events[14].kind
        at = next(event.seq for event in TRACE.events[3:] if event.kind == kind)
        one.workspace.search.breakpoints.toggle(Breakpoint(BreakpointKind.KIND, kind))
        growing.tell(30)
        assert (growing.mode, one.workspace.cursor) == (PlaybackMode.BREAKPOINT, at)


@pytest.mark.parametrize("name", ["", RESENT, KILLED])
async def test_every_screen_grows_and_ends_as_the_same_run_opened_whole(tmp_path: Path, name: str):
    trace = wire_run(name).trace if name else TRACE
    growing = Growing(tmp_path, trace)
    one, last = growing.app, len(trace.events)
    whole = TrunklineApp(
        Workspace(ListedRuns(), run=Run(trace=trace, verdicts=judge(trace.events))), theme="textual-dark", clocked=False
    )
    async with one.run_test(size=(120, 40)) as pilot:
        # Each is made while there is little, and learns; one of them before anything is known.
        await press(pilot, "1")
        for until, screen in enumerate(SCREENS, 4):
            await press(pilot, screen)
            growing.tell(until)
        for until, screen in zip(range(16, last, (last - 16) // 9), SCREENS, strict=False):
            await press(pilot, screen)
            growing.tell(until)
            assert one.workspace.run.view.last == until
            await settle(one)
            assert "LIVE" in text_of(one) or "AUTO-PAUSED" in text_of(one)
        growing.tell(last)
        grew = [await shown(pilot, screen) for screen in SCREENS]
    async with whole.run_test(size=(120, 40)) as pilot:
        assert [await shown(pilot, screen) for screen in SCREENS] == grew


async def shown(pilot: Any, screen: str) -> list[str]:
    await press(pilot, screen, "$")
    found = titles(text_of(pilot.app))
    # Which invariant is selected depends on where the run was stopped.
    return found[:2] if screen == "8" else found


async def test_messages_are_listed_as_they_come(growing: Growing):
    one = growing.app
    async with one.run_test(size=(120, 40)) as pilot:
        growing.tell(12)
        await press(pilot, "3")
        before = one.screen.query_one(MessageList).count
        growing.tell(len(LINES))
        after = one.screen.query_one(MessageList).count
        assert after == len(one.workspace.run.messages) > before


async def test_a_filter_grows_along(growing: Growing):
    one = growing.app
    async with one.run_test(size=(120, 40)):
        growing.tell(12)
        one.workspace.search.set_filter("k:wire")
        before = list(one.workspace.timeline.seqs)
        growing.tell(len(LINES))
        wire = [event.seq for event in TRACE.events if event.kind.startswith("wire")]
        assert set(before) < set(one.workspace.timeline.seqs) <= set(wire)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("r", "a run that is watched cannot be run again"),
        ("R", "a run that is watched cannot be run again"),
        ("i", "this is a run that is watched: faults and W need its scenario"),
        ("W", "this is a run that is watched: faults and W need its scenario"),
    ],
)
async def test_what_cannot_be_done_with_it_is_said(growing: Growing, key: str, said: str):
    one = growing.app
    async with one.run_test(size=(120, 40)) as pilot:
        growing.tell(20)
        await press(pilot, key)
        assert said in [*one._notifications][-1].message


async def test_another_run_lets_it_go(growing: Growing):
    one = growing.app
    async with one.run_test(size=(80, 24)):
        growing.tell(20)
        one.open_entry(ENTRIES[0])
        assert one.workspace.live is None
        assert growing.feed._fd is None


@pytest.mark.parametrize("bad", [21, 22, 24])
async def test_lines_that_make_no_sense_leave_what_came_before(
    growing: Growing, monkeypatch: pytest.MonkeyPatch, bad: int
):
    one = growing.app
    async with one.run_test(size=(120, 40)) as pilot:
        growing.tell(12)
        # The queue is made by now, and it is what does not understand an event.
        await press(pilot, "6")
        take = MessageHistories.take_event

        def confused(self: MessageHistories, event: Event) -> None:
            take(self, event)
            assert event.seq != bad

        monkeypatch.setattr(MessageHistories, "take_event", confused)
        growing.tell(24)
        monkeypatch.undo()
        await settle(one)
        assert (growing.mode, one.workspace.run.view.last, one.workspace.cursor) == (PlaybackMode.CUT, bad - 1, bad - 1)
        assert f"run.jsonl:{bad + 1}: its lines are valid, but its events make no sense together" in text_of(one)
        assert one.workspace.run.view.cut
        for screen in SCREENS:
            await press(pilot, screen)


async def test_a_frame_takes_no_more_than_its_budget(growing: Growing):
    """However much waits: a clock that goes on by a millisecond each time it is asked."""
    from trunkline.app.runs.live_run import Budget

    now = [0.0]

    def clock() -> float:
        now[0] += 0.001
        return now[0]

    live = LiveRun(Feed(growing.path, clock=clock), clock=clock)
    growing.write(HEADER, *LINES)
    workspace = Workspace(ListedRuns(), live=live)
    assert workspace.live is not None
    before = now[0]
    workspace.live.budget = Budget(10_000, 0.004)
    workspace.tick(0)
    assert now[0] - before < 0.012
    assert workspace.run.view.last < len(LINES)
