"""Keys are handled one after another: a key typed right after one that opens a dialog goes to that dialog."""

from __future__ import annotations

import asyncio
from collections import deque

from textual import events
from textual.app import App
from textual.dom import DOMNode

#: walks along the path of a key: one behind the key itself, one behind what it posted, such as a submitted line
ROUNDS = 2
#: seconds after which the next key no longer waits: the widget that had the last one may be gone
PATIENCE = 1.0


class KeyQueue(App[int]):
    """App mixin: dispatch a key only after the previous one, and the screen it opened, is handled.

    A key goes to the widget with the focus and from there up to the app, one message queue after the other. Textual
    dispatches the next key at once, to the widget that has the focus then, before the first has opened anything. Here
    a callback follows each key through the same queues; when it comes back to the app, the key was handled.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: deque[events.Key | events.Paste] = deque()
        #: number of the key that is being handled, 0 for none: a callback of an earlier key is ignored
        self._current_key = 0
        self._dispatched = 0
        self._timeout: asyncio.TimerHandle | None = None

    async def on_event(self, event: events.Event) -> None:
        """Queue a key that comes while another is being handled."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._keys.append(event)
            if not self._current_key:
                await self._dispatch_next()
        else:
            await super().on_event(event)

    async def _dispatch_next(self) -> None:
        if not self._keys:
            self._current_key = 0
            return
        self._dispatched += 1
        self._current_key = number = self._dispatched
        target = self._key_target
        await super().on_event(self._keys.popleft())
        self._timeout = asyncio.get_running_loop().call_later(PATIENCE, self.call_later, self._finish, number)
        self._follow(target, number, ROUNDS)

    @property
    def _key_target(self) -> DOMNode:
        return self.focused or self.screen

    def _follow(self, node: DOMNode | None, number: int, rounds: int) -> None:
        """Walk the path of a key behind it; a closed queue is skipped."""
        while node is not None and node is not self:
            parent = node.parent
            if node.call_later(self._follow, parent, number, rounds):
                return
            node = parent
        self.call_later(self._follow_or_finish, number, rounds)

    async def _follow_or_finish(self, number: int, rounds: int) -> None:
        if rounds > 1 and number == self._current_key:
            self._follow(self._key_target, number, rounds - 1)
        else:
            await self._finish(number)

    async def _finish(self, number: int) -> None:
        if number == self._current_key:
            if self._timeout is not None:
                self._timeout.cancel()
            await self._dispatch_next()
