"""Errors, outlined once.

TrunklineError
  UsageError              the caller did something wrong
    ConfigError           a configuration value is unusable
    KeyFormatError        a text is not a session key
    UnknownName           an agent, hand, account or place that does not exist
    TargetError           a text does not name a place on its platform
      AmbiguousTarget     it may name several things
    InvalidSend           a send that cannot be done as asked; nothing was sent or stored
    BindingError          a conversation cannot be bound or unbound as asked; nothing was changed
  PlatformError           a peer or platform did something; says whether it may have been accepted
    NotSent               proven to precede the platform: safe to retry
    RateLimited           refused, with a time to wait
    Refused               refused for good
      PlaceGone           the conversation or thread does not take messages any more
        PlaceArchived     it is archived, and may be unarchived
      IdentityGone        the webhook that should speak cannot be used
    Unauthorized          the token is not accepted
    Ambiguous             it may or may not have been accepted
  SendFailed              a client's send was not delivered; the event and the facts say what is known
  HandError               a hand failed
  HookError               a hook answered something that is no answer
  StoreError              the store cannot be used
    StoreTooNew           written by a newer version; left untouched
    LeaseLost             another process works the store now; nothing was stored
  IllegalTransition       an event that a state machine does not allow; nothing was changed
  InvariantBroken         ours: a promise of the core does not hold

The text a user sees is the first line of the class's docstring plus the facts of the case.
"""

from __future__ import annotations

from trunkline.core.reasons import Reason


class TrunklineError(Exception):
    """Something went wrong in Trunkline."""

    def __init__(self, facts: str = "") -> None:
        first = (type(self).__doc__ or "").strip().splitlines()[0].rstrip(".")
        super().__init__(f"{first}: {facts}" if facts else first)
        self.facts = facts


class UsageError(TrunklineError):
    """Wrong use."""


class ConfigError(UsageError):
    """Unusable configuration."""


class KeyFormatError(UsageError):
    """Not a session key."""


class UnknownName(UsageError):
    """Unknown name."""


class TargetError(UsageError):
    """Not a target."""


class AmbiguousTarget(TargetError):
    """Ambiguous target."""


class InvalidSend(UsageError):
    """The send cannot be done as asked."""

    def __init__(self, facts: str = "", reason: Reason = Reason.BAD_TARGET) -> None:
        super().__init__(facts)
        #: what to write into events
        self.reason = reason


class BindingError(UsageError):
    """The conversation cannot be bound or unbound as asked."""

    def __init__(
        self, facts: str = "", reason: Reason = Reason.BINDING_CREATE_FAILED, placement: str | None = None
    ) -> None:
        super().__init__(facts)
        #: what to write into events
        self.reason = reason
        #: the placement that was asked for, where that matters
        self.placement = placement


class PlatformError(TrunklineError):
    """The platform did not take the message."""

    #: what to write into events and rows
    reason: Reason = Reason.PLATFORM_ERROR
    #: trying again later may help
    retryable: bool = True
    #: it may have been accepted all the same
    ambiguous: bool = False

    def __init__(self, facts: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(facts)
        #: seconds the platform asks to wait
        self.retry_after = retry_after


class NotSent(PlatformError):
    """The request never reached the platform."""

    reason = Reason.NOT_SENT


class RateLimited(PlatformError):
    """The platform asks to wait."""

    reason = Reason.RATE_LIMITED


class Refused(PlatformError):
    """The platform refused the message for good."""

    reason = Reason.REFUSED
    retryable = False


class PlaceGone(Refused):
    """The conversation or thread does not take messages any more."""

    reason = Reason.PLACE_GONE


class PlaceArchived(PlaceGone):
    """The thread is archived."""


class IdentityGone(Refused):
    """The webhook that should speak is gone or may not be used."""

    reason = Reason.IDENTITY_GONE


class Unauthorized(PlatformError):
    """The platform does not accept the account's token."""

    reason = Reason.UNAUTHORIZED


class Ambiguous(PlatformError):
    """No answer came back; the message may have been accepted."""

    reason = Reason.RESPONSE_LOST
    ambiguous = True


class SendFailed(TrunklineError):
    """The message was not delivered."""

    def __init__(self, facts: str = "", *, cached: bool = False, final: bool = False) -> None:
        super().__init__(facts)
        #: another call with the same key failed; nothing was tried for this one
        self.cached = cached
        #: nothing is tried again under this key: people may see the message all the same, or a part of it
        self.final = final


class HandError(TrunklineError):
    """The hand failed."""


class HookError(TrunklineError):
    """The hook failed."""


class StoreError(TrunklineError):
    """The store cannot be used."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Trunkline and was left untouched."""


class LeaseLost(StoreError):
    """Another process works the store now; nothing was stored."""


class IllegalTransition(TrunklineError):
    """The state machine does not allow this event; nothing was changed."""


class InvariantBroken(TrunklineError):
    """A promise of the core does not hold; please report this."""
