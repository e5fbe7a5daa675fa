"""Events that the gateway records on the way out: sends that name a target, intents, attempts, receipts, mirrors."""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState, Transport

# ---------------------------------------------------------------- sends that name a target


class TargetResolved(Body, frozen=True, kw_only=True):
    """A target became a place and a session; `steps` tell how (seed 000)."""

    kind: ClassVar[str] = "target.resolved"
    channel: str
    target: str
    address: Address
    session_key: str
    steps: tuple[str, ...]


class SendRequested(Body, frozen=True, kw_only=True):
    """A client asks the gateway to send something, outside of any turn. `key`: its idempotency key."""

    kind: ClassVar[str] = "send.requested"
    key: str
    channel: str | None
    target: str
    session_key: str | None
    text: str


class SendJoined(Body, frozen=True, kw_only=True):
    """The same idempotency key came again: nothing is sent for it, it gets the first one's result."""

    kind: ClassVar[str] = "send.joined"
    key: str
    reason: Reason
    #: the first one has ended already
    ended: bool


class SendRefused(Body, frozen=True, kw_only=True):
    """A send cannot be done as asked: nothing was sent and nothing stored; whoever asked was told."""

    kind: ClassVar[str] = "send.refused"
    key: str
    reason: Reason
    detail: str


class SendPreviewed(Body, frozen=True, kw_only=True):
    """A dry run: what a send would do. Nothing was stored, mirrored or sent (invariant P2)."""

    kind: ClassVar[str] = "send.previewed"
    key: str
    address: Address
    session_key: str | None
    #: texts of the chunks
    chunks: tuple[str, ...]
    media: tuple[str, ...] = ()
    reason: Reason


# ---------------------------------------------------------------- hooks


class HookSending(Body, frozen=True, kw_only=True):
    """The `message_sending` hooks have seen something that is to be said: ``kept``, ``modified`` or ``cancelled``."""

    kind: ClassVar[str] = "hook.sending"
    verdict: str
    #: names of the hooks that changed or cancelled it, in order
    by: tuple[str, ...]
    reason: Reason


class HookFailed(Body, frozen=True, kw_only=True):
    """A hook raised an error or answered nonsense; the message goes on without its change."""

    kind: ClassVar[str] = "hook.failed"
    hook: str
    #: ``sending`` or ``sent``
    phase: str
    reason: Reason
    detail: str


class HookSent(Body, frozen=True, kw_only=True):
    """The `message_sent` hooks are told the outcome of what had entered `message_sending` (invariant V1)."""

    kind: ClassVar[str] = "hook.sent"
    state: IntentState
    reason: Reason
    provider_id: str | None = None


# ---------------------------------------------------------------- delivery


class IntentPrepared(Body, frozen=True, kw_only=True):
    """Committed: one thing to be said, final in its bytes, with its destination and the reason for it."""

    kind: ClassVar[str] = "intent.prepared"
    intent_kind: IntentKind
    address: Address
    #: the agent named the target itself
    targeted: bool
    text: str
    chunks: int
    key: str
    reason: Reason
    #: session that will hold the mirrored text; none when mirroring is off for it
    mirror_key: str | None
    #: the caller named the session itself, so it need not be that of the place
    named_session: bool = False
    #: names of files that go with it
    media: tuple[str, ...] = ()

    #: who says it, as people will see it; none: the bot
    identity: str | None = None


class IntentReopened(Body, frozen=True, kw_only=True):
    """Committed: an operator had an intent that had ended tried again; its next chunk is number `chunk`."""

    kind: ClassVar[str] = "intent.reopened"
    before: IntentState
    reason: Reason
    chunk: int


class OperatorActed(Body, frozen=True, kw_only=True):
    """An operator did something to the queue: ``retry``, ``resolve`` or ``purge``."""

    kind: ClassVar[str] = "operator.acted"
    verb: str
    detail: str


class TransportFallback(Body, frozen=True, kw_only=True):
    """Committed: the direct attempt provably did not reach the platform, and the gateway path takes over."""

    kind: ClassVar[str] = "transport.fallback"
    chunk: int
    attempt: int
    instead_of: Transport
    used: Transport
    reason: Reason


class LaneWaiting(Body, frozen=True, kw_only=True):
    """A conversation has something to send and cannot: not ready, no adapter, paced. It costs no attempt."""

    kind: ClassVar[str] = "lane.waiting"
    address: Address
    reason: Reason
    #: looked at again then
    until: float
    detail: str = ""


class BacklogWaiting(Body, frozen=True, kw_only=True):
    """The queue is full: whoever wants to say something waits until there is room."""

    kind: ClassVar[str] = "backlog.waiting"
    open: int
    limit: int


class IntentSuppressed(Body, frozen=True, kw_only=True):
    """Something was not said, on purpose."""

    kind: ClassVar[str] = "intent.suppressed"
    reason: Reason
    text: str = ""


class AttemptStarted(Body, frozen=True, kw_only=True):
    """A chunk is handed to the adapter."""

    kind: ClassVar[str] = "attempt.started"
    chunk: int
    attempt: int
    address: Address


class AttemptEnded(Body, frozen=True, kw_only=True):
    """What came of an attempt, and what comes next: ``settle retry lookup fallback misplaced park fail``."""

    kind: ClassVar[str] = "attempt.ended"
    chunk: int
    attempt: int
    reason: Reason
    decision: str
    retry_at: float | None = None
    detail: str = ""


class RecoveryDecided(Body, frozen=True, kw_only=True):
    """An intent that an earlier process left open: ``send resend lookup park expire``, not before `at`."""

    kind: ClassVar[str] = "recovery.decided"
    decision: str
    reason: Reason
    attempts: int
    at: float | None = None


class ChunkAcked(Body, frozen=True, kw_only=True):
    """Committed: the receipt of one chunk."""

    kind: ClassVar[str] = "chunk.acked"
    chunk: int
    provider_id: str
    address: Address
    reason: Reason


class IntentSettled(Body, frozen=True, kw_only=True):
    """Committed: the intent reached this state. `delivered`, `failed`, `dead`, `unknown`... end it."""

    kind: ClassVar[str] = "intent.settled"
    state: IntentState
    reason: Reason
    attempts: int
    detail: str = ""


class MirrorAppended(Body, frozen=True, kw_only=True):
    """Committed with the receipt: what was accepted is in the transcript of the conversation's session."""

    kind: ClassVar[str] = "mirror.appended"
    session_id: str
    session_key: str
    text: str
    partial: bool = False


class MirrorRefused(Body, frozen=True, kw_only=True):
    """A message was accepted, and its transcript line could not be stored with the receipt: it is tried again."""

    kind: ClassVar[str] = "mirror.refused"
    session_key: str
    reason: Reason
    detail: str


class Fallback(Body, frozen=True, kw_only=True):
    """A message goes elsewhere than asked, by configuration; recorded before the send (invariant R2)."""

    kind: ClassVar[str] = "fallback"
    asked: Address
    used: Address
    reason: Reason
