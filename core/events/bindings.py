"""Events of session bindings, of the bound-delivery router, and of who speaks where (seed 002)."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address


class BindingBound(Body, frozen=True, kw_only=True):
    """Committed: from now on the conversation belongs to the session."""

    kind: ClassVar[str] = "binding.bound"
    conversation: Address
    session_key: str
    target_kind: str
    placement: str
    #: ``spawn``, ``operator``, or the peer as ``<channel>:<id>``
    by: str
    label: str = ""
    idle_timeout: float = 0.0
    max_age: float = 0.0
    expires_at: float | None = None
    #: who speaks there; none: the bot
    identity: str | None = None
    #: the binding that the conversation had until now
    instead_of: str | None = None


class BindingTouched(Body, frozen=True, kw_only=True):
    """Something was said in a bound conversation: its idle deadline moves."""

    kind: ClassVar[str] = "binding.touched"
    #: ``inbound`` or ``outbound``
    by: str
    last_activity_at: float
    expires_at: float | None = None


class BindingEnding(Body, frozen=True, kw_only=True):
    """Committed: the binding takes nothing new; what is under way for it is finished."""

    kind: ClassVar[str] = "binding.ending"
    conversation: Address
    session_key: str
    reason: Reason
    #: turns and messages that are under way
    under_way: int


class BindingEnded(Body, frozen=True, kw_only=True):
    """Committed: the binding is over; its conversation goes its default route again."""

    kind: ClassVar[str] = "binding.ended"
    conversation: Address
    session_key: str
    reason: Reason
    #: who did it, as in `BindingBound`; none: nobody, it came about
    by: str | None = None
    detail: str = ""


class BindingRefused(Body, frozen=True, kw_only=True):
    """A conversation could not be bound or unbound; nothing was changed, and whoever asked was told."""

    kind: ClassVar[str] = "binding.refused"
    #: ``bind`` or ``unbind``
    verb: str
    #: as it was asked for
    conversation: str
    session_key: str
    reason: Reason
    detail: str
    by: str = ""


class BindingDegraded(Body, frozen=True, kw_only=True):
    """A bound conversation has lost the identity that spoke there: from now on it is the bot (B134)."""

    kind: ClassVar[str] = "binding.degraded"
    identity: str
    reason: Reason
    #: sends in a row that had to go out as the bot
    fallbacks: int


class RouterCandidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A binding of the session that the router looked at, and the first reason it won or lost."""

    binding: str
    conversation: Address
    status: str
    chosen: bool
    reason: Reason


class RouterDecided(Body, frozen=True, kw_only=True):
    """Where a completion goes: to a bound conversation, or nowhere of that kind, and why (seed 002)."""

    kind: ClassVar[str] = "router.decided"
    event_kind: str
    target_session_key: str
    requester: Address | None
    fail_closed: bool
    #: ``bound`` or ``fallback``
    mode: str
    reason: Reason
    #: the conversation that was chosen
    conversation: Address | None = None
    candidates: tuple[RouterCandidate, ...] = ()


class FallbackDenied(Body, frozen=True, kw_only=True):
    """A message cannot go where it belongs, and it goes nowhere else: at most a short notice does (invariant R2)."""

    kind: ClassVar[str] = "fallback.denied"
    #: where it belongs; none: that place is not there any more
    asked: Address | None
    #: where it would have gone
    refused: Address | None
    reason: Reason
    #: a short notice without its content goes to `refused`
    notice: bool = False


class IdentityFallback(Body, frozen=True, kw_only=True):
    """A chunk goes out as the bot, since its own identity cannot be used; recorded before the send (B134)."""

    kind: ClassVar[str] = "fallback.identity"
    chunk: int
    attempt: int
    instead_of: str
    used: str
    reason: Reason


class PlaceReopened(Body, frozen=True, kw_only=True):
    """The gateway unarchived a bound conversation, to say something there."""

    kind: ClassVar[str] = "place.reopened"
    address: Address


class ControlCalled(Body, frozen=True, kw_only=True):
    """A peer gave the gateway itself a command."""

    kind: ClassVar[str] = "control.called"
    command: str
    argument: str
    by: str


class ControlEnded(Body, frozen=True, kw_only=True):
    """A command of a peer was done or refused. The text goes back to where it was given."""

    kind: ClassVar[str] = "control.ended"
    command: str
    #: ``done`` or ``refused``
    outcome: str
    reason: Reason | None = None
    detail: str = ""
