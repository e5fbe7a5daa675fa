"""The request to bind a conversation, and the validation before anything happens."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypedDict, TypeVar

import msgspec

from trunkline.core.bindings.conversation_match import place_of, same_place
from trunkline.core.config import GatewayConfig, ThreadBindingsConfig
from trunkline.core.declared import filled
from trunkline.core.errors import BindingError, KeyFormatError, TargetError
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement, SessionBindingRecord, TargetKind
from trunkline.core.routing.key_text import read_config_key
from trunkline.core.sessions.named_key import NamedKey, read_named_key
from trunkline.core.values import Address, ChatKind, DelegationId
from trunkline.core.well_formed import well_formed

E = TypeVar("E", bound=StrEnum)
#: requester with all permissions
OPERATOR = "operator"
#: requester of a binding for delegated work
SPAWN = "spawn"
NO_SESSION = "no session is named: give the key of the session that receives the messages"


def spawn_request(delegation: DelegationId) -> str:
    """The request id of a binding for delegated work: always the same, so a binding is made only once."""
    return f"{SPAWN}:{delegation}"


class BindRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to bind a conversation to a session. Times are seconds; None: as configured for the channel."""

    target_session_key: str
    target_kind: TargetKind = TargetKind.SESSION
    #: with placement ``child``, the parent of the new conversation
    conversation: Address | ConversationRef
    placement: Placement | None = None
    idle_timeout: float | None = None
    max_age: float | None = None
    #: time to live; like `max_age`, and the smaller of both counts
    ttl: float | None = None
    label: str = ""
    #: name of the new thread; empty: the label
    title: str = ""
    metadata: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    by: str = OPERATOR
    #: replace a binding that another user made
    rebind: bool = False
    #: request id: the same request makes only one binding, however often it comes
    request: str | None = None
    delegation: DelegationId | None = None
    #: create the session together with the binding
    new_session: bool = False


class BindFields(TypedDict, total=False):
    """The fields of a `BindRequest` as keyword arguments. Kind and placement may also be strings."""

    target_session_key: str
    target_kind: TargetKind | str
    conversation: Address | ConversationRef
    placement: Placement | str | None
    idle_timeout: float | None
    max_age: float | None
    ttl: float | None
    label: str
    title: str
    metadata: dict[str, str]
    by: str
    rebind: bool
    request: str | None
    delegation: DelegationId | None
    new_session: bool


def request_of(asked: BindRequest | None, fields: BindFields) -> BindRequest:
    """A request from a `BindRequest` or from fields. Raises `BindingError` for both, or for missing fields."""
    if asked is not None:
        if fields:
            raise BindingError("give a request or its fields, not both", Reason.BAD_TARGET)
        return asked
    if not fields.get("target_session_key"):
        raise BindingError(NO_SESSION, Reason.UNKNOWN_SESSION)
    if fields.get("conversation") is None:
        raise BindingError("no conversation is named: give the one to bind", Reason.BAD_TARGET)
    given: dict[str, Any] = {**fields}
    return BindRequest(**given)


def shown(asked: BindRequest | None, fields: BindFields) -> tuple[str, str, str]:
    """Conversation, session and requester of a possibly invalid request, for messages."""
    if asked is not None:
        return _named(asked.conversation), asked.target_session_key, asked.by
    return _named(fields.get("conversation")), str(fields.get("target_session_key", "")), fields.get("by", OPERATOR)


def _named(place: Address | ConversationRef | None) -> str:
    if isinstance(place, ConversationRef):
        return f"{place.channel}:{place.account_id}/{place.conversation_id}"
    return "" if place is None else str(place)


def normal(asked: BindRequest) -> BindRequest:
    """A request in storable form. Raises `BindingError` for an unknown kind or placement, or non-text metadata."""
    placement = asked.placement
    for key, value in asked.metadata.items():
        if not (isinstance(key, str) and isinstance(value, str)):  # pyright: ignore[reportUnnecessaryIsInstance] -- given by users
            raise BindingError(f"metadata {key!r} is {value!r}: give texts", Reason.BAD_TARGET)
    return msgspec.structs.replace(
        asked,
        target_kind=_word(TargetKind, asked.target_kind, "target_kind", Reason.UNSUPPORTED),
        placement=placement and _word(Placement, placement, "placement", Reason.BINDING_CAPABILITY_UNSUPPORTED),
        label=well_formed(asked.label),
        title=well_formed(asked.title),
        by=well_formed(asked.by),
        request=None if asked.request is None else well_formed(asked.request),
        metadata={well_formed(key): well_formed(value) for key, value in asked.metadata.items()},
    )


def _word(words: type[E], word: str, what: str, reason: Reason) -> E:
    try:
        return words(word)
    except ValueError as error:
        there = ", ".join(word.value for word in words)
        raise BindingError(f"{what} is {word!r}; it can be: {there}", reason) from error


def read_target(text: str, config: GatewayConfig, accounts: Mapping[str, str]) -> NamedKey:
    """The session named by a request, in any known form; `accounts`: the default account of each channel.

    Raises `BindingError` for an invalid key or an unknown agent.
    """
    trimmed = text.strip()
    if not trimmed:
        raise BindingError(NO_SESSION, Reason.UNKNOWN_SESSION)
    try:
        found = read_named_key(trimmed, config, accounts)
        # A profile may take any text for a key, but a bound message needs the agent that the key names.
        agent = read_config_key(found.text, config).agent
    except KeyFormatError as error:
        raise BindingError(error.facts, Reason.BAD_SESSION_KEY) from error
    known = [configured.id for configured in config.agents]
    if agent not in known:
        raise BindingError(f"{trimmed!r}: no agent {agent!r}; there are: {', '.join(known)}", Reason.UNKNOWN_SESSION)
    return found


def check_request(asked: BindRequest, config: GatewayConfig) -> Address:
    """Validate a request and return the conversation. Raises `BindingError`."""
    if asked.target_kind is TargetKind.ACP:
        raise BindingError(
            "targets of the kind 'acp' are not built yet: use 'session' or 'subagent'", Reason.UNSUPPORTED
        )
    for name, seconds in (("ttl", asked.ttl), ("idle_timeout", asked.idle_timeout), ("max_age", asked.max_age)):
        _check_seconds(name, seconds)
    try:
        place = asked.conversation if isinstance(asked.conversation, Address) else place_of(asked.conversation)
    except TargetError as error:
        raise BindingError(error.facts, Reason.BAD_TARGET) from error
    if not place.channel.strip() or not place.conversation.strip():
        raise BindingError(f"{place}: a conversation needs a channel and an id", Reason.BAD_TARGET)
    if well_formed(str(place)) != str(place):
        raise BindingError(f"{well_formed(str(place))}: that is no text", Reason.BAD_TARGET)
    if not config.channel(place.channel).thread_bindings.enabled:
        facts = f"channels.{place.channel}.thread_bindings.enabled is off: switch it on"
        raise BindingError(facts, Reason.BINDING_CAPABILITY_UNSUPPORTED)
    return place


def _check_seconds(name: str, seconds: object) -> None:
    """Raise `BindingError` for an invalid time. Zero is valid, but not as a time to live."""
    if seconds is None:
        return
    least = 0.0 if name != "ttl" else math.ulp(0.0)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not least <= seconds < math.inf:
        never = "" if name == "ttl" else ", or 0 for never"
        raise BindingError(f"{name} is {seconds!r}: give a positive number of seconds{never}", Reason.BAD_TTL)


def choose_placement(asked: BindRequest, place: Address, offered: tuple[Placement, ...]) -> Placement:
    """The placement to use. Raises `BindingError` for a placement unknown to the adapter."""
    placement = asked.placement or Placement.CURRENT
    where = f"{place.channel}:{place.account}"
    if not offered:
        facts = f"{place}: the adapter of {where} cannot bind conversations; another channel may"
        raise BindingError(facts, Reason.BINDING_CAPABILITY_UNSUPPORTED)
    if placement not in offered:
        there = ", ".join(placement.value for placement in offered)
        facts = f"{where} cannot bind a {placement.value} conversation; it can: {there}"
        raise BindingError(facts, Reason.BINDING_CAPABILITY_UNSUPPORTED, placement.value)
    if placement is Placement.CHILD and place.kind is ChatKind.DIRECT:
        facts = f"{place} is a direct conversation, which has no threads: bind it itself"
        raise BindingError(facts, Reason.BINDING_CAPABILITY_UNSUPPORTED, placement.value)
    return placement


def may_replace(asked: BindRequest, had: SessionBindingRecord) -> bool:
    """Whether the requester may bind a bound conversation to another session."""
    return asked.rebind or asked.by in (OPERATOR, had.bound_by)


def check_replace(asked: BindRequest, had: SessionBindingRecord) -> None:
    """Raise `BindingError` if another user bound the conversation."""
    if may_replace(asked, had):
        return
    facts = f"{had.conversation} is bound to {had.target_session_key} by {had.bound_by}: unbind it first"
    raise BindingError(facts, Reason.BOUND_BY_ANOTHER)


def check_owner(place: Address, owner: SessionBindingRecord | None) -> None:
    """Raise `BindingError` if the conversation belongs to another account of the gateway."""
    if owner is not None:
        facts = (
            f"{place} is bound through account {owner.conversation.account}, which alone answers there: unbind it"
            " first, or set thread_bindings.owner to account"
        )
        raise BindingError(facts, Reason.BOUND_TO_OTHER_ACCOUNT)


def is_same(asked: BindRequest, place: Address, had: SessionBindingRecord) -> bool:
    """Whether the existing binding already fulfils a request. Binding again restores a lost identity."""
    if had.degraded is not None and may_replace(asked, had):
        return False
    same = had.target_session_key == asked.target_session_key and same_place(had.conversation, place)
    return (
        same and had.target_kind is asked.target_kind and (asked.idle_timeout, asked.max_age, asked.ttl) == (None,) * 3
    )


def record_of(
    asked: BindRequest, place: Address, binding: str, now: float, settings: ThreadBindingsConfig
) -> SessionBindingRecord:
    """The record of a request for an existing conversation. The smaller of ttl and maximum age counts."""
    max_age = settings.max_age if asked.max_age is None else asked.max_age
    if asked.ttl is not None:
        max_age = asked.ttl if max_age == 0 else min(max_age, asked.ttl)
    return filled(
        SessionBindingRecord,
        asked,
        binding_id=binding,
        conversation=place,
        bound_at=now,
        last_activity_at=now,
        idle_timeout=settings.idle_timeout if asked.idle_timeout is None else asked.idle_timeout,
        max_age=max_age,
        bound_by=asked.by,
        owner=settings.owner,
    )
