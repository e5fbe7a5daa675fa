"""Updates by long polling.

The connection is a sequence of polls. One that gets no answer in time is dead, whatever the socket says, and ends the
stream with an error, as any other failure does; the gateway connects again. Nothing is lost by that: Telegram keeps
what is not confirmed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import anyio

from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.adapters.telegram.open_updates import OpenUpdates
from trunkline.core.adapters.telegram.requests import BotApi, BotCall
from trunkline.core.adapters.telegram.update_types import ALLOWED_UPDATES
from trunkline.core.adapters.telegram.updates import BadUpdate, ReadUpdate, number_in, read_batch
from trunkline.core.errors import Ambiguous, NotSent
from trunkline.core.values import Envelope

#: updates of one answer
_LIMIT = 100
#: seconds for which the first messages may keep Telegram from showing any other
_STALLED = 60.0
#: seconds between polls while messages are not acknowledged, at first and at most: Telegram answers each at once
_PAUSE, _LONGEST_PAUSE = 0.5, 5.0
#: name of the cursor, and seconds for which it is good: after a week without updates their numbers begin again
_CURSOR, _LONGEST = "offset", 5 * 86_400.0


class LongPolling:
    """The updates of a bot, by polls."""

    def __init__(self, api: BotApi, host: AdapterHost, events: AccountEvents, bot: int) -> None:
        self._api = api
        self._host = host
        self._events = events
        self._bot = bot
        self._updates = OpenUpdates()
        self._saved: int | None = None
        #: the answer to the poll with which the connection began
        self._first = b""

    def ack(self, envelope: Envelope) -> None:
        """A message is durable."""
        self._updates.ack(envelope)

    async def open(self) -> None:
        """End a webhook, which would keep polls from being answered, but keep the pending updates; then poll once.

        So a token that is not accepted, or another program that asks for the same updates, fails the connection.
        """
        await self._api.call(BotCall(method="delete_webhook", arguments={"drop_pending_updates": False}))
        self._updates.reconnect()
        self._first = await self._poll(_LIMIT, await self._load(), hold=False)
        self._events.record_connection("polling")

    async def envelopes(self) -> AsyncGenerator[Envelope]:
        """The messages, until a poll fails. Raises `PlatformError`."""
        limit, body, pause, began = _LIMIT, self._first, _PAUSE, -_PAUSE
        moved = anyio.current_time()
        while True:
            batch = read_batch(body, self._host.account, self._bot)
            if batch is None:
                batch, limit = self._unreadable(body, limit)
            else:
                limit = _LIMIT
            fresh = self._fresh(batch)
            if fresh or len(batch) < _LIMIT:
                moved = anyio.current_time()
            elif self._updates.waiting == _LIMIT or anyio.current_time() - moved > _STALLED:
                raise NotSent(f"{self._updates.waiting} messages wait to be acknowledged; they are asked for again")
            for envelope in fresh:
                yield envelope
            if all(update.number is None for update in batch):
                # Not every server waits as long as it was asked to, and nothing confirms an update without a number.
                await anyio.sleep(max(0.0, _PAUSE - (anyio.current_time() - began)))
            pause = _PAUSE if fresh else min(2 * pause, _LONGEST_PAUSE)
            await self._updates.settle(pause)
            began = anyio.current_time()
            body = await self._poll(limit)

    async def _poll(self, limit: int, known: int | None = None, *, hold: bool = True) -> bytes:
        """The answer to a poll, which confirms what is durable. `known`: how far an earlier process was."""
        offset = self._updates.offset
        if offset is not None:
            await self._save(offset)
        offset = known if offset is None else offset
        body = await self._api.updates(offset, ALLOWED_UPDATES, limit, hold=hold)
        self._updates.confirm(offset)
        return body

    def _fresh(self, batch: list[ReadUpdate]) -> list[Envelope]:
        """The messages new to the gateway. Unreadable updates are recorded, and passed over."""
        found: list[Envelope] = []
        for update in batch:
            content = update.content
            if isinstance(content, BadUpdate):
                if update.number is None or not self._updates.is_done(update.number):
                    self._events.record_drop("" if update.number is None else str(update.number), content.detail)
                content = None
            if update.number is not None and self._updates.note_update(update.number, content) and content is not None:
                found.append(content)
        return found

    def _unreadable(self, body: bytes, limit: int) -> tuple[list[ReadUpdate], int]:
        """The batch and limit after an answer without JSON: ask for single updates, and pass over the bad one."""
        if limit > 1:
            return [], 1
        number = number_in(body)
        if number is None:
            raise Ambiguous("the answer to a poll cannot be read")
        return [ReadUpdate(number=number, content=BadUpdate(detail="no JSON"))], limit

    async def _load(self) -> int | None:
        """The offset of an earlier process; None if unknown, or too old, as numbers may have begun again."""
        found = await self._host.cursors.load(_CURSOR)
        try:
            offset, at = json.loads(found or "null")
        except (ValueError, TypeError, RecursionError):
            return None
        if not isinstance(offset, int) or not isinstance(at, int | float):
            return None
        return offset if 0 <= self._host.env.now() - at < _LONGEST else None

    async def _save(self, offset: int) -> None:
        if offset != self._saved:
            await self._host.cursors.save(_CURSOR, json.dumps([offset, self._host.env.now()]))
            self._saved = offset
