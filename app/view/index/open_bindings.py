"""Which bindings have not ended after an event: a fold with key frames. It costs what is open, not what was.

A run may make thousands of bindings and hold a few at any moment. Whoever asks for those that hold must not go through
all of them at each move of the cursor.
"""

from __future__ import annotations

from bisect import bisect_right

from trunkline.app.view.index.places import PlaceKey

#: changes between two key frames
FRAME_EVERY = 256

#: conversation -> ids of its bindings that have not ended, the oldest first
Open = dict[PlaceKey, tuple[str, ...]]


class OpenBindings:
    """Ids of the bindings that have not ended, by conversation, after any event."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        #: conversation, binding, and whether it is open from then on
        self._changes: list[tuple[PlaceKey, str, bool]] = []
        self._frames: list[Open] = [{}]
        self._last: tuple[int, Open] = (0, {})

    def change(self, seq: int, place: PlaceKey, binding: str, *, is_open: bool) -> None:
        """From event `seq` on a binding is open, or has ended. Told in order of seq."""
        self._seqs.append(seq)
        self._changes.append((place, binding, is_open))

    def at(self, seq: int) -> Open:
        """After event `seq`. Not to be changed."""
        wanted = bisect_right(self._seqs, seq)
        done, now = self._last
        if done != wanted:
            now = dict(self._frame(wanted // FRAME_EVERY))
            self._apply(now, wanted // FRAME_EVERY * FRAME_EVERY, wanted)
            self._last = wanted, now
        return now

    def _frame(self, number: int) -> Open:
        while len(self._frames) <= number:
            frame, done = dict(self._frames[-1]), (len(self._frames) - 1) * FRAME_EVERY
            self._apply(frame, done, done + FRAME_EVERY)
            self._frames.append(frame)
        return self._frames[number]

    def _apply(self, now: Open, start: int, end: int) -> None:
        for place, binding, is_open in self._changes[start:end]:
            others = tuple(one for one in now.get(place, ()) if one != binding)
            if is_open:
                now[place] = (*others, binding)
            elif others:
                now[place] = others
            else:
                now.pop(place, None)
