"""Session bindings as values: the conversation, the record, where it is placed, who speaks there (seed 002)."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.values import Address, DelegationId, Identity


class TargetKind(StrEnum):
    """What a conversation is bound to."""

    #: the session of delegated work
    SUBAGENT = "subagent"
    #: any other session
    SESSION = "session"
    #: reserved by seed 002; refused today
    ACP = "acp"


class Placement(StrEnum):
    """Which conversation a binding takes: the one that is named, or a new one under it."""

    CURRENT = "current"
    CHILD = "child"


class PlaceState(StrEnum):
    """What a platform says of a bound conversation."""

    OPEN = "open"
    #: it takes messages again once it is unarchived
    ARCHIVED = "archived"
    #: deleted, or not to be seen any more
    GONE = "gone"


class BindingStatus(StrEnum):
    """Where a binding stands; the transitions are the table in `trunkline.core.bindings.states`."""

    ACTIVE = "active"
    #: takes nothing new; what is under way is finished
    ENDING = "ending"
    ENDED = "ended"


class ConversationRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A conversation as seed 002 names it. `Address` is the same inside the core, with kind and thread apart."""

    channel: str
    account_id: str
    #: a raw id or a target with its prefix; on Telegram with its topic: ``-100:topic:7``
    conversation_id: str
    parent_conversation_id: str | None = None


class SessionBindingRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A conversation that belongs to a session. Times are seconds on the gateway's clock."""

    binding_id: str
    target_session_key: str
    target_kind: TargetKind
    conversation: Address
    status: BindingStatus = BindingStatus.ACTIVE
    bound_at: float
    last_activity_at: float
    #: it ends when nothing has happened for so long; 0: never for that
    idle_timeout: float = 0.0
    #: it ends so long after it began; 0: never for that
    max_age: float = 0.0
    #: who bound it: ``spawn``, ``operator``, or the peer as ``<channel>:<id>``
    bound_by: str = "operator"
    #: what people call it, e.g. the hand
    label: str = ""
    #: who speaks there; none: the bot
    identity: Identity | None = None
    #: sends in a row that went out under another identity than this one
    fallbacks: int = 0
    #: why `identity` is not used any more; see `binding.degraded`
    degraded: Reason | None = None
    #: the delegation that it was made for
    delegation: DelegationId | None = None
    #: what asked for it, so that a repeated request finds it again
    request: str | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    #: why it is ending or has ended
    reason: Reason | None = None
    ended_at: float | None = None

    @property
    def expires_at(self) -> float | None:
        """When it ends unless something happens; none: never. The earlier of both deadlines."""
        ends: list[float] = []
        if self.idle_timeout > 0:
            ends.append(self.last_activity_at + self.idle_timeout)
        if self.max_age > 0:
            ends.append(self.bound_at + self.max_age)
        return min(ends, default=None)

    @property
    def expiry_reason(self) -> Reason:
        """Which deadline comes first."""
        idle = self.last_activity_at + self.idle_timeout if self.idle_timeout > 0 else None
        age = self.bound_at + self.max_age if self.max_age > 0 else None
        return Reason.MAX_AGE_EXPIRED if age is not None and (idle is None or age <= idle) else Reason.IDLE_EXPIRED

    def expired(self, now: float) -> bool:
        """Whether it is over by its own deadlines."""
        ends = self.expires_at
        return ends is not None and ends <= now

    def routes(self, now: float) -> bool:
        """Whether messages of the conversation go to the session (invariant B1)."""
        return self.status is BindingStatus.ACTIVE and not self.expired(now)
