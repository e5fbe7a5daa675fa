"""Keys are done one after another: what is typed fast after a key that opens something goes to what it opens."""

from __future__ import annotations

import asyncio
from collections import deque

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

#: how often the way of a key is gone: first by the key itself, then by what it asked for, such as a submitted line
ROUNDS = 2
#: seconds after which the next key no longer waits: whoever had the last one may be gone
PATIENCE = 1.0


class KeyQueue(App[int]):
    """For the app: holds each key until the one before it was done, and what it opened is there.

    A key goes to the widget with the focus and from there up to the app, queue by queue. Textual hands out the next
    one at once, to the widget that has the focus then, before the first has opened anything.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: deque[events.Key | events.Paste] = deque()
        #: which key is under way; none while 0. Their numbers tell late news from news
        self._under_way = 0
        self._handed_out = 0
        self._patience: asyncio.TimerHandle | None = None

    async def on_event(self, event: events.Event) -> None:
        """Keep a key that comes while another is under way."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._keys.append(event)
            if not self._under_way:
                await self._hand_out()
        else:
            await super().on_event(event)

    async def _hand_out(self) -> None:
        if not self._keys:
            self._under_way = 0
            return
        self._handed_out += 1
        self._under_way = number = self._handed_out
        target = self._first
        await super().on_event(self._keys.popleft())
        self._patience = asyncio.get_running_loop().call_later(PATIENCE, self.call_later, self._done, number)
        self._follow(target, number, ROUNDS)

    @property
    def _first(self) -> MessagePump:
        """Who gets a key first."""
        return self.focused or self.screen

    def _follow(self, pump: MessagePump | None, number: int, rounds: int) -> None:
        """Go the way of the key, behind it; a queue that is closed is passed over."""
        while pump is not None and pump is not self:
            above = pump._parent  # pyright: ignore[reportPrivateUsage]
            if pump.call_later(self._follow, above, number, rounds):
                return
            pump = above
        self.call_later(self._arrived, number, rounds)

    async def _arrived(self, number: int, rounds: int) -> None:
        if rounds > 1 and number == self._under_way:
            self._follow(self._first, number, rounds - 1)
        else:
            await self._done(number)

    async def _done(self, number: int) -> None:
        if number == self._under_way:
            if self._patience is not None:
                self._patience.cancel()
            await self._hand_out()
