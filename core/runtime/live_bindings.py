"""The in-memory state of the session bindings of a running gateway.

It holds only durable bindings: the index changes with the commit, never before. So a message is routed by the bindings
that the trace shows at that moment (invariant B1).
"""

from collections import deque
from collections.abc import Callable, Container, Mapping
from typing import Any

import msgspec

from trunkline.core.bindings.binding_index import BindingIndex
from trunkline.core.bindings.conversation_match import place_id
from trunkline.core.env import Env
from trunkline.core.events import EventSink
from trunkline.core.events.bindings import BindingDegraded, BindingEnded, BindingEnding, BindingTouched
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import END_NOTE, SessionBindingRecord
from trunkline.core.states.binding import BindingEvent, BindingStatus
from trunkline.core.store.commands import ChangeBinding, TouchBinding
from trunkline.core.store.port import Store
from trunkline.core.values import Address, Envelope

#: metadata entry of a record: the request that ended it
ENDED_BY = "ended_by"


class Hold:
    """Work in progress for a binding: released once, by `release` or at the end of a `with` block.

    `cause` is the event that the release follows from; set it before the end of the block.
    """

    __slots__ = ("_binding", "_bindings", "cause")

    def __init__(self, bindings: "LiveBindings", binding: str | None) -> None:
        self._bindings = bindings
        self._binding = binding
        self.cause: int | None = None

    def release(self, cause: int | None) -> None:
        binding, self._binding = self._binding, None
        self._bindings.release(binding, cause)

    def __enter__(self) -> "Hold":
        return self

    def __exit__(self, *_: object) -> None:
        self.release(self.cause)


class LiveBindings:
    def __init__(self, store: Store, env: Env, events: EventSink, index: BindingIndex | None = None) -> None:
        self._store = store
        self._env = env
        self._events = events
        self._index = BindingIndex() if index is None else index
        #: old and new keys of moved sessions, added by the committing thread
        self._moves: deque[tuple[str, str]] = deque()
        #: number of turns and messages in progress for each binding
        self._under_way: dict[str, int] = {}
        #: durable touches, added by the committing thread
        self._touched: deque[SessionBindingRecord] = deque()
        #: webhooks that the gateway posts or has posted through
        self._own: set[tuple[str, str]] = set()
        #: seqs of the events of ended bindings, until the index removes them
        self._ends: dict[str, int] = {}
        self._ended: list[Callable[[SessionBindingRecord, int | None], None]] = []
        self._changed: Callable[[], None] = _nothing

    def connect(
        self, *, changed: Callable[[], None], ended: Callable[[SessionBindingRecord, int | None], None]
    ) -> None:
        """Set the callbacks for changed deadlines, and for each ended binding with the seq of its end."""
        self._changed = changed
        self._ended.append(ended)

    @property
    def index(self) -> BindingIndex:
        while self._moves:
            self._index.move(*self._moves.popleft())
        return self._index

    def note_move(self, before: str, after: str) -> None:
        """A session's key has durably changed. Thread-safe."""
        self._moves.append((before, after))

    def at(self, place: Address) -> SessionBindingRecord | None:
        record = (self.index if self._moves else self._index).at(place)
        return record if record is not None and record.routes(self._env.now()) else None

    def owner_of(self, place: Address, accounts: Container[tuple[str, str]]) -> SessionBindingRecord | None:
        """The binding by which a conversation belongs to another of the gateway's accounts, and not to its own (B1)."""
        found = self.index.of_other_accounts(place)
        if not found or self.at(place) is not None:
            return None
        now = self._env.now()
        owners = (record for record in found if record.owner == "channel" and record.routes(now))
        return next((record for record in owners if (place.channel, record.conversation.account) in accounts), None)

    def speaking(self, place: Address, binding: str | None) -> SessionBindingRecord | None:
        """The binding for a message to a place: the given one if it is of that place, else the active one."""
        promised = None if binding is None else self.index.get(binding)
        if promised is not None and place_id(promised.conversation) == place_id(place):
            return promised
        return self.at(place)

    def is_echo(self, envelope: Envelope) -> bool:
        """Whether an inbound message is one that the gateway itself posted through a webhook (invariant D8)."""
        webhook = envelope.webhook
        return webhook is not None and (envelope.address.channel, webhook) in self._own

    def remember_webhook(self, channel: str, webhook: str) -> None:
        self._own.add((channel, webhook))

    def add(self, record: SessionBindingRecord) -> None:
        self.index.add(record)
        if record.identity is not None:
            self.remember_webhook(record.conversation.channel, record.identity.id)
        self._changed()

    def hold(self, binding: str | None) -> Hold:
        """Count work in progress for a binding, which does not end before the work is released."""
        if binding is not None:
            self._under_way[binding] = self._under_way.get(binding, 0) + 1
        return Hold(self, binding)

    def hold_open(self, binding: str, count: int) -> None:
        """Count the open intents of an earlier process; `adopt` gives the hold of each."""
        self._under_way[binding] = self._under_way.get(binding, 0) + count

    def adopt(self, binding: str | None) -> Hold:
        """The hold of counted work."""
        return Hold(self, binding)

    def release(self, binding: str | None, cause: int | None) -> None:
        """Release work in progress, by its hold; the last release ends an ending binding."""
        if binding is None:
            return
        left = self._under_way.get(binding, 0) - 1
        if left > 0:
            self._under_way[binding] = left
            return
        self._under_way.pop(binding, None)
        self.end_if_drained(binding, cause)

    def end_if_drained(self, binding: str, cause: int | None) -> None:
        record = self.index.get(binding)
        if record is None or record.status is not BindingStatus.ENDING or binding in self._under_way:
            return
        changes = {"ended_at": self._env.now()}
        self._note(binding, BindingEvent.DRAINED, changes, self._drained_story(cause))

    def _drained_story(self, cause: int | None) -> Callable[[SessionBindingRecord | None], SessionBindingRecord | None]:
        def story(after: SessionBindingRecord | None) -> SessionBindingRecord | None:
            note = "" if after is None else after.metadata.get(END_NOTE, "")
            return self.record_end(after, None, note, cause)

        return story

    def touch(self, binding: str | None, by: str, cause: int | None, at: float | None = None) -> None:
        """Record activity in a bound conversation, which moves its idle deadline (invariant B2)."""
        if binding is None or self.index.get(binding) is None:
            return
        when = self._env.now() if at is None else at
        self._store.submit(
            TouchBinding(binding=binding, at=when),
            lambda after: self.record_touch(after, by, cause),
            then=lambda _: self.apply_touches(),
        )

    def record_touch(self, after: SessionBindingRecord | None, by: str, cause: int | None) -> None:
        """Record a moved deadline in the story of its write; `apply_touches` updates the index later."""
        if after is not None:
            body = BindingTouched(by=by, last_activity_at=after.last_activity_at, expires_at=after.expires_at)
            self._events.record(body, cause, binding=after.binding_id)
            self._touched.append(after)

    def apply_touches(self) -> None:
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
        note: str = "",
    ) -> SessionBindingRecord | None:
        """End a binding, or let it end after its work in progress; None if it had already ended."""
        event, changes, story = self._ending(record, reason, by, cause, note)
        notes = {} if request is None else {ENDED_BY: request}
        if note:
            notes[END_NOTE] = note
        if notes:
            changes["metadata"] = {**record.metadata, **notes}
        return await self._store.write(
            ChangeBinding(binding=record.binding_id, event=event, changes=changes), story, then=self.apply
        )

    def end_soon(self, record: SessionBindingRecord, reason: Reason, *, cause: int | None) -> None:
        """Like `end`, without waiting for the write."""
        event, changes, story = self._ending(record, reason, None, cause, "")
        self._note(record.binding_id, event, changes, story)

    def end_gone(self, binding: str | None, reason: Reason, cause: int | None) -> None:
        """End a binding at once because the conversation no longer exists."""
        record = None if binding is None else self.index.get(binding)
        if record is None:
            return
        changes = {"reason": reason, "ended_at": self._env.now()}
        end = BindingEvent.END
        self._note(record.binding_id, end, changes, lambda after: self.record_end(after, None, "", cause))

    def _ending(
        self, record: SessionBindingRecord, reason: Reason, by: str | None, cause: int | None, detail: str
    ) -> tuple[BindingEvent, dict[str, Any], Callable[[SessionBindingRecord | None], SessionBindingRecord | None]]:
        """The event that ends a binding, the changed fields, and the story of the write."""
        under_way = self._under_way.get(record.binding_id, 0)
        if not under_way:
            changes = {"reason": reason, "ended_at": self._env.now()}
            return BindingEvent.END, changes, lambda after: self.record_end(after, by, detail, cause)

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

    def record_end(
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

    def count_identity_failure(self, binding: str | None, most: int, cause: int | None) -> None:
        """Count a message that the bot had to post for a webhook; after `most` in a row the binding is degraded."""
        record = None if binding is None else self.index.get(binding)
        if record is None or record.identity is None:
            return
        failed, identity = record.fallbacks + 1, record.identity
        changes: dict[str, Any] = {"fallbacks": failed}
        if failed >= most and record.degraded is None:
            changes["degraded"] = Reason.IDENTITY_GONE

        def story(after: SessionBindingRecord | None) -> SessionBindingRecord | None:
            if after is not None and "degraded" in changes:
                body = BindingDegraded(identity=str(identity), reason=Reason.IDENTITY_GONE, fallbacks=after.fallbacks)
                self._events.record(body, cause, binding=after.binding_id)
            return after

        self._note(record.binding_id, BindingEvent.IDENTITY, changes, story)

    def reset_identity_failures(self, binding: str | None) -> None:
        record = None if binding is None else self.index.get(binding)
        if record is not None and record.fallbacks:
            self._note(record.binding_id, BindingEvent.IDENTITY, {"fallbacks": 0}, lambda after: after)

    def _note(
        self,
        binding: str,
        event: BindingEvent,
        changes: Mapping[str, Any],
        story: Callable[[SessionBindingRecord | None], SessionBindingRecord | None],
    ) -> None:
        self._store.submit(ChangeBinding(binding=binding, event=event, changes=changes), story, then=self.apply)

    def apply(self, after: SessionBindingRecord | None) -> None:
        """Update the index after a commit, and notify the callbacks of an end."""
        if after is None:
            return
        self.add(after)
        if after.status is BindingStatus.ENDED:
            cause = self._ends.pop(after.binding_id, None)
            for notify in self._ended:
                notify(after, cause)
        elif after.status is BindingStatus.ENDING:
            # The work in progress may have finished during the write.
            self.end_if_drained(after.binding_id, None)


def _nothing() -> None: ...
