"""Events that the gateway records: what it decided, what it did, and what became durable."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, HandOutcome, Peer, SessionEntry, WorkKind

# ---------------------------------------------------------------- the gateway process


class ProcessStarted(Body, frozen=True, kw_only=True):
    """A gateway process started on the store."""

    kind: ClassVar[str] = "process.started"
    #: how direct conversations share sessions, as configured
    dm_scope: str = ""
    #: whether groups have sessions of their own
    group_scope: str = ""
    #: canonical name -> ids of one person on several platforms
    identity_links: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    #: whose rules: ``trunkline`` or one of the upstream profiles
    profile: str = "trunkline"
    #: number of the configuration; it counts up with each reload
    revision: int = 1


class ConfigReloaded(Body, frozen=True, kw_only=True):
    """The configuration was replaced: the next inbound follows the new one, running turns keep their route (B2, R3)."""

    kind: ClassVar[str] = "config.reloaded"
    revision: int
    #: sections that differ
    changed: tuple[str, ...]
    dm_scope: str
    group_scope: str
    identity_links: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict[str, tuple[str, ...]])


class ProcessRecovered(Body, frozen=True, kw_only=True):
    """The process read what an earlier one left unfinished."""

    kind: ClassVar[str] = "process.recovered"
    inbounds: int
    intents: int
    delegations: int


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
    #: a thread id of the platform that is no thread of the conversation, and was left out of `address` (B090)
    reply_chain: str | None = None


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
    #: bindings that are not among `candidates`: none of their constraints has anything to do with the message
    others: int = 0
    #: scope of the conversation's session, e.g. ``per-account-channel-peer`` or ``per-group``
    scope: str = ""
    #: number of the configuration that decided
    revision: int = 1
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
    entry: SessionEntry | None = None


class SessionReset(Body, frozen=True, kw_only=True):
    """Committed: the conversation starts anew, with another session; what belongs to `before` is not applied to it."""

    kind: ClassVar[str] = "session.reset"
    session_key: str
    session_id: str
    generation: int
    before: str


class SessionMoved(Body, frozen=True, kw_only=True):
    """Committed: a session goes on under another key: its conversation, and no other, has that key now (S1)."""

    kind: ClassVar[str] = "session.moved"
    old_key: str
    session_key: str
    session_id: str
    reason: Reason
    detail: str = ""


class SessionLeft(Body, frozen=True, kw_only=True):
    """Committed: a conversation has another session from now on; `old_key` keeps what was said in the old one."""

    kind: ClassVar[str] = "session.left"
    old_key: str
    old_session_id: str
    session_key: str
    reason: Reason
    detail: str = ""


class SessionShared(Body, frozen=True, kw_only=True):
    """A warning: somebody who is not linked with those before comes into their session, by the scope ``main`` (S3)."""

    kind: ClassVar[str] = "session.shared"
    session_key: str
    reason: Reason
    peer: Peer
    #: how many different people the session has had
    people: int


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
    """Committed: a hand will work on a task; `origin` is frozen here (seed 004, S1-S4).

    `deadline`: when its run ends as timed out if it is started at once; one that is started later, or again, has as
    long from then on. Traces written before there was this field have none.
    """

    kind: ClassVar[str] = "delegation.accepted"
    hand: str
    task: str
    origin: Address | None
    session_key: str
    deadline: float | None = None


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
    """One way in which a hand's result is told to somebody.

    `mode` is ``turn`` or ``direct``; ``notice`` and ``kept`` where it cannot be told where it belongs.
    """

    mode: str
    reason: Reason
    address: Address | None
    #: the binding of `address`
    binding: str | None = None


class CompletionPlanned(Body, frozen=True, kw_only=True):
    """How the result of a hand will be told: destination and path, decided apart from the content (seed 002)."""

    kind: ClassVar[str] = "completion.planned"
    steps: tuple[CompletionStep, ...]
    requester_busy: bool
