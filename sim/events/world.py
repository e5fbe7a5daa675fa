"""The world around the gateway: accounts, people, places, what people say, what platforms hand over.

Recorded by the simulator and by the fake platforms, never by the gateway.
"""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.values import Address, Idempotency, Peer
from trunkline.sim.events.base import PlatformBody, SimBody


class WorldLimits(SimBody, frozen=True, kw_only=True):
    """What the operator has configured about delivery: the bounds that invariants hold the gateway to."""

    kind: ClassVar[str] = "world.limits"
    max_attempts: int
    #: seconds after which nothing is sent any more
    max_age: float
    #: what is put before a text that is sent once more because nobody can tell; none: nothing is
    mark: str | None = None
    #: recovered messages a second of each account; none: no limit
    recovery_rate: float | None = None


class WorldAccount(SimBody, frozen=True, kw_only=True):
    """A bot account of the gateway exists on a platform."""

    kind: ClassVar[str] = "world.account"
    channel: str
    account: str
    bot: Peer
    #: what the platform offers for lost responses; none: not told
    idempotency: Idempotency | None = None
    #: its answers do not name the message that they accept
    nameless: bool = False


class WorldPerson(SimBody, frozen=True, kw_only=True):
    """A person exists on a platform."""

    kind: ClassVar[str] = "world.person"
    channel: str
    peer: Peer


class WorldPlace(PlatformBody, frozen=True, kw_only=True):
    """A conversation, thread or topic exists; `name` is what people and scenario files call it."""

    kind: ClassVar[str] = "world.place"
    address: Address
    name: str
    #: the name of the place it hangs under, for threads and topics
    under: str | None = None


class WorldSession(SimBody, frozen=True, kw_only=True):
    """A session is in the store before the first process starts, as an earlier version wrote it."""

    kind: ClassVar[str] = "world.session"
    session_key: str
    session_id: str
    #: the conversation that it is of, where the scenario says so
    address: Address | None = None


class PeerSaid(PlatformBody, frozen=True, kw_only=True):
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


class PlatformPushed(PlatformBody, frozen=True, kw_only=True):
    """The platform handed an inbound message to the gateway's live connection."""

    kind: ClassVar[str] = "platform.pushed"
    address: Address
    #: id under which it is delivered now
    message_id: str
    #: id under which it was first posted; differs where replay makes new ids
    original_id: str
    replay: bool = False


class PlatformConnected(PlatformBody, frozen=True, kw_only=True):
    """A gateway process opened its connection for an account."""

    kind: ClassVar[str] = "platform.connected"
    channel: str
    account: str


class ThreadOpened(PlatformBody, frozen=True, kw_only=True):
    """A thread was opened, by a person or on behalf of the gateway, maybe on a message."""

    kind: ClassVar[str] = "thread.opened"
    address: Address
    name: str
    on_message: str | None = None


class ThreadClosed(PlatformBody, frozen=True, kw_only=True):
    """A thread was archived or deleted."""

    kind: ClassVar[str] = "thread.closed"
    address: Address
    how: str


class ThreadReopened(PlatformBody, frozen=True, kw_only=True):
    """An archived thread takes messages again: somebody posted in it, or unarchived it."""

    kind: ClassVar[str] = "thread.reopened"
    address: Address


class CredentialRotated(PlatformBody, frozen=True, kw_only=True):
    """An account has a new token; older ones are not accepted any more. `number` counts them, from 1."""

    kind: ClassVar[str] = "credential.rotated"
    channel: str
    account: str
    number: int
    #: seconds until the gateway is given it
    tell: float = 0.0


class WebhookGone(PlatformBody, frozen=True, kw_only=True):
    """A webhook was deleted, or the account lost the right to use it. `how`: ``deleted`` or ``forbidden``."""

    kind: ClassVar[str] = "webhook.gone"
    channel: str
    webhook: str
    how: str
