"""The values of session bindings: references to conversations, records, placements and states."""

from enum import StrEnum

import msgspec

from trunkline.core.errors import BindingError
from trunkline.core.reasons import Reason
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address, DelegationId, Identity

#: metadata entry of a record: what was said about its end
END_NOTE = "end_note"
#: in a reference, between a group and the id of its topic
TOPIC = ":topic:"
#: maximum length of a note about an end
_NOTE = 500


class TargetKind(StrEnum):
    """The kind of session that a conversation is bound to."""

    #: the session of delegated work
    SUBAGENT = "subagent"
    #: any other session
    SESSION = "session"
    #: reserved; not supported
    ACP = "acp"


class Placement(StrEnum):
    """Which conversation a request binds: the named one, or a new one under it."""

    CURRENT = "current"
    CHILD = "child"


class PlaceState(StrEnum):
    """The state of a bound conversation on its platform."""

    OPEN = "open"
    #: accepts messages again once it is unarchived
    ARCHIVED = "archived"
    #: deleted or no longer visible
    GONE = "gone"


class ConversationRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A conversation in the binding API. Inside the core it is an `Address`, with kind and thread as fields."""

    channel: str
    account_id: str
    #: a raw id or a target with its prefix; on Telegram with its topic: ``-100:topic:7``
    conversation_id: str
    parent_conversation_id: str | None = None

    @classmethod
    def of(cls, place: Address) -> "ConversationRef":
        """The reference of a place."""
        tail = "" if place.thread is None else f"{TOPIC}{place.thread}"
        return cls(
            channel=place.channel,
            account_id=place.account,
            conversation_id=f"{place.conversation}{tail}",
            parent_conversation_id=place.parent if place.thread is None else place.conversation,
        )


class SessionBindingRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A conversation that belongs to a session. Times are seconds on the gateway's clock."""

    binding_id: str
    target_session_key: str
    target_kind: TargetKind
    conversation: Address
    status: BindingStatus = BindingStatus.ACTIVE
    bound_at: float
    last_activity_at: float
    #: ends after this long without activity; 0: never
    idle_timeout: float = 0.0
    #: ends this long after `bound_at`; 0: never
    max_age: float = 0.0
    #: who bound it: ``spawn``, ``operator``, or the peer as ``<channel>:<id>``
    bound_by: str = "operator"
    #: its name for people, e.g. the hand
    label: str = ""
    #: the webhook that posts there; None: the bot
    identity: Identity | None = None
    #: number of consecutive sends without this identity
    fallbacks: int = 0
    #: why `identity` is no longer used; see the event `binding.degraded`
    degraded: Reason | None = None
    #: the delegation that it was created for
    delegation: DelegationId | None = None
    #: ``channel``: no other account of the gateway answers there; ``account``: the others follow their own rules
    owner: str = "channel"
    #: id of the request that created it, by which a repeated request finds it
    request: str | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    #: why it is ending or ended
    reason: Reason | None = None
    ended_at: float | None = None

    @property
    def expires_at(self) -> float | None:
        """The earlier one of both deadlines; None: never."""
        ends: list[float] = []
        if self.idle_timeout > 0:
            ends.append(self.last_activity_at + self.idle_timeout)
        if self.max_age > 0:
            ends.append(self.bound_at + self.max_age)
        return min(ends, default=None)

    @property
    def expiry_reason(self) -> Reason:
        """The reason that belongs to the earlier deadline."""
        idle = self.last_activity_at + self.idle_timeout if self.idle_timeout > 0 else None
        age = self.bound_at + self.max_age if self.max_age > 0 else None
        return Reason.MAX_AGE_EXPIRED if age is not None and (idle is None or age <= idle) else Reason.IDLE_EXPIRED

    def expired(self, now: float) -> bool:
        ends = self.expires_at
        return ends is not None and ends <= now

    def routes(self, now: float) -> bool:
        """Whether messages of the conversation are routed to the session (invariant B1)."""
        return self.status is BindingStatus.ACTIVE and not self.expired(now)


def end_reason(reason: Reason | str, note: str) -> tuple[Reason, str]:
    """The code to store for the end of a binding, and the note. Raises `BindingError` for anything but texts."""
    if not isinstance(reason, str) or not isinstance(note, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers need not be typed
        facts = f"the reason and the note of an end are texts, not {type(reason).__name__} and {type(note).__name__}"
        raise BindingError(facts, Reason.BAD_END_REASON)
    try:
        code = Reason(reason)
    except ValueError:
        code, note = Reason.UNBOUND, f"{reason}: {note}" if note else reason
    return code, note if len(note) <= _NOTE else f"{note[: _NOTE - 1]}…"
