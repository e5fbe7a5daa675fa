"""Upstream's session bindings: a dispatcher over the adapters of channels and accounts (the `openclaw` profiles).

What it does and `core.runtime.bindings.service` does not, stated by the table `bindings`,
section 5: adapters keep the records, each its own; `touch` and `unbind` go to every adapter, so that ids can collide
across channels; an expired binding routes until it is swept; whoever registered first for a channel and account stays
in charge (March) or whoever registered last (August). Times are milliseconds, as they are there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from trunkline.core.errors import BindingError
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import account_id, fold
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement
from trunkline.core.states.binding import BindingStatus

_BOTH = (Placement.CURRENT.value, Placement.CHILD.value)

Key = tuple[str, str]
Clock = Callable[[], int]


class UpstreamRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A binding as upstream's adapters tell of it. Only active ones are ever told of."""

    binding_id: str
    target_session_key: str
    target_kind: str
    conversation: ConversationRef
    status: BindingStatus = BindingStatus.ACTIVE
    bound_at: int
    expires_at: int | None = None
    last_activity_at: int


class UpstreamBind(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be bound."""

    target_session_key: str
    target_kind: str
    conversation: ConversationRef
    #: a word of `Placement`; none: as the conversation suggests
    placement: str | None = None
    ttl: int | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class UpstreamCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What can be asked of a channel and account."""

    adapter_available: bool = False
    bind_supported: bool = False
    unbind_supported: bool = False
    placements: tuple[str, ...] = ()


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter says of itself; none: it is seen from its methods, or both placements."""

    bind: bool | None = None
    unbind: bool | None = None
    placements: tuple[str, ...] | None = None


class UpstreamAdapter(Protocol):
    """What keeps the bindings of one channel and account."""

    declared: Declared
    #: it has a way to bind, and one to unbind
    can_bind: bool
    can_unbind: bool

    async def bind(self, asked: UpstreamBind) -> UpstreamRecord | None: ...
    async def unbind(self, binding_id: str | None, session_key: str | None) -> Sequence[UpstreamRecord]: ...
    def list_by_session(self, session_key: str) -> Sequence[UpstreamRecord]: ...
    def resolve(self, ref: ConversationRef) -> UpstreamRecord | None: ...
    def touch(self, binding_id: str, at: int | None) -> None: ...


def normal_ref(ref: ConversationRef) -> ConversationRef:
    """A reference without spaces around, its channel folded and its account as keys have it; no blank parent."""
    return ConversationRef(
        channel=fold(ref.channel),
        account_id=account_id(ref.account_id),
        conversation_id=ref.conversation_id.strip(),
        parent_conversation_id=(ref.parent_conversation_id or "").strip() or None,
    )


def error_code(error: BindingError) -> str:
    """The word that upstream has for a refusal."""
    return error.reason.value.upper().replace("-", "_")


class UpstreamBindings:
    """The dispatcher. `generic` keeps what channels without an adapter bind (August)."""

    def __init__(self, profile: Profile, generic: "GenericPort | None" = None) -> None:
        self._profile = profile
        # March has no store for channels without an adapter.
        self._generic = generic if profile is Profile.OPENCLAW_2026_08 else None
        self._stacks: dict[Key, list[UpstreamAdapter]] = {}

    # ------------------------------------------------------------ registration

    def register(self, channel: str, account: str, adapter: UpstreamAdapter) -> None:
        """Add an adapter. Where there is one already, who is in charge depends on the version."""
        self._stacks.setdefault(_key(channel, account), []).append(adapter)

    def unregister(self, channel: str, account: str, adapter: UpstreamAdapter | None = None) -> None:
        """Take an adapter out, or the one that came last. One that is not there changes nothing."""
        key = _key(channel, account)
        stack = self._stacks.get(key, [])
        at = len(stack) - 1 if adapter is None else _last(stack, adapter)
        if at >= 0:
            del stack[at]
        if not stack:
            self._stacks.pop(key, None)

    def _in_charge(self, key: Key) -> UpstreamAdapter | None:
        stack = self._stacks.get(key)
        # August: whoever registered last; March: whoever registered first and has not left.
        return None if not stack else stack[-1 if self._profile is Profile.OPENCLAW_2026_08 else 0]

    def _active(self) -> Iterable[UpstreamAdapter]:
        """The adapters in charge, in the order in which their keys were first registered; the generic store last."""
        yield from (adapter for key in self._stacks if (adapter := self._in_charge(key)) is not None)
        if self._generic is not None:
            yield self._generic

    def _for(self, ref: ConversationRef) -> UpstreamAdapter | None:
        found = self._in_charge((ref.channel, ref.account_id))
        if found is None and self._generic is not None and self._generic.serves(ref.channel, ref.account_id):
            return self._generic
        return found

    # ------------------------------------------------------------ the service

    def capabilities(self, channel: str, account: str) -> UpstreamCapabilities:
        """What can be asked. Placements are hidden where nothing can be bound; that stops no call of `bind`."""
        ref = normal_ref(ConversationRef(channel=channel, account_id=account, conversation_id=""))
        adapter = self._for(ref)
        if adapter is None:
            return UpstreamCapabilities()
        declared = adapter.declared
        binds = adapter.can_bind if declared.bind is None else declared.bind
        return UpstreamCapabilities(
            adapter_available=True,
            bind_supported=binds,
            unbind_supported=adapter.can_unbind if declared.unbind is None else declared.unbind,
            placements=placements_of(declared) if binds else (),
        )

    async def bind(self, asked: UpstreamBind) -> UpstreamRecord:
        """Bind a conversation. Raises `BindingError`; see `error_code`."""
        ref = normal_ref(asked.conversation)
        place = f"{ref.channel}:{ref.account_id}"
        adapter = self._for(ref)
        if adapter is None:
            raise BindingError(f"no adapter of {place} is there", Reason.BINDING_ADAPTER_UNAVAILABLE)
        if not adapter.can_bind:
            raise BindingError(f"the adapter of {place} does not bind", Reason.BINDING_CAPABILITY_UNSUPPORTED)
        placement = asked.placement or (Placement.CURRENT if ref.conversation_id else Placement.CHILD).value
        if placement not in placements_of(adapter.declared):
            facts = f"the adapter of {place} does not bind a {placement} conversation"
            raise BindingError(facts, Reason.BINDING_CAPABILITY_UNSUPPORTED, placement)
        record = await adapter.bind(msgspec.structs.replace(asked, conversation=ref, placement=placement))
        if record is None:
            raise BindingError(f"the adapter of {place} bound nothing", Reason.BINDING_CREATE_FAILED, placement)
        return record

    def list_by_session(self, session_key: str) -> tuple[UpstreamRecord, ...]:
        """The bindings of a session, on all channels and accounts."""
        key = session_key.strip()
        if not key:
            return ()
        return self._once(record for adapter in self._active() for record in adapter.list_by_session(key))

    def resolve_by_conversation(self, ref: ConversationRef) -> UpstreamRecord | None:
        """The binding of a conversation. Only the adapter of its channel and account is asked."""
        normal = normal_ref(ref)
        if not normal.channel or not normal.conversation_id:
            return None
        adapter = self._for(normal)
        return None if adapter is None else adapter.resolve(normal)

    def touch(self, binding_id: str, at: int | None = None, scope: Key | None = None) -> None:
        """Something was said. Every adapter is told, and knows its own ids; August may name channel and account."""
        name = binding_id.strip()
        for adapter in self._scoped(scope) if name else ():
            adapter.touch(name, at)

    async def unbind(
        self, binding_id: str | None = None, session_key: str | None = None, scope: Key | None = None
    ) -> tuple[UpstreamRecord, ...]:
        """Remove bindings; what was removed. Nothing that fits is no error."""
        removed: list[UpstreamRecord] = []
        for adapter in self._scoped(scope):
            if adapter.can_unbind:
                removed += await adapter.unbind(_given(binding_id), _given(session_key))
        return self._once(removed)

    def _scoped(self, scope: Key | None) -> Sequence[UpstreamAdapter]:
        if scope is None or self._profile is not Profile.OPENCLAW_2026_08:
            return tuple(self._active())
        adapter = self._for(normal_ref(ConversationRef(channel=scope[0], account_id=scope[1], conversation_id="")))
        return () if adapter is None else (adapter,)

    def _once(self, records: Iterable[UpstreamRecord]) -> tuple[UpstreamRecord, ...]:
        """Each binding once: in March by its id alone, so that two channels may collapse into one."""
        found: dict[tuple[str, ...], UpstreamRecord] = {}
        for record in records:
            place = record.conversation
            august = (place.channel, place.account_id) if self._profile is Profile.OPENCLAW_2026_08 else ()
            found.setdefault((*august, record.binding_id), record)
        return tuple(found.values())


class GenericPort(UpstreamAdapter, Protocol):
    """The store for channels without an adapter, as an adapter that serves many."""

    def serves(self, channel: str, account: str) -> bool: ...


def placements_of(declared: Declared) -> tuple[str, ...]:
    """The placements that an adapter offers: those that it names, each once, without unknown words; for none both."""
    named = tuple(dict.fromkeys(word for word in declared.placements or () if word in _BOTH))
    return named or _BOTH


def _key(channel: str, account: str) -> Key:
    return fold(channel), account_id(account)


def _last(stack: Sequence[UpstreamAdapter], adapter: UpstreamAdapter) -> int:
    return max((at for at, known in enumerate(stack) if known is adapter), default=-1)


def _given(text: str | None) -> str | None:
    return (text or "").strip() or None
