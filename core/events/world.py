"""Events that the world around the gateway records: the run, its people and places, and the wire truth.

What a platform did (``wire.*``, ``peer.said``, ``platform.*``, ``thread.*``) is told by the fake platform itself, never
by the gateway: invariants compare the two stories.
"""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Idempotency, Peer, Transport

# ---------------------------------------------------------------- the run and its world (node: sim)


class RunPhase(Body, frozen=True, kw_only=True):
    """A phase began: ``faults`` (the script runs), ``healed`` (no new faults), ``rest`` (nothing is open)."""

    kind: ClassVar[str] = "run.phase"
    phase: str


class RunEnded(Body, frozen=True, kw_only=True):
    """The run is over; always the last event of a whole trace. `open` names what never came to rest."""

    kind: ClassVar[str] = "run.ended"
    at_rest: bool
    open: tuple[str, ...] = ()


class BugEnabled(Body, frozen=True, kw_only=True):
    """A bug switch is on in this run."""

    kind: ClassVar[str] = "bug.enabled"
    bug: str
    sentence: str


class FaultFired(Body, frozen=True, kw_only=True):
    """A fault of the scenario took effect."""

    kind: ClassVar[str] = "fault.fired"
    fault: str
    detail: str = ""


class ScriptSkipped(Body, frozen=True, kw_only=True):
    """A step of the script could not happen; the run does not show what the scenario meant."""

    kind: ClassVar[str] = "script.skipped"
    step: str
    why: str


class ClientAsked(Body, frozen=True, kw_only=True):
    """A client outside of the gateway asks it to send something; with `dry_run`, only to say what it would do."""

    kind: ClassVar[str] = "client.asked"
    #: idempotency key
    key: str
    dry_run: bool = False


class ClientTold(Body, frozen=True, kw_only=True):
    """What a client was told of its send: the status of its outcome, or ``failed`` or ``refused``."""

    kind: ClassVar[str] = "client.told"
    key: str
    status: str
    #: the platform's id of the message that it became
    provider_id: str | None = None
    detail: str = ""
    #: another call with the same key did it
    cached: bool = False


class WorldLimits(Body, frozen=True, kw_only=True):
    """What the operator has configured about delivery: the bounds that invariants hold the gateway to."""

    kind: ClassVar[str] = "world.limits"
    max_attempts: int
    #: seconds after which nothing is sent any more
    max_age: float
    #: what is put before a text that is sent once more because nobody can tell; none: nothing is
    mark: str | None = None
    #: recovered messages a second of each account; none: no limit
    recovery_rate: float | None = None


class WorldAccount(Body, frozen=True, kw_only=True):
    """A bot account of the gateway exists on a platform."""

    kind: ClassVar[str] = "world.account"
    channel: str
    account: str
    bot: Peer
    #: what the platform offers for lost responses; none: not told
    idempotency: Idempotency | None = None
    #: its answers do not name the message that they accept
    nameless: bool = False


class WorldPerson(Body, frozen=True, kw_only=True):
    """A person exists on a platform."""

    kind: ClassVar[str] = "world.person"
    channel: str
    peer: Peer


class WorldPlace(Body, frozen=True, kw_only=True):
    """A conversation, thread or topic exists; `name` is what people and scenario files call it."""

    kind: ClassVar[str] = "world.place"
    address: Address
    name: str
    #: the name of the place it hangs under, for threads and topics
    under: str | None = None


class WorldSession(Body, frozen=True, kw_only=True):
    """A session is in the store before the first process starts, as an earlier version wrote it."""

    kind: ClassVar[str] = "world.session"
    session_key: str
    session_id: str
    #: the conversation that it is of, where the scenario says so
    address: Address | None = None


# ---------------------------------------------------------------- platforms: the wire truth


class PeerSaid(Body, frozen=True, kw_only=True):
    """A person posted a message on the platform."""

    kind: ClassVar[str] = "peer.said"
    address: Address
    peer: Peer
    message_id: str
    text: str
    #: words of the text that only this conversation's people may ever see (invariant P1)
    secret: str = ""
    #: a bot or a webhook said it
    bot: bool = False
    #: the gateway itself did, by this webhook of its own, and the platform brings it back
    echo_of: str | None = None
    #: the message that a proxy took away and posted this instead
    stands_for: str | None = None


class PlatformPushed(Body, frozen=True, kw_only=True):
    """The platform handed an inbound message to the gateway's live connection."""

    kind: ClassVar[str] = "platform.pushed"
    address: Address
    #: id under which it is delivered now
    message_id: str
    #: id under which it was first posted; differs where replay makes new ids
    original_id: str
    replay: bool = False


class PlatformConnected(Body, frozen=True, kw_only=True):
    """A gateway process opened its connection for an account."""

    kind: ClassVar[str] = "platform.connected"
    channel: str
    account: str


class ThreadOpened(Body, frozen=True, kw_only=True):
    """A thread was opened, by a person or on behalf of the gateway, maybe on a message."""

    kind: ClassVar[str] = "thread.opened"
    address: Address
    name: str
    on_message: str | None = None


class ThreadClosed(Body, frozen=True, kw_only=True):
    """A thread was archived or deleted."""

    kind: ClassVar[str] = "thread.closed"
    address: Address
    how: str


class ThreadReopened(Body, frozen=True, kw_only=True):
    """An archived thread takes messages again: somebody posted in it, or unarchived it."""

    kind: ClassVar[str] = "thread.reopened"
    address: Address


class CredentialRotated(Body, frozen=True, kw_only=True):
    """An account has a new token; older ones are not accepted any more. `number` counts them, from 1."""

    kind: ClassVar[str] = "credential.rotated"
    channel: str
    account: str
    number: int
    #: seconds until the gateway is given it
    tell: float = 0.0


class WebhookGone(Body, frozen=True, kw_only=True):
    """A webhook was deleted, or the account lost the right to use it. `how`: ``deleted`` or ``forbidden``."""

    kind: ClassVar[str] = "webhook.gone"
    channel: str
    webhook: str
    how: str


class WireAccepted(Body, frozen=True, kw_only=True):
    """The platform accepted a chunk: it is visible to people at `address` from now on."""

    kind: ClassVar[str] = "wire.accepted"
    #: where it really is
    address: Address
    #: where the request asked it to be
    requested: Address
    text: str
    provider_id: str
    key: str
    chunk: int
    attempt: int
    reply_to: str | None = None
    media: tuple[str, ...] = ()
    #: by which way it came
    transport: Transport = Transport.DIRECT
    #: who has said it, as people see it; none: the bot
    identity: str | None = None
    #: number of the token that the request had, where the platform counts them
    credential: int = 0
    #: the question of a poll and its options, one a line
    poll: tuple[str, ...] = ()
    #: JSON that only this platform knows
    payload: str | None = None


class WireDeduplicated(Body, frozen=True, kw_only=True):
    """The platform recognised an idempotency key and gave the first receipt again; nothing new is visible."""

    kind: ClassVar[str] = "wire.deduplicated"
    address: Address
    provider_id: str
    key: str
    chunk: int
    attempt: int


class WireRefused(Body, frozen=True, kw_only=True):
    """The platform refused a request; nothing is visible."""

    kind: ClassVar[str] = "wire.refused"
    address: Address
    reason: Reason
    chunk: int
    attempt: int
    detail: str = ""
    #: seconds that the platform asks to wait
    retry_after: float | None = None
    #: number of the token that the request had, where the platform counts them
    credential: int = 0


class WireResponseLost(Body, frozen=True, kw_only=True):
    """The platform's answer to a request never reached the gateway."""

    kind: ClassVar[str] = "wire.response_lost"
    address: Address
    chunk: int
    attempt: int


class WireLookedUp(Body, frozen=True, kw_only=True):
    """The platform was asked whether it has a send with this key."""

    kind: ClassVar[str] = "wire.looked_up"
    address: Address
    key: str
    found: bool
