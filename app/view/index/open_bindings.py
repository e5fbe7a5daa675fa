"""Which bindings have not ended after an event. A lookup costs the bindings open then, not all.

A run may make thousands of bindings and hold a few at any moment.
"""

from __future__ import annotations

from trunkline.app.view.index.key_frames import KeyFrames
from trunkline.app.view.index.places import PlaceKey

#: conversation -> ids of its bindings that have not ended, the oldest first
Open = dict[PlaceKey, tuple[str, ...]]


class OpenBindings:
    """Ids of the bindings that have not ended, by conversation, after any event."""

    def __init__(self) -> None:
        self._frames = KeyFrames[PlaceKey, tuple[str, ...], tuple[PlaceKey, str, bool]](_apply)

    def change(self, seq: int, place: PlaceKey, binding: str, *, is_open: bool) -> None:
        """From event `seq` on a binding is open, or has ended. Called in order of `seq`."""
        self._frames.add(seq, (place, binding, is_open))

    def at(self, seq: int) -> Open:
        """The open bindings after event `seq`. Treat it as read-only."""
        return self._frames.at(seq)


def _apply(now: Open, change: tuple[PlaceKey, str, bool]) -> None:
    place, binding, is_open = change
    others = tuple(one for one in now.get(place, ()) if one != binding)
    if is_open:
        now[place] = (*others, binding)
    elif others:
        now[place] = others
    else:
        now.pop(place, None)
