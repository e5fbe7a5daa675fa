"""Events of the gateway: processes, inbound messages, sessions and turns."""

import msgspec

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.records.deeds import DeedOutcome
from trunkline.core.values import Address, DeedKind, Peer, SessionEntry, WorkKind


class RuleScopes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A route rule with scopes of its own, and the matching conversations."""

    channel: str
    #: ``*`` for every account
    account: str
    #: whether it names people, or rooms; none: both
    direct: bool | None = None
    #: id of the peer; none: every peer
    peer: str | None = None
    dm_scope: str
    group_scope: str


class ProcessStarted(Body, frozen=True, kw_only=True):
    """A gateway process started on the store."""

    #: how direct conversations share sessions, as configured
    dm_scope: str = ""
    #: whether groups have sessions of their own
    group_scope: str = ""
    #: canonical name -> ids of one person on several platforms
    identity_links: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    #: route rules that give their conversations other scopes
    rule_scopes: tuple[RuleScopes, ...] = ()
    #: channels whose answers quote the message that they answer
    quoting: tuple[str, ...] = ()
    #: the rule set: ``trunkline`` or an upstream profile
    profile: str = "trunkline"
    #: number of the configuration, incremented by each reload
    revision: int = 1
    #: bad ends of deliveries leave a note in the transcript; earlier versions left none
    notes: bool = False


class RunJoined(Body, frozen=True, kw_only=True):
    """A trace which begins in the middle: first the store as after event `after`, then the later events.

    Events before it are in no trace of this kind, so invariants that need whole stories are not judged.
    """

    #: number of the last event, in the log of the process, whose effects are shown
    after: int
    #: when it was joined; the events that show the store have the times of what they show
    joined_at: float
    #: what the store has more of, in words
    left_out: tuple[str, ...] = ()


class ConfigReloaded(Body, frozen=True, kw_only=True):
    """The configuration was replaced, for new inbound messages; running turns keep their route (B2, R3)."""

    revision: int
    #: sections that differ
    changed: tuple[str, ...]
    dm_scope: str
    group_scope: str
    identity_links: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    rule_scopes: tuple[RuleScopes, ...] = ()
    quoting: tuple[str, ...] = ()


class ProcessRecovered(Body, frozen=True, kw_only=True):
    """The process loaded the unfinished work of an earlier process."""

    inbounds: int
    intents: int
    delegations: int


class StoreFailed(Body, frozen=True, kw_only=True):
    """The store refused a write, which is retried after `retry_in` seconds."""

    reason: Reason
    error: str
    retry_in: float


class AdapterFailed(Body, frozen=True, kw_only=True):
    """The connection of an account failed; the gateway connects again after `retry_in` seconds."""

    channel: str
    account: str
    reason: Reason
    detail: str
    retry_in: float


class AdapterEnded(Body, frozen=True, kw_only=True):
    """The stream of an account ended normally; this process receives nothing more from the account."""

    channel: str
    account: str


class InboundReceived(Body, frozen=True, kw_only=True):
    """The gateway received an inbound message from an adapter."""

    address: Address
    peer: Peer
    message_id: str
    text: str
    #: what it has beside its text, each in words
    parts: tuple[str, ...] = ()
    #: a platform thread id that names a reply chain, not a thread, and is left out of `address` (B090)
    reply_chain: str | None = None
    #: the message whose button was pressed; none: a message was written
    pressed: str | None = None

    @property
    def subject(self) -> str:
        """Id of the message quoted by an answer: the written message, or the message with the button."""
        return self.message_id if self.pressed is None else self.pressed


class SenderEscaped(Body, frozen=True, kw_only=True):
    """The id or name of a person begins with ``hand:`` or ``agent:``: agents see `shown` instead of `peer`."""

    peer: Peer
    shown: Peer
    reason: Reason


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A considered route rule: the tier, and the first reason for or against."""

    binding: str
    tier: str
    chosen: bool
    reason: Reason


class RouteDecided(Body, frozen=True, kw_only=True):
    """An inbound message was routed to an agent and a session, with every considered route rule."""

    agent: str
    session_key: str
    #: ``binding.peer``, ``binding.guild``, ``default``, ...
    matched_by: str
    binding: str | None
    candidates: tuple[Candidate, ...]
    #: number of rules left out of `candidates`, because no constraint of theirs concerns the message
    others: int = 0
    #: scope of the conversation's session, e.g. ``per-account-channel-peer`` or ``per-group``
    scope: str = ""
    #: number of the deciding configuration
    revision: int = 1
    #: destination of answers without a target, frozen here (invariant R3)
    reply_to: Address | None
    reply_reason: Reason


class InboundAdmitted(Body, frozen=True, kw_only=True):
    """Committed: the message has a session and will start or join exactly one turn."""

    work: WorkKind
    session_id: str
    session_key: str


class InboundAckFailed(Body, frozen=True, kw_only=True):
    """A stored message could not be acknowledged to the platform; a repeated delivery will be dropped."""

    detail: str


class InboundDropped(Body, frozen=True, kw_only=True):
    """The message starts no turn, for the reason given. `first`: the repeated inbound, or the first of the act.

    A message with unusable fields has no `inbound.received` and no id; `detail` says what is wrong with it.
    """

    reason: Reason
    first: str | None = None
    detail: str = ""


class DeedReceived(Body, frozen=True, kw_only=True):
    """Committed: the deed of a person on an earlier message, with the outcome.

    ``noted`` in the transcript, ``woken`` as well, ``changed`` or ``withdrawn`` as a question that still waits, or
    ``dropped`` for the reason given.
    """

    address: Address
    peer: Peer
    #: of the deed
    message_id: str
    deed: DeedKind
    #: id of the message that it is done to
    of: str
    #: the new text, or the emoji
    text: str = ""
    outcome: DeedOutcome
    reason: Reason | None = None


class SessionCreated(Body, frozen=True, kw_only=True):
    """Committed: a session was created for a conversation, by the first inbound or outbound message."""

    agent: str
    session_key: str
    session_id: str
    generation: int
    address: Address | None
    by: str
    entry: SessionEntry | None = None


class SessionReset(Body, frozen=True, kw_only=True):
    """Committed: the conversation starts over with a new session; nothing of session `before` applies there."""

    session_key: str
    session_id: str
    generation: int
    before: str


class SessionMoved(Body, frozen=True, kw_only=True):
    """Committed: a session got another key, which no other conversation has from now on."""

    old_key: str
    session_key: str
    session_id: str
    reason: Reason
    detail: str = ""


class SessionLeft(Body, frozen=True, kw_only=True):
    """Committed: a conversation has another session from now on; `old_key` keeps the old transcript."""

    old_key: str
    old_session_id: str
    session_key: str
    reason: Reason
    detail: str = ""


class SessionShared(Body, frozen=True, kw_only=True):
    """A warning: under the scope ``main``, a person who is not linked to the others joins their session."""

    session_key: str
    reason: Reason
    peer: Peer
    #: number of different people in the session so far
    people: int


class TranscriptAppended(Body, frozen=True, kw_only=True):
    """Committed: an entry of the agent's transcript. The role is ``user``, ``hand`` or, for notes, ``delivery``."""

    session_id: str
    session_key: str
    role: str
    text: str


class TurnStarted(Body, frozen=True, kw_only=True):
    """The agent started to work on a message, callback or wake-up."""

    agent: str
    session_id: str
    session_key: str
    work: WorkKind
    origin: Address | None
    #: 1, or more for a turn that earlier processes may have begun
    attempt: int = 1


class TurnEnded(Body, frozen=True, kw_only=True):
    """The agent has finished. `outcome` is ``replied``, ``silent`` or ``failed``."""

    outcome: str
    reason: Reason | None = None
    detail: str = ""
    #: with `runs-exhausted`: how many runs ended with the process
    attempts: int = 0


class ToolCalled(Body, frozen=True, kw_only=True):
    """The agent called a tool during the turn."""

    tool: str
    detail: str


class ToolRefused(Body, frozen=True, kw_only=True):
    """A tool call was refused before any effect; the agent gets the reason, or the result of an earlier run."""

    tool: str
    reason: Reason
    detail: str = ""
