"""Events of session bindings, the completion router, identities and chat commands."""

from typing import ClassVar

import msgspec

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address


class BindingBound(Body, frozen=True, kw_only=True):
    """Committed: the conversation belongs to the session from now on."""

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
    #: the identity that posts there; none for the bot
    identity: str | None = None
    #: the conversation's previous binding
    instead_of: str | None = None
    #: ``channel``: other accounts of the gateway are silent there; in traces of earlier versions they were not
    owner: str = "account"


class BindingTouched(Body, frozen=True, kw_only=True):
    """A message in a bound conversation moved the idle deadline."""

    #: ``inbound`` or ``outbound``
    by: str
    last_activity_at: float
    expires_at: float | None = None


class BindingEnding(Body, frozen=True, kw_only=True):
    """Committed: the binding accepts nothing new; work in flight is finished."""

    conversation: Address
    session_key: str
    reason: Reason
    #: number of turns and messages in flight
    under_way: int


class BindingEnded(Body, frozen=True, kw_only=True):
    """Committed: the binding has ended; the conversation follows the default route again."""

    conversation: Address
    session_key: str
    reason: Reason
    #: who ended it, as in `BindingBound`; none if it expired or was cleaned up
    by: str | None = None
    detail: str = ""


class BindingRefused(Body, frozen=True, kw_only=True):
    """A bind or unbind request was refused: nothing changed, and the caller gets the reason."""

    #: ``bind`` or ``unbind``
    verb: str
    #: as requested
    conversation: str
    session_key: str
    reason: Reason
    detail: str
    by: str = ""


class BindingDegraded(Body, frozen=True, kw_only=True):
    """A bound conversation has lost its identity: the bot posts there from now on (B134)."""

    identity: str
    reason: Reason
    #: consecutive sends that went out as the bot
    fallbacks: int


class RouterCandidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A binding considered by the router, with the first reason for or against."""

    binding: str
    conversation: Address
    status: str
    chosen: bool
    reason: Reason


class RouterDecided(Body, frozen=True, kw_only=True):
    """The router's decision on a completion: a bound conversation, or a fallback, and why."""

    event_kind: str
    target_session_key: str
    requester: Address | None
    fail_closed: bool
    #: ``bound`` or ``fallback``
    mode: str
    reason: Reason
    #: the chosen conversation
    conversation: Address | None = None
    candidates: tuple[RouterCandidate, ...] = ()


class FallbackDenied(Body, frozen=True, kw_only=True):
    """A message cannot reach the place and goes nowhere else, except for a short notice (invariant R2)."""

    #: its place; none if that is gone
    asked: Address | None
    #: the place that was denied
    refused: Address | None
    reason: Reason
    #: a short notice without its content goes to `refused`
    notice: bool = False


class IdentityFallback(Body, frozen=True, kw_only=True):
    """A chunk is sent as the bot because the identity is unusable; recorded before the send (B134)."""

    kind: ClassVar[str] = "fallback.identity"
    chunk: int
    attempt: int
    instead_of: str
    used: str
    reason: Reason


class PlaceReopened(Body, frozen=True, kw_only=True):
    """The gateway unarchived a bound conversation to post there."""

    address: Address


class ControlCalled(Body, frozen=True, kw_only=True):
    """A peer sent a chat command to the gateway itself."""

    command: str
    argument: str
    by: str


class ControlEnded(Body, frozen=True, kw_only=True):
    """A chat command was done or refused. The answer goes back to the place of the command."""

    command: str
    #: ``done`` or ``refused``
    outcome: str
    reason: Reason | None = None
    detail: str = ""
