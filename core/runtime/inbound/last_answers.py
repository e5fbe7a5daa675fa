"""The answers on their way, by session: the next turn of a session can wait for them, so that its agent knows them."""

from __future__ import annotations

import anyio
import msgspec

from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.store.queries import OpenIntent
from trunkline.core.values import IntentId, SessionId

#: answers at which those that have ended are forgotten
_MANY = 256


class _OnItsWay(msgspec.Struct, frozen=True, kw_only=True):
    intent: IntentId
    ended: anyio.Event


class LastAnswers:
    """What an agent is shown of its own answers is what the platform has accepted. See `turns.await_answer`."""

    def __init__(self, context: Context, settler: Settler) -> None:
        self._ctx, self._settler = context, settler
        self._on_way: dict[SessionId, _OnItsWay] = {}
        self._many = _MANY

    def queued(self, session: SessionId, row: IntentRow) -> None:
        """An answer of a session is about to be sent."""
        if not row.is_cancelled:
            self._add(session, row.id)

    def left(self, intent: OpenIntent) -> None:
        """An earlier process left an intent open: if it is an answer, the first turn of its session waits for it."""
        if intent.answers is not None:
            self._add(intent.answers, intent.id)

    def _add(self, session: SessionId, intent: IntentId) -> None:
        if not self._ctx.config.turns.await_answer:
            return
        if len(self._on_way) >= self._many:
            self._on_way = {key: one for key, one in self._on_way.items() if not one.ended.is_set()}
            # A restart may leave many: they are not looked through for each new one.
            self._many = max(_MANY, 2 * len(self._on_way))
        self._drop(session)
        self._on_way[session] = _OnItsWay(intent=intent, ended=self._settler.on_end(intent))

    async def known(self, session: SessionId) -> None:
        """Wait for the end of the last answer of a session, at most for the configured time."""
        answer = self._on_way.get(session)
        if answer is None:
            return
        with anyio.move_on_after(self._ctx.config.turns.await_answer):
            await answer.ended.wait()
        self._drop(session)

    def _drop(self, session: SessionId) -> None:
        answer = self._on_way.pop(session, None)
        if answer is not None:
            self._settler.forget(answer.intent, answer.ended)
