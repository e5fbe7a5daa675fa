"""Events that the gateway records: what it decided, what it did, and what became durable."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from core.events.base import Body
from core.reasons import Reason
from core.values import Address, HandOutcome, IntentKind, IntentState, Peer, WorkKind

# ---------------------------------------------------------------- the gateway process


class ProcessStarted(Body, frozen=True, kw_only=True):
    """A gateway process started on the store."""

    kind: ClassVar[str] = "process.started"
    #: how direct conversations share sessions, as configured
    dm_scope: str = ""


class ProcessRecovered(Body, frozen=True, kw_only=True):
    """The process read what an earlier one left unfinished."""

    kind: ClassVar[str] = "process.recovered"
    inbounds: int
    intents: int
    delegations: int


class ProcessCrashed(Body, frozen=True, kw_only=True):
    """The process died: no callback of it ever runs again."""

    kind: ClassVar[str] = "process.crashed"
    why: str


class ProcessStopped(Body, frozen=True, kw_only=True):
    """The process ended in order."""

    kind: ClassVar[str] = "process.stopped"
    why: str


class StoreFailed(Body, frozen=True, kw_only=True):
    """The store refused a write; it is tried again after `retry_in` seconds."""

    kind: ClassVar[str] = "store.failed"
    reason: Reason
    error: str
    retry_in: float


class AdapterFailed(Body, frozen=True, kw_only=True):
    """The connection of an account failed; it is opened again after `retry_in` seconds."""

    kind: ClassVar[str] = "adapter.failed"
    channel: str
    account: str
    reason: Reason
    detail: str
    retry_in: float


class AdapterEnded(Body, frozen=True, kw_only=True):
    """The stream of an account ended in order: nothing more comes from it in this process."""

    kind: ClassVar[str] = "adapter.ended"
    channel: str
    account: str


# ---------------------------------------------------------------- inbound, routes, sessions


class InboundReceived(Body, frozen=True, kw_only=True):
    """The gateway took an inbound message from an adapter."""

    kind: ClassVar[str] = "inbound.received"
    address: Address
    peer: Peer
    message_id: str
    text: str


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A route binding that was looked at: the tier it stands for and the first reason it won or lost."""

    binding: str
    tier: str
    chosen: bool
    reason: Reason


class RouteDecided(Body, frozen=True, kw_only=True):
    """An inbound message was given to an agent and a session (seed 001), with every binding that was looked at."""

    kind: ClassVar[str] = "route.decided"
    agent: str
    session_key: str
    #: ``binding.peer``, ``binding.guild``, ``default``, ...
    matched_by: str
    binding: str | None
    candidates: tuple[Candidate, ...]
    #: where an answer without a target will go, frozen here (invariant R3)
    reply_to: Address | None
    reply_reason: Reason


class InboundAdmitted(Body, frozen=True, kw_only=True):
    """Committed: this message has its session and will start or join exactly one turn."""

    kind: ClassVar[str] = "inbound.admitted"
    work: WorkKind
    session_id: str
    session_key: str


class InboundAckFailed(Body, frozen=True, kw_only=True):
    """The platform could not be told that a message is safe here; it may deliver it again, to be dropped."""

    kind: ClassVar[str] = "inbound.ack_failed"
    detail: str


class InboundDropped(Body, frozen=True, kw_only=True):
    """This message starts nothing, and why. `first` is the inbound it repeats."""

    kind: ClassVar[str] = "inbound.dropped"
    reason: Reason
    first: str | None = None


class SessionCreated(Body, frozen=True, kw_only=True):
    """Committed: a session exists for a conversation, created by the first inbound or the first outbound."""

    kind: ClassVar[str] = "session.created"
    agent: str
    session_key: str
    session_id: str
    generation: int
    address: Address | None
    by: str


class TranscriptAppended(Body, frozen=True, kw_only=True):
    """Committed: something said to the agent is in its transcript. Role is ``user`` or ``hand``."""

    kind: ClassVar[str] = "transcript.appended"
    session_id: str
    session_key: str
    role: str
    text: str


# ---------------------------------------------------------------- turns, tools, hands


class TurnStarted(Body, frozen=True, kw_only=True):
    """The agent works on one message, callback or wake-up."""

    kind: ClassVar[str] = "turn.started"
    agent: str
    session_id: str
    session_key: str
    work: WorkKind
    origin: Address | None


class TurnEnded(Body, frozen=True, kw_only=True):
    """The agent is done. `outcome` is ``replied``, ``silent`` or ``failed``."""

    kind: ClassVar[str] = "turn.ended"
    outcome: str
    reason: Reason | None = None
    detail: str = ""


class ToolCalled(Body, frozen=True, kw_only=True):
    """The agent called a tool during its turn."""

    kind: ClassVar[str] = "tool.called"
    tool: str
    detail: str


class ToolRefused(Body, frozen=True, kw_only=True):
    """A tool call was refused before it had any effect; the agent was told."""

    kind: ClassVar[str] = "tool.refused"
    tool: str
    reason: Reason
    detail: str = ""


class DelegationAccepted(Body, frozen=True, kw_only=True):
    """Committed: a hand will work on a task; `origin` is frozen here (seed 004, S1-S4)."""

    kind: ClassVar[str] = "delegation.accepted"
    hand: str
    task: str
    origin: Address | None
    session_key: str


class DelegationStarted(Body, frozen=True, kw_only=True):
    """The hand was started."""

    kind: ClassVar[str] = "delegation.started"
    hand: str


class DelegationFinished(Body, frozen=True, kw_only=True):
    """Committed: the first result of the hand."""

    kind: ClassVar[str] = "delegation.finished"
    hand: str
    outcome: HandOutcome
    text: str
    reason: Reason | None = None


class DelegationIgnored(Body, frozen=True, kw_only=True):
    """A later result of a hand that had ended; the first one counts (S7)."""

    kind: ClassVar[str] = "delegation.ignored"
    hand: str
    reason: Reason
    text: str


class CompletionStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One way in which a hand's result is told to somebody. `mode` is ``turn`` or ``direct``."""

    mode: str
    reason: Reason
    address: Address | None


class CompletionPlanned(Body, frozen=True, kw_only=True):
    """How the result of a hand will be told: destination and path, decided apart from the content (seed 002)."""

    kind: ClassVar[str] = "completion.planned"
    steps: tuple[CompletionStep, ...]
    requester_busy: bool


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
    """What came of an attempt, and what the gateway decided to do next: ``settle retry lookup park fail``."""

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


class Fallback(Body, frozen=True, kw_only=True):
    """A message goes elsewhere than asked, by configuration; recorded before the send (invariant R2)."""

    kind: ClassVar[str] = "fallback"
    asked: Address
    used: Address
    reason: Reason
