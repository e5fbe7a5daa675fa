"""Events of the accounts of real platforms: what came from a platform and is no message for the gateway."""

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState


class AdapterConnected(Body, frozen=True, kw_only=True):
    """An account receives from its platform now: the first poll was answered, or the socket is ready."""

    channel: str
    account: str
    #: how it receives, e.g. ``polling``, ``webhook`` or ``socket``
    by: str = ""


class UpdateDropped(Body, frozen=True, kw_only=True):
    """Something from the platform could not be read; the gateway goes on with the next."""

    channel: str
    account: str
    reason: Reason
    #: the platform's id of the update, if any
    update: str = ""
    #: what is wrong with it
    detail: str = ""


class WebhookRefused(Body, frozen=True, kw_only=True):
    """A request to the account's webhook is not from the platform, or for another account. Nothing is read.

    At most ten a minute are events of their own; the next event has the number of the others.
    """

    channel: str
    account: str
    reason: Reason
    detail: str = ""
    #: refused requests since the last event, which have none of their own
    before: int = 0


class DeliveryFailed(Body, frozen=True, kw_only=True):
    """A platform takes an accepted message back, after a failed delivery or a deletion by other people."""

    channel: str
    account: str
    reason: Reason
    #: the platform's id of the message, as in its receipt
    message_id: str
    recipient: str = ""
    #: the platform's own code, if any
    code: str = ""
    detail: str = ""
    #: committed: the state of the intent since; none: nothing has changed, since others still have the message, say
    state: IntentState | None = None
