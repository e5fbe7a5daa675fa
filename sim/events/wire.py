"""The wire truth: requests that a platform accepted, refused, or accepted without the gateway seeing the response.

Recorded by the simulated platforms, never by the gateway: invariants compare the two records.
"""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Peer, Style, Transport
from trunkline.sim.events.base import PlatformBody


class WireAccepted(PlatformBody, frozen=True, kw_only=True):
    """The platform accepted a chunk: people at `address` can see it from now on."""

    #: where it is visible
    address: Address
    #: the requested place
    requested: Address
    text: str
    provider_id: str
    key: str
    chunk: int
    attempt: int
    reply_to: str | None = None
    media: tuple[str, ...] = ()
    #: the transport of the request
    transport: Transport = Transport.DIRECT
    #: the visible author; none for the bot
    identity: str | None = None
    #: number of the request's token, on platforms that count tokens
    credential: int = 0
    #: the text as it is shown, where the platform shows HTML or styles; none and empty: as it is written
    html: str | None = None
    styles: tuple[Style, ...] = ()
    #: the question of a poll, then its options
    poll: tuple[str, ...] = ()
    #: the platform's id of that poll
    poll_id: str | None = None
    #: platform-specific JSON
    payload: str | None = None
    #: buttons, a card, an embed, an effect, a sticker, silence
    parts: MessageParts | None = None
    #: the person for whom it is, of a report of delegated work on a platform that shows names
    recipient: Peer | None = None


class WireDeduplicated(PlatformBody, frozen=True, kw_only=True):
    """The platform recognised an idempotency key and repeated the first receipt; nothing new is visible."""

    address: Address
    provider_id: str
    key: str
    chunk: int
    attempt: int


#: refusals of a place that takes no messages, now or ever
NO_PLACE = (Reason.PLACE_GONE, Reason.PLACE_CLOSED)


class WireRefused(PlatformBody, frozen=True, kw_only=True):
    """The platform refused a request; nothing is visible."""

    address: Address
    reason: Reason
    chunk: int
    attempt: int
    detail: str = ""
    #: seconds to wait, if the platform asks for that
    retry_after: float | None = None
    #: number of the request's token, on platforms that count tokens
    credential: int = 0
    #: the action that was refused; none: a message
    action: Action | None = None


class WireResponseLost(PlatformBody, frozen=True, kw_only=True):
    """The platform's response to a request never reached the gateway."""

    address: Address
    chunk: int
    attempt: int
    #: the action whose response was lost; none: a message
    action: Action | None = None


class WireCalled(PlatformBody, frozen=True, kw_only=True):
    """A request of the gateway arrived at a server on the wire; nothing is decided yet.

    Sends and changes name their place and text. Polls are not recorded; see `platform.confirmed`.
    """

    channel: str
    #: as the platform spells it: ``sendMessage``, ``POST /channels/:id/messages``
    method: str
    account: str = ""
    #: what it is: ``send``, ``act``, ``ask``; empty: something without effect, such as typing
    what: str = ""
    #: the requested place, of sends, changes and questions
    address: Address | None = None
    text: str = ""
    #: the message that it would change
    message_id: str | None = None
    action: Action | None = None
    #: a digest of all that a send or a change asks for, without keys and time stamps: the same one is the same request;
    #: empty: unknown
    digest: str = ""
    #: all of that but its text, each field in short: ``parse_mode``, ``reply_parameters``
    fields: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class WireEdited(PlatformBody, frozen=True, kw_only=True):
    """The gateway changed the text of a message: people read the new one from now on.

    Recorded where only the wire is known of a gateway, and there instead of `wire.acted`.
    """

    #: where the message is
    address: Address
    message_id: str
    text: str
    #: the text until now
    before: str = ""
    #: who wrote it: ``bot`` (this account) or ``other``
    author: str = "bot"
    #: it was so already: people see no difference
    repeated: bool = False


class WireDeleted(PlatformBody, frozen=True, kw_only=True):
    """The gateway took a message away: people do not see it any more. As `wire.edited`, on the wire side only."""

    address: Address
    message_id: str
    #: the text until now
    before: str = ""
    #: who wrote it: ``bot`` (this account) or ``other``
    author: str = "bot"
    #: it was gone already
    repeated: bool = False


class WireLost(PlatformBody, frozen=True, kw_only=True):
    """The platform takes an accepted message back: a delivery that failed after all, or a deletion by other people."""

    address: Address
    provider_id: str
    text: str
    reason: Reason
    #: a process of the gateway is notified; not every platform does so
    notified: bool


class WireResponded(PlatformBody, frozen=True, kw_only=True):
    """The last byte of the response to a send or a change was written; its cause is the `wire.called`."""

    channel: str
    method: str
    status: int
    #: the place of the request
    address: Address | None = None
    text: str = ""


class WireLookedUp(PlatformBody, frozen=True, kw_only=True):
    """The gateway looked up a send by its key on the platform."""

    address: Address
    key: str
    found: bool
