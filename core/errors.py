"""All errors of Trunkline.

TrunklineError
  UsageError              the caller made a mistake
    ConfigError           a configuration value is unusable
    KeyFormatError        the text is not a session key
    ChannelConflict       the channel has other rules already
    UnknownName           there is no such agent, hand, account or place
    BadCursor             the text is no cursor of the list
    ExpiredCursor         what a cursor of a list points to is gone
    TargetError           the text does not name a place on its platform
      AmbiguousTarget     it may name several places
    InvalidSend           the send is invalid; nothing was sent or stored
    BindingError          the conversation cannot be bound or unbound; nothing was changed
    DelegationRefused     the task cannot be delegated; no work has started
    AnswerRefused         an answer does not fit the delegation that it names; nothing was changed
    InvalidCall           a tool was called with unusable arguments; nothing was done
    InvalidAction         the message tool cannot carry the call out; nothing was done
    PolicyDenied          the policy does not allow it; nothing was done
    TurnOver              a tool was called after its turn had ended; nothing was done
  PlatformError           the platform did not accept a message; says whether it may have
    NotSent               provably never reached the platform: safe to retry
      SpeechFailed        the text could not be turned into speech
    RateLimited           rejected, with a time to wait
    Refused               rejected for good
      PlaceGone           the conversation or thread no longer accepts messages
        PlaceArchived     it is closed for now, and may be opened again
        CallEnded         the call has ended, and this was not said in it to the end
      IdentityGone        the webhook that should post cannot be used
    Unauthorized          the token is not accepted
    Ambiguous             it may or may not have been accepted
  SendFailed              a client's send was not delivered; the event and the facts say what is known
  AgentFailed             an agent could not answer; says why
  HandError               a hand failed
  HookError               a hook returned an invalid answer
  ChunkerError            the chunker of a channel or an adapter returned unusable chunks
  UserCodeEscape          user code raised what would end a task or the process; it counts as an error of that call
  StoreError              the store cannot be used
    StoreTooNew           written by a newer version; left untouched
    StoreDamaged          what the file holds is damaged, or is no store; left as it is
    StoreGone             the file was deleted or replaced while the gateway worked on it
    LeaseLost             another process holds the store now; nothing was stored
  IllegalTransition       the state machine does not allow the event; nothing was changed
  InvariantBroken         a bug of ours: a promise of the core does not hold

The message of an error is the first line of its class's docstring plus the facts of the case.
"""

import math

from trunkline.core.reasons import Reason
from trunkline.core.well_formed import LONGEST_WORD, cut_words, plain_text


class TrunklineError(Exception):
    """Something went wrong in Trunkline."""

    def __init__(self, facts: str = "") -> None:
        first = (type(self).__doc__ or "").strip().splitlines()[0].rstrip(".")
        # User code raises some of these too, with whatever it has at hand.
        said = plain_text(facts)
        self.facts: str = plain_text(str(facts)) or "" if said is None else said
        super().__init__(f"{first}: {self.facts}" if self.facts else first)


class UsageError(TrunklineError):
    """Wrong use."""

    def __init__(self, facts: str = "") -> None:
        # Most quote what was written, which may be a number of 5,000 digits.
        super().__init__(cut_words(facts) if type(facts) is str and len(facts) > LONGEST_WORD else facts)


class ConfigError(UsageError):
    """Unusable configuration."""


class KeyFormatError(UsageError):
    """Not a session key."""


class UnknownName(UsageError):
    """Unknown name."""


class ChannelConflict(UsageError):
    """Channel taken."""


class BadCursor(UsageError):
    """Not a cursor of this list."""


class ExpiredCursor(UsageError):
    """The place that the cursor points to is gone; begin the list again."""


class TargetError(UsageError):
    """Not a target."""


class AmbiguousTarget(TargetError):
    """Ambiguous target."""


class InvalidSend(UsageError):
    """The send cannot be done as asked."""

    def __init__(self, facts: str = "", reason: Reason = Reason.BAD_TARGET) -> None:
        super().__init__(facts)
        #: the reason code for events
        self.reason = reason


class InvalidAction(UsageError):
    """The action cannot be done as asked."""

    def __init__(self, sentence: str = "", reason: Reason = Reason.BAD_ACTION, *, remedy: str = "") -> None:
        end = " " if sentence.endswith((".", "!", "?")) else ". "
        super().__init__(f"{sentence}{end}{remedy}" if remedy else sentence)
        #: what is wrong, in the words of upstream where upstream has the rule
        self.sentence = sentence
        #: the reason code for events
        self.reason = reason


class BindingError(UsageError):
    """The conversation cannot be bound or unbound as asked."""

    def __init__(
        self, facts: str = "", reason: Reason = Reason.BINDING_CREATE_FAILED, placement: str | None = None
    ) -> None:
        super().__init__(facts)
        #: the reason code for events
        self.reason = reason
        #: the requested placement, where it matters
        self.placement = placement


class DelegationRefused(UsageError):
    """The task cannot be delegated; no work has started."""

    def __init__(self, facts: str = "", reason: Reason = Reason.UNKNOWN_HAND) -> None:
        super().__init__(facts)
        #: the reason code for events
        self.reason = reason


class AnswerRefused(UsageError):
    """The answer, progress or request does not fit the delegation that it names; nothing has changed."""

    def __init__(self, facts: str = "", reason: Reason = Reason.UNKNOWN_DELEGATION) -> None:
        super().__init__(facts)
        #: the reason code for events
        self.reason = reason


class InvalidCall(UsageError):
    """The tool cannot be called like that."""


class PolicyDenied(UsageError):
    """Not allowed."""

    #: the reason code for events
    reason: Reason = Reason.CROSS_CONTEXT_DENIED


class TurnOver(UsageError):
    """The turn has ended, and its tools with it."""


class PlatformError(TrunklineError):
    """The platform did not accept the message."""

    #: the reason code for events and rows
    reason: Reason = Reason.PLATFORM_ERROR
    #: a later retry may succeed
    retryable: bool = True
    #: it may have been accepted nevertheless
    ambiguous: bool = False

    def __init__(self, facts: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(facts)
        #: seconds that the platform asks to wait
        self.retry_after = retry_after if _is_wait(retry_after) else None


class NotSent(PlatformError):
    """The request never reached the platform."""

    reason = Reason.NOT_SENT


class SpeechFailed(NotSent):
    """The text could not be turned into speech."""


class RateLimited(PlatformError):
    """The platform asks to wait."""

    reason = Reason.RATE_LIMITED


class Refused(PlatformError):
    """The platform refused the message for good."""

    reason = Reason.REFUSED
    retryable = False


class PlaceGone(Refused):
    """The conversation or thread no longer accepts messages."""

    reason = Reason.PLACE_GONE


class PlaceArchived(PlaceGone):
    """The thread is closed, and may be opened again."""

    reason = Reason.PLACE_CLOSED
    retryable = True


class CallEnded(PlaceGone):
    """The call has ended.

    The text of the request was not said to its end, by no attempt under its key, and never will be.
    """

    reason = Reason.CALL_ENDED


class IdentityGone(Refused):
    """The webhook that should post is gone or may not be used."""

    reason = Reason.IDENTITY_GONE


class Unauthorized(PlatformError):
    """The platform does not accept the account's token."""

    reason = Reason.UNAUTHORIZED


class Ambiguous(PlatformError):
    """No response came back; the message may have been accepted."""

    reason = Reason.RESPONSE_LOST
    ambiguous = True


class SendFailed(TrunklineError):
    """The message was not delivered."""

    def __init__(self, facts: str = "", *, cached: bool = False, final: bool = False) -> None:
        super().__init__(facts)
        #: another call with the same key failed; this call attempted nothing
        self.cached = cached
        #: nothing is retried under this key: the message, or a part of it, may be visible nevertheless
        self.final = final


class AgentFailed(TrunklineError):
    """The agent could not answer."""

    def __init__(self, facts: str = "", reason: Reason = Reason.AGENT_RAISED) -> None:
        super().__init__(facts)
        #: why; the turn ends as failed for it
        self.reason = reason


class HandError(TrunklineError):
    """The hand failed."""


class HookError(TrunklineError):
    """The hook failed."""


class ChunkerError(TrunklineError):
    """The chunker failed."""


class UserCodeEscape(TrunklineError):
    """User code let this out."""


class StoreError(TrunklineError):
    """The store cannot be used."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Trunkline and was left untouched."""


class StoreDamaged(StoreError):
    """The store is damaged, or is no store."""


class StoreGone(StoreError):
    """The store was deleted or replaced while in use."""


class LeaseLost(StoreError):
    """Another process holds the store now; nothing was stored."""


class IllegalTransition(TrunklineError):
    """The state machine does not allow this event; nothing was changed."""


class InvariantBroken(TrunklineError):
    """A promise of the core does not hold; please report this."""


def _is_wait(seconds: object) -> bool:
    return isinstance(seconds, int | float) and 0 <= seconds < math.inf
