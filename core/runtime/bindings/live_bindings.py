"""Bound conversations while the gateway runs: which session a place belongs to, who speaks there, when that ends.

What is held here is durable: the book changes with the commit, never before. So a message is routed by what the trace
says at that moment (invariant B1).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from trunkline.core.bindings.binding_index import BindingIndex
from trunkline.core.bindings.conversation_match import place_id
from trunkline.core.bindings.records import BindingStatus, SessionBindingRecord
from trunkline.core.bindings.states import BindingEvent
from trunkline.core.env import Env
from trunkline.core.events import EventSink
from trunkline.core.events.bindings import BindingDegraded, BindingEnded, BindingEnding, BindingTouched
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import ChangeBinding, TouchBinding
from trunkline.core.store.port import Store
from trunkline.core.values import Address, Envelope, Identity

#: the entry of a record's metadata that names what has ended it
ENDED_BY = "ended_by"


class LiveBindings:
    """The bindings of a gateway, as its other parts need them."""

    def __init__(self, store: Store, env: Env, events: EventSink, index: BindingIndex | None = None) -> None:
        self._store = store
        self._env = env
        self._events = events
        self._index = BindingIndex() if index is None else index
        #: old and new keys of sessions that were moved; told by the thread that committed
        self._moves: deque[tuple[str, str]] = deque()
        #: turns and messages that are under way for a binding
        self._under_way: dict[str, int] = {}
        #: touches that are durable; told by the thread that committed
        self._touched: deque[SessionBindingRecord] = deque()
        #: webhooks that the gateway speaks or has spoken through
        self._own: set[tuple[str, str]] = set()
        #: the event that tells of an end, until the book follows it
        self._ends: dict[str, int] = {}
        self._ended: list[Callable[[SessionBindingRecord, int | None], None]] = []
        self._changed: Callable[[], None] = _nothing

    def connect(
        self, *, changed: Callable[[], None], ended: Callable[[SessionBindingRecord, int | None], None]
    ) -> None:
        """Who is told that deadlines have changed, and of each binding that has ended, with the event that tells it."""
        self._changed = changed
        self._ended.append(ended)

    # ------------------------------------------------------------ what holds now

    @property
    def index(self) -> BindingIndex:
        """What is bound, as of the last commit."""
        while self._moves:
            self._index.move(*self._moves.popleft())
        return self._index

    def moved(self, before: str, after: str) -> None:
        """A session has another key, durably. May be called by any thread."""
        self._moves.append((before, after))

    def at(self, place: Address) -> SessionBindingRecord | None:
        """The binding by which a place belongs to a session now."""
        record = self.index.at(place)
        return record if record is not None and record.routes(self._env.now()) else None

    def speaking(self, place: Address, binding: str | None) -> SessionBindingRecord | None:
        """The binding that something is said for at a place: the one that it was promised, else today's."""
        promised = None if binding is None else self.index.get(binding)
        if promised is not None and place_id(promised.conversation) == place_id(place):
            return promised
        return self.at(place)

    def is_echo(self, envelope: Envelope) -> bool:
        """Whether a message is one of the gateway's own, brought back by the platform (invariant D8)."""
        webhook = envelope.webhook
        return webhook is not None and (envelope.address.channel, webhook) in self._own

    def own(self, channel: str, webhook: str) -> None:
        """A webhook that the gateway speaks or has spoken through."""
        self._own.add((channel, webhook))

    def add(self, record: SessionBindingRecord) -> None:
        """A binding is durable."""
        self.index.add(record)
        if record.identity is not None:
            self.own(record.conversation.channel, record.identity.id)
        self._changed()

    # ------------------------------------------------------------ what is under way

    def hold(self, binding: str | None, count: int = 1) -> None:
        """Something is under way for a binding: until it is finished, the binding does not end."""
        if binding is not None:
            self._under_way[binding] = self._under_way.get(binding, 0) + count

    def release(self, binding: str | None, cause: int | None = None) -> None:
        """It is finished."""
        if binding is None:
            return
        left = self._under_way.get(binding, 0) - 1
        if left > 0:
            self._under_way[binding] = left
            return
        self._under_way.pop(binding, None)
        self.drained(binding, cause)

    def drained(self, binding: str, cause: int | None) -> None:
        """Nothing is under way any more: a binding that is ending has ended."""
        record = self.index.get(binding)
        if record is None or record.status is not BindingStatus.ENDING or binding in self._under_way:
            return
        changes = {"ended_at": self._env.now()}
        self._note(binding, BindingEvent.DRAINED, changes, lambda after: self._record_end(after, None, "", cause))

    # ------------------------------------------------------------ what happens to it

    def touch(self, binding: str | None, by: str, cause: int | None, at: float | None = None) -> None:
        """Something was said in a bound conversation: its idle deadline moves (seed 002, invariant B2)."""
        if binding is None or self.index.get(binding) is None:
            return
        when = self._env.now() if at is None else at

        def story(after: SessionBindingRecord | None) -> None:
            self.record_touch(after, by, cause)

        self._store.submit(TouchBinding(binding=binding, at=when), story, then=lambda _: self.apply_touches())

    def record_touch(self, after: SessionBindingRecord | None, by: str, cause: int | None) -> None:
        """Record that a deadline has moved, with the write that moved it; the book follows with `apply_touches`."""
        if after is not None:
            body = BindingTouched(by=by, last_activity_at=after.last_activity_at, expires_at=after.expires_at)
            self._events.record(body, cause, binding=after.binding_id)
            self._touched.append(after)

    def apply_touches(self) -> None:
        """Have the book follow what was told of touches."""
        while self._touched:
            touched = self._touched.popleft()
            record = self.index.get(touched.binding_id)
            if record is not None:
                at = max(record.last_activity_at, touched.last_activity_at)
                self.index.add(msgspec.structs.replace(record, last_activity_at=at))

    async def end(
        self,
        record: SessionBindingRecord,
        reason: Reason,
        *,
        by: str | None,
        cause: int | None,
        request: str | None = None,
    ) -> SessionBindingRecord | None:
        """End a binding, or let it end when what is under way is finished; none where it had ended already."""
        event, changes, story = self._ending(record, reason, by, cause, "")
        if request is not None:
            changes["metadata"] = {**record.metadata, ENDED_BY: request}
        return await self._store.write(
            ChangeBinding(binding=record.binding_id, event=event, changes=changes), story, then=self._became
        )

    def end_soon(self, record: SessionBindingRecord, reason: Reason, *, cause: int | None, detail: str = "") -> None:
        """As `end`, without anybody who waits: it came about."""
        event, changes, story = self._ending(record, reason, None, cause, detail)
        self._note(record.binding_id, event, changes, story)

    def gone(self, binding: str | None, reason: Reason, cause: int | None, detail: str = "") -> None:
        """The conversation of a binding is not there any more: there is nothing to wait for."""
        record = None if binding is None else self.index.get(binding)
        if record is None:
            return
        changes = {"reason": reason, "ended_at": self._env.now()}

        def story(after: SessionBindingRecord | None) -> SessionBindingRecord | None:
            return self._record_end(after, None, detail, cause)

        self._note(record.binding_id, BindingEvent.END, changes, story)

    def _ending(
        self, record: SessionBindingRecord, reason: Reason, by: str | None, cause: int | None, detail: str
    ) -> tuple[BindingEvent, dict[str, Any], Callable[[SessionBindingRecord | None], SessionBindingRecord | None]]:
        """By which event a binding ends, what changes with it, and how it is told."""
        under_way = self._under_way.get(record.binding_id, 0)
        if not under_way:
            changes = {"reason": reason, "ended_at": self._env.now()}
            return BindingEvent.END, changes, lambda after: self._record_end(after, by, detail, cause)

        def story(after: SessionBindingRecord | None) -> SessionBindingRecord | None:
            if after is not None:
                body = BindingEnding(
                    conversation=after.conversation,
                    session_key=after.target_session_key,
                    reason=reason,
                    under_way=under_way,
                )
                self._events.record(body, cause, binding=after.binding_id)
            return after

        return BindingEvent.DRAIN, {"reason": reason}, story

    def record_end(self, after: SessionBindingRecord, by: str | None, cause: int | None) -> None:
        """Record that a binding ended with the write that made another one."""
        self._record_end(after, by, "", cause)

    def _record_end(
        self, after: SessionBindingRecord | None, by: str | None, detail: str, cause: int | None
    ) -> SessionBindingRecord | None:
        if after is not None:
            body = BindingEnded(
                conversation=after.conversation,
                session_key=after.target_session_key,
                reason=after.reason or Reason.UNBOUND,
                by=by,
                detail=detail,
            )
            self._ends[after.binding_id] = self._events.record(body, cause, binding=after.binding_id)
        return after

    # ------------------------------------------------------------ who speaks

    def identity_failed(self, binding: str | None, most: int, cause: int | None) -> None:
        """A message of a binding had to go out as the bot; after so many in a row that is how it stays (B134)."""
        record = None if binding is None else self.index.get(binding)
        if record is None or record.identity is None:
            return
        failed, identity = record.fallbacks + 1, record.identity
        changes: dict[str, Any] = {"fallbacks": failed}
        if failed >= most and record.degraded is None:
            changes["degraded"] = Reason.IDENTITY_GONE

        def story(after: SessionBindingRecord | None) -> SessionBindingRecord | None:
            if after is not None and "degraded" in changes:
                self._record_degraded(after, identity, cause)
            return after

        self._note(record.binding_id, BindingEvent.IDENTITY, changes, story)

    def _record_degraded(self, after: SessionBindingRecord, identity: Identity, cause: int | None) -> None:
        body = BindingDegraded(identity=str(identity), reason=Reason.IDENTITY_GONE, fallbacks=after.fallbacks)
        self._events.record(body, cause, binding=after.binding_id)

    def identity_worked(self, binding: str | None) -> None:
        """A message of a binding went out under its identity: those before it do not count any more."""
        record = None if binding is None else self.index.get(binding)
        if record is not None and record.fallbacks:
            self._note(record.binding_id, BindingEvent.IDENTITY, {"fallbacks": 0}, lambda after: after)

    # ------------------------------------------------------------ keeping the book

    def _note(
        self,
        binding: str,
        event: BindingEvent,
        changes: Mapping[str, Any],
        story: Callable[[SessionBindingRecord | None], SessionBindingRecord | None],
    ) -> None:
        self._store.submit(ChangeBinding(binding=binding, event=event, changes=changes), story, then=self._became)

    def _became(self, after: SessionBindingRecord | None) -> None:
        """How a binding is since the last commit."""
        if after is None:
            return
        self.add(after)
        if after.status is BindingStatus.ENDED:
            cause = self._ends.pop(after.binding_id, None)
            for tell in self._ended:
                tell(after, cause)
        elif after.status is BindingStatus.ENDING:
            # What was under way may have been finished meanwhile.
            self.drained(after.binding_id, None)

    def apply_end(self, record: SessionBindingRecord) -> None:
        """A binding has ended with the write that made another one."""
        self._became(record)


def _nothing() -> None: ...
