"""Upstream's store for channels that have no adapter of their own (August only; shared facts on routing, section 5).

Only the current conversation can be bound. Here a binding's ttl is honoured, and what is over vanishes when it is read;
a touch moves no deadline.
"""

from collections.abc import Callable, Sequence

import msgspec

from tests.conformance.upstream.bindings import Clock, Declared, Key, UpstreamBind, UpstreamRecord
from trunkline.core.records.bindings import ConversationRef, Placement

_SEPARATOR = "\N{SYMBOL FOR UNIT SEPARATOR}"


class GenericBindings:
    """The bindings of channels without an adapter, by conversation."""

    declared = Declared(placements=(Placement.CURRENT.value,))
    can_bind = True
    can_unbind = True

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._served: set[Key] = set()
        self._records: dict[str, UpstreamRecord] = {}

    def serve(self, channel: str, account: str) -> None:
        """A channel may be bound by this store; both names as they are compared."""
        self._served.add((channel, account))

    def serves(self, channel: str, account: str) -> bool:
        """Whether it may."""
        return (channel, account) in self._served

    async def bind(self, asked: UpstreamBind) -> UpstreamRecord | None:
        """Bind a conversation; one that is bound already moves."""
        key, ref, now = asked.target_session_key.strip(), asked.conversation, self._now()
        if not key or not ref.channel or not ref.conversation_id:
            return None
        record = UpstreamRecord(
            binding_id=_id(ref),
            target_session_key=key,
            target_kind=asked.target_kind,
            conversation=ref,
            bound_at=now,
            expires_at=None if asked.ttl is None else now + max(0, asked.ttl),
            last_activity_at=now,
        )
        self._records[record.binding_id] = record
        return record

    async def unbind(self, binding_id: str | None, session_key: str | None) -> Sequence[UpstreamRecord]:
        """By its id, else all of a session."""
        if binding_id is not None:
            return self._take(lambda record: record.binding_id == binding_id)
        return self._take(lambda record: record.target_session_key == session_key)

    def _take(self, fits: Callable[[UpstreamRecord], bool]) -> Sequence[UpstreamRecord]:
        self._prune()
        removed = [record for record in self._records.values() if fits(record)]
        for record in removed:
            del self._records[record.binding_id]
        return removed

    def list_by_session(self, session_key: str) -> Sequence[UpstreamRecord]:
        """Those of a session that are not over."""
        self._prune()
        return [record for record in self._records.values() if record.target_session_key == session_key]

    def resolve(self, ref: ConversationRef) -> UpstreamRecord | None:
        """That of exactly this conversation and parent, unless it is over."""
        self._prune()
        return self._records.get(_id(ref))

    def touch(self, binding_id: str, at: int | None) -> None:
        """Something was said; the deadline stays."""
        self._prune()
        record = self._records.get(binding_id)
        if record is not None:
            when = self._now() if at is None else at
            self._records[binding_id] = msgspec.structs.replace(record, last_activity_at=when)

    def _prune(self) -> None:
        now = self._now()
        over = [name for name, one in self._records.items() if one.expires_at is not None and one.expires_at <= now]
        for name in over:
            del self._records[name]


def _id(ref: ConversationRef) -> str:
    parts = (ref.channel, ref.account_id, ref.parent_conversation_id or "", ref.conversation_id)
    return f"generic:{_SEPARATOR.join(parts)}"
