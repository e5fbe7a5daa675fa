"""What the store keeps for people who are reached through the API: their mailbox, and what came of what they wrote."""

import msgspec

from trunkline.core import values
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import TurnNote
from trunkline.core.records.rows import ContentPart, ExtraPart, Work
from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read


class MailboxMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message for a person, as their client reads it: a chunk of an intent."""

    #: its number, which grows; the cursor of clients. 0: it is not stored yet
    n: int = 0
    #: when it was stored, in seconds
    at: float = 0.0
    #: names it, over all repeats
    key: str
    intent: values.IntentId
    chunk: int
    address: values.Address
    text: str
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    poll: values.Poll | None = None
    #: JSON that only the client understands
    payload: str | None = None
    parts: MessageParts | None = None
    #: the person for whom a report of delegated work is
    recipient: values.Peer | None = None


class MailboxPage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    messages: tuple[MailboxMessage, ...]
    #: every message that comes has a larger number, in any mailbox
    newest: int
    #: messages up to this number are no longer kept
    pruned: int


class PostToMailbox(Write[int], frozen=True, kw_only=True, gc=False):
    """Store a message for a person, once for its key. Answers its number: that of the first time."""

    message: MailboxMessage
    now: float


class ReadMailbox(Read[MailboxPage], frozen=True, kw_only=True):
    """The messages of an account behind number `after`, of all its conversations or of one.

    `kind`: only those of such conversations; a person and a group may have the same id.
    """

    channel: str
    account: str
    conversation: str | None = None
    kind: values.ChatKind | None = None
    after: int = 0
    limit: int = 100


class StoredInbound(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message, or something else that starts a turn, as it is stored."""

    work: Work
    session: values.SessionId | None
    #: its turn has ended
    over: bool
    #: how; none: it has not, or an earlier version ended it
    ended: TurnNote | None = None


class CausedMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message that the turn of an inbound message caused, or work that it delegated."""

    intent: values.IntentId
    kind: values.IntentKind
    state: values.IntentState
    reason: Reason | None = None
    address: values.Address
    #: as prepared
    content: ContentPart
    extra: ExtraPart
    #: of the chunks that were accepted
    receipts: tuple[values.Receipt, ...] = ()


class DueDelegation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Work that was delegated, and whose result is still to come."""

    delegation: values.DelegationId
    hand: str
    label: str = ""
    state: WorkState
    callback: CallbackState


class Outcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of an inbound message so far."""

    #: its turn has ended, and how; see `StoredInbound`
    over: bool
    ended: TurnNote | None = None
    messages: tuple[CausedMessage, ...]
    delegations: tuple[DueDelegation, ...]
    #: nothing more can come of it: turns have ended, messages and delegations too
    complete: bool


class FindInbound(Read[StoredInbound | None], frozen=True, kw_only=True):
    """An inbound message by its id; none: it was never stored, or is no longer kept."""

    inbound: values.InboundId


class ReadOutcome(Read[Outcome | None], frozen=True, kw_only=True):
    """The outcome of an inbound message, of what it delegated, and of what came of that."""

    inbound: values.InboundId


class ReadOutcomes(Read[tuple[Outcome | None, ...]], frozen=True, kw_only=True):
    """The outcomes of several inbound messages, as `ReadOutcome` says them, in their order."""

    inbounds: tuple[values.InboundId, ...]
