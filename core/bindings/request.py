"""What is asked when a conversation is to be bound, checked before anything happens (seed 002; issue 5)."""

from __future__ import annotations

import math

import msgspec

from core.bindings.places import place_of, same_place
from core.bindings.values import ConversationRef, Placement, SessionBindingRecord, TargetKind
from core.config import GatewayConfig, ThreadBindingsConfig
from core.errors import BindingError, KeyFormatError, TargetError
from core.keys import SessionKey
from core.keys.codec import read_key
from core.reasons import Reason
from core.values import Address, ChatKind, DelegationId

#: who may do anything
OPERATOR = "operator"
#: work that was delegated
SPAWN = "spawn"


class BindRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that is to belong to a session. Times are seconds; none: as the channel is configured."""

    target_session_key: str
    target_kind: TargetKind = TargetKind.SESSION
    #: with ``child`` the one under which a new one is made
    conversation: Address | ConversationRef
    placement: Placement | None = None
    idle_timeout: float | None = None
    max_age: float | None = None
    #: it ends so long after now, whatever happens: the same as `max_age`
    ttl: float | None = None
    label: str = ""
    #: name of the thread that is made; empty: the label
    title: str = ""
    metadata: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    by: str = OPERATOR
    #: a binding of somebody else is replaced
    rebind: bool = False
    #: the same request makes one binding, however often it comes
    request: str | None = None
    delegation: DelegationId | None = None
    #: the session is made with it
    new_session: bool = False


def read_target(key: str, config: GatewayConfig) -> SessionKey:
    """The session that is named. Raises `BindingError` for what is no key, and for an agent that is not there."""
    text = key.strip()
    if not text:
        raise BindingError(
            "no session is named: give the key of the session that gets the messages", Reason.UNKNOWN_SESSION
        )
    try:
        found = read_key(text, config.profile, config.session.main_key)
    except KeyFormatError as error:
        raise BindingError(error.facts, Reason.BAD_SESSION_KEY) from error
    if found.agent not in {agent.id for agent in config.agents}:
        there = ", ".join(agent.id for agent in config.agents)
        raise BindingError(f"{text!r}: no agent {found.agent!r}; there are: {there}", Reason.UNKNOWN_SESSION)
    return found


def check_request(asked: BindRequest, config: GatewayConfig) -> Address:
    """The conversation of a request that can be tried. Raises `BindingError`."""
    if asked.target_kind is TargetKind.ACP:
        raise BindingError(
            "targets of the kind 'acp' are not built yet: use 'session' or 'subagent'", Reason.UNSUPPORTED
        )
    read_target(asked.target_session_key, config)
    for name, seconds in (("ttl", asked.ttl), ("idle_timeout", asked.idle_timeout), ("max_age", asked.max_age)):
        least = 0.0 if name != "ttl" else math.ulp(0.0)
        if seconds is not None and not least <= seconds < math.inf:
            raise BindingError(f"{name} is {seconds!r}: give a positive number of seconds", Reason.BAD_TTL)
    try:
        place = asked.conversation if isinstance(asked.conversation, Address) else place_of(asked.conversation)
    except TargetError as error:
        raise BindingError(error.facts, Reason.BAD_TARGET) from error
    if not place.channel.strip() or not place.conversation.strip():
        raise BindingError("a conversation needs a channel and an id", Reason.BAD_TARGET)
    if not config.channel(place.channel).thread_bindings.enabled:
        facts = f"channels.{place.channel}.thread_bindings.enabled is off: switch it on"
        raise BindingError(facts, Reason.BINDING_UNSUPPORTED)
    return place


def choose_placement(asked: BindRequest, place: Address, offered: tuple[Placement, ...]) -> Placement:
    """Which conversation is bound. Raises `BindingError` for one that the adapter does not offer."""
    placement = asked.placement or Placement.CURRENT
    where = f"{place.channel}:{place.account}"
    if not offered:
        raise BindingError(f"the adapter of {where} cannot bind conversations", Reason.BINDING_UNSUPPORTED)
    if placement not in offered:
        there = ", ".join(one.value for one in offered)
        facts = f"{where} cannot bind a {placement.value} conversation; it can: {there}"
        raise BindingError(facts, Reason.BINDING_UNSUPPORTED, placement.value)
    if placement is Placement.CHILD and place.kind is ChatKind.DIRECT:
        facts = f"{place} is a direct conversation, which has no threads: bind it itself"
        raise BindingError(facts, Reason.BINDING_UNSUPPORTED, placement.value)
    return placement


def may_replace(asked: BindRequest, had: SessionBindingRecord) -> None:
    """Whether a conversation that is bound may be bound again. Raises `BindingError` when it is somebody else's."""
    if asked.rebind or asked.by in (OPERATOR, had.bound_by):
        return
    facts = f"{had.conversation} is bound to {had.target_session_key} by {had.bound_by}: unbind it first"
    raise BindingError(facts, Reason.BINDING_CONFLICT)


def is_same(asked: BindRequest, place: Address, had: SessionBindingRecord) -> bool:
    """Whether a conversation is bound already as it is to be bound."""
    same = had.target_session_key == asked.target_session_key.strip() and same_place(had.conversation, place)
    return (
        same and had.target_kind is asked.target_kind and (asked.idle_timeout, asked.max_age, asked.ttl) == (None,) * 3
    )


def record_of(
    asked: BindRequest, place: Address, binding: str, now: float, settings: ThreadBindingsConfig
) -> SessionBindingRecord:
    """The record of a request, for a conversation that is there. Of two ages the smaller one counts."""
    max_age = settings.max_age if asked.max_age is None else asked.max_age
    if asked.ttl is not None:
        max_age = asked.ttl if max_age == 0 else min(max_age, asked.ttl)
    return SessionBindingRecord(
        binding_id=binding,
        target_session_key=asked.target_session_key.strip(),
        target_kind=asked.target_kind,
        conversation=place,
        bound_at=now,
        last_activity_at=now,
        idle_timeout=settings.idle_timeout if asked.idle_timeout is None else asked.idle_timeout,
        max_age=max_age,
        bound_by=asked.by,
        label=asked.label,
        delegation=asked.delegation,
        request=asked.request,
        metadata=asked.metadata,
    )
