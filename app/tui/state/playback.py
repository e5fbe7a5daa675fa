"""Playback: one cursor over a computed run, moved by hand or by virtual time.

Virtual time is uneven: twenty events may share a millisecond, and then nothing happens for an hour. Playing keeps its
order and rhythm, but gives every visible row a moment, and no wait more than `LONGEST`.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.timeline.status_line import PlaybackMode

#: seconds on the wall that a visible row stays alone, at speed 1
SHORTEST = 0.22
#: the longest that playing waits for the next event, at speed 1
LONGEST = 0.9
#: seconds of virtual time without an event, after which the next event counts as triggered by a timer
A_TIMER = 0.5
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0, 4096.0)


class Playback:
    """Cursor, head and playing state of one run. `cursor` 0 is before the first event."""

    def __init__(self, view: RunView, visible: Container[int], *, start: int = 0) -> None:
        self.view = view
        #: seqs with a visible row
        self.visible = visible
        self.cursor = max(0, min(start, view.last))
        #: the furthest event reached
        self.head = self.cursor
        self.playing = False
        self.speed = 1.0
        #: events at which playing stops, besides those where an invariant breaks
        self.breaks: frozenset[int] = frozenset()
        self.stops_at_broken = True
        #: whether the cursor stays at the end while the run grows
        self.following = False
        #: whether the run grows, and whether reading is paused
        self.live = False
        self.held = False
        #: whether the trace broke off before the run ended
        self.cut = False
        self._auto_paused_at: int | None = None
        self._stopped_at: int | None = None
        self._stops = set(view.marks.stops)
        self._found = view.marks.version
        self._waited = 0.0

    @property
    def mode(self) -> PlaybackMode:
        if self.playing:
            return PlaybackMode.PLAYING
        if self.held:
            return PlaybackMode.PAUSED
        if self.live and not self.view.last:
            return PlaybackMode.WAITING
        if self.following:
            return PlaybackMode.LIVE if self.live else PlaybackMode.FOLLOWING
        if self._auto_paused_at == self.cursor:
            return PlaybackMode.AUTO_PAUSED
        if self._stopped_at == self.cursor:
            return PlaybackMode.BREAKPOINT
        if self.cursor < self.head or self.live:
            return PlaybackMode.REWOUND
        if self.cursor < self.view.last:
            return PlaybackMode.PAUSED
        return PlaybackMode.CUT if self.cut else PlaybackMode.ENDED

    def play(self) -> None:
        """Play from the cursor, or from the start if it is at the end."""
        if self.cursor >= self.view.last:
            self.seek(0)
        self.playing = True
        self._waited = 0.0

    def pause(self) -> None:
        self.playing = False

    def seek(self, seq: int) -> None:
        """Put the cursor on an event and stop there."""
        self.playing = self.following = False
        self._auto_paused_at = self._stopped_at = None
        self._move(seq)

    def follow(self) -> None:
        """Stay at the end until the cursor is moved by hand."""
        self.seek(self.view.last)
        self.following = True

    def grown(self, breaks: Collection[int] = ()) -> None:
        """Take new events into account; while following, move to the end or to the first event that stops.

        `breaks`: new events with a breakpoint.
        """
        self.head = self.view.last
        marks = self.view.marks
        new = {violation.at for violation in marks.found[self._found :]} - self._stops
        self._found = marks.version
        self._stops |= new
        if not self.following:
            return
        broken = min(new, default=0) if self.stops_at_broken else 0
        at = min(breaks, default=0)
        if broken and (not at or broken <= at):
            self.stop_at_violation(broken)
        elif at:
            self._stop_at_break(at)
        else:
            self._move(self.view.last)

    def next_timer(self) -> int | None:
        """The next event that a timer triggers: the first that is `A_TIMER` or more after the cursor."""
        at = self.view.time(self.cursor) + A_TIMER
        found = self.view.seq_before(at) + 1
        return found if self.cursor < found <= self.view.last else None

    def stop_at_violation(self, seq: int) -> None:
        """Stop at an event because an invariant was violated there."""
        self.seek(seq)
        self._auto_paused_at = self.cursor

    def faster(self, steps: int) -> None:
        """The next speed up (1) or down (-1)."""
        faster = [speed for speed in SPEEDS if speed > self.speed]
        slower = [speed for speed in reversed(SPEEDS) if speed < self.speed]
        onward = faster if steps > 0 else slower
        if onward:
            self.speed = onward[min(abs(steps), len(onward)) - 1]

    def set_speed(self, speed: float) -> None:
        self.speed = max(SPEEDS[0], min(speed, SPEEDS[-1]))

    def tick(self, seconds: float) -> bool:
        """Let wall time pass. True when the cursor moved; stops by itself at a violation and at the end."""
        if not self.playing:
            return False
        self._waited += seconds * self.speed
        moved = False
        while self.playing and self.cursor < self.view.last and self._waited >= (wait := self._wait()):
            self._waited -= wait
            self._move(self.cursor + 1)
            moved = True
            self._check()
        return moved

    def _wait(self) -> float:
        following = self.cursor + 1
        gap = self.view.time(following) - self.view.time(self.cursor)
        least = SHORTEST if following in self.visible else 0.0
        return max(least, min(gap, LONGEST))

    def _check(self) -> None:
        if self.cursor in self._stops and self.stops_at_broken:
            self.stop_at_violation(self.cursor)
        elif self.cursor in self.breaks:
            self._stop_at_break(self.cursor)
        elif self.cursor >= self.view.last:
            self.playing = False

    def _stop_at_break(self, seq: int) -> None:
        self.seek(seq)
        self._stopped_at = self.cursor

    def _move(self, seq: int) -> None:
        self.cursor = max(0, min(seq, self.view.last))
        self.head = max(self.head, self.cursor)
