"""Outbound events of the gateway: explicit sends, hooks, intents, attempts, receipts, mirrors."""

from typing import ClassVar

from trunkline.core.action_catalogue import Action
from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState, Transport


class TargetResolved(Body, frozen=True, kw_only=True):
    """A target was resolved to a place and a session; `steps` says how."""

    channel: str
    target: str
    address: Address
    session_key: str
    steps: tuple[str, ...]
    #: another agent, which gets the answers from there: the route rules give it that conversation
    answered_by: str | None = None


class SendRequested(Body, frozen=True, kw_only=True):
    """A client asks the gateway to send a message, outside of any turn. `key` is the idempotency key."""

    key: str
    channel: str | None
    target: str
    session_key: str | None
    text: str


class SendJoined(Body, frozen=True, kw_only=True):
    """An idempotency key was used again: nothing is sent, and the caller gets the first result."""

    key: str
    reason: Reason
    #: the first send has already ended
    ended: bool


class SendRefused(Body, frozen=True, kw_only=True):
    """A send request was refused: nothing was sent or stored, and the caller gets the reason."""

    key: str
    reason: Reason
    detail: str


class SendPreviewed(Body, frozen=True, kw_only=True):
    """A dry run of a send. Nothing was stored, mirrored or sent (invariant P2)."""

    key: str
    address: Address
    session_key: str | None
    #: texts of the chunks
    chunks: tuple[str, ...]
    media: tuple[str, ...] = ()
    reason: Reason


class HookSending(Body, frozen=True, kw_only=True):
    """The `message_sending` hooks decided on a message: ``kept``, ``modified`` or ``cancelled``."""

    verdict: str
    #: names of the hooks that changed or cancelled it, in order
    by: tuple[str, ...]
    reason: Reason
    #: what they changed: ``text``, ``media``, ``reply_to``, ``to``
    changed: tuple[str, ...] = ()
    #: the other place that the message goes to
    to: Address | None = None


class ChunkerFailed(Body, frozen=True, kw_only=True):
    """An adapter's or a channel's own chunker failed; a built-in chunker split the text instead."""

    channel: str
    account: str
    reason: Reason
    detail: str


class HookFailed(Body, frozen=True, kw_only=True):
    """A hook raised an error or returned an invalid answer; the message continues without the change."""

    hook: str
    #: ``sending`` or ``sent``
    phase: str
    reason: Reason
    detail: str


class HookSent(Body, frozen=True, kw_only=True):
    """The `message_sent` hooks are notified of the outcome of a message seen by a hook before (invariant V1)."""

    state: IntentState
    reason: Reason
    provider_id: str | None = None


class IntentPrepared(Body, frozen=True, kw_only=True):
    """Committed: an outbound message with the final text, the destination, and the reason for the destination."""

    intent_kind: IntentKind
    address: Address
    #: the agent named the target itself
    targeted: bool
    text: str
    chunks: int
    key: str
    reason: Reason
    #: session that will hold the mirrored text; none if it is not mirrored
    mirror_key: str | None
    #: the caller named the session, which need not be that of the place
    named_session: bool = False
    #: names of the attached files
    media: tuple[str, ...] = ()
    #: the identity that posts it; none for the bot
    identity: str | None = None
    #: it has one attempt only
    best_effort: bool = False
    #: it is a change instead of a message; then the text is the new text, the emoji, or the new name
    action: Action | None = None
    #: the message that it changes: the platform's id, if it is known, and the intent that sends it, if it is ours
    message_id: str | None = None
    of: str | None = None


class IntentReopened(Body, frozen=True, kw_only=True):
    """Committed: an operator reopened an ended intent; the next chunk is number `chunk`."""

    before: IntentState
    reason: Reason
    chunk: int


class OperatorActed(Body, frozen=True, kw_only=True):
    """An operator changed the queue or a delegation, or a client gave a hand a task: `verb` says which."""

    verb: str
    detail: str


class TransportFallback(Body, frozen=True, kw_only=True):
    """Committed: the direct attempt provably did not reach the platform; the gateway path takes over."""

    chunk: int
    attempt: int
    instead_of: Transport
    used: Transport
    reason: Reason


class LaneWaiting(Body, frozen=True, kw_only=True):
    """A lane cannot send yet: not ready, no adapter, or rate limited. Waiting costs no attempt."""

    address: Address
    reason: Reason
    #: time of the next check
    until: float
    detail: str = ""


class BacklogWaiting(Body, frozen=True, kw_only=True):
    """The queue is full: new messages wait until there is room."""

    open: int
    limit: int


class IntentSuppressed(Body, frozen=True, kw_only=True):
    """A message was deliberately not sent."""

    reason: Reason
    text: str = ""
    #: what went wrong, of a notice that could not be prepared
    detail: str = ""


class AttemptStarted(Body, frozen=True, kw_only=True):
    """A chunk was handed to the adapter."""

    chunk: int
    attempt: int
    address: Address


class AttemptEnded(Body, frozen=True, kw_only=True):
    """The outcome of an attempt and the next step: ``settle retry lookup fallback misplaced park fail``."""

    chunk: int
    attempt: int
    reason: Reason
    decision: str
    retry_at: float | None = None
    detail: str = ""


class RecoveryDecided(Body, frozen=True, kw_only=True):
    """The decision on an intent of an earlier process: ``send resend lookup park expire``, not before `at`."""

    decision: str
    reason: Reason
    attempts: int
    at: float | None = None


class ChunkAcked(Body, frozen=True, kw_only=True):
    """Committed: the receipt of a chunk."""

    chunk: int
    provider_id: str
    address: Address
    reason: Reason


class IntentSettled(Body, frozen=True, kw_only=True):
    """Committed: the intent reached this final state."""

    state: IntentState
    reason: Reason
    attempts: int
    detail: str = ""


class MirrorAppended(Body, frozen=True, kw_only=True):
    """Committed with the receipt: the accepted text is in the transcript of the conversation's session."""

    session_id: str
    session_key: str
    text: str
    partial: bool = False


class MirrorRefused(Body, frozen=True, kw_only=True):
    """The transcript entry of an accepted message could not be stored with the receipt; the gateway retries."""

    session_key: str
    reason: Reason
    detail: str


class Fallback(Body, frozen=True, kw_only=True):
    """The configuration sends a message elsewhere than requested; recorded before the send (invariant R2)."""

    kind: ClassVar[str] = "fallback"
    asked: Address
    used: Address
    reason: Reason
