"""Messages that an action may mean: those that people sent, and those that the gateway sent."""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Address, Identity, InboundId, IntentId, IntentState, Receipt

#: the receipt of a chunk that an operator confirmed without its id: it names no message
NO_MESSAGE_ID = "resolved-by-operator"

#: role of the lines of a transcript that say what became of a message
NOTE = "delivery"

#: actions that take a message away
REMOVES = frozenset({Action.UNSEND, Action.DELETE})


class OwnMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of ours: its intent, and what the platform gave for it so far."""

    intent: IntentId
    #: the agent that sent it, or for which a client did
    agent: str
    address: Address
    state: IntentState
    #: number of chunks, each a message of its own on the platform
    chunks: int
    receipts: tuple[Receipt, ...] = ()
    #: the chunk that has the id; none: it was named by its intent
    chunk: int | None = None
    #: the webhook that posted it; none: the bot
    identity: Identity | None = None
    #: it is a change, and no message
    change: bool = False


class KnownMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The store's knowledge of a message. Neither field: it knows nothing."""

    ours: OwnMessage | None = None
    #: a person's message
    inbound: InboundId | None = None
