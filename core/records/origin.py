"""Where a delegation comes from: captured once, from the turn itself, and frozen at the call."""

import msgspec

from trunkline.core.actions.marker import ContextMark
from trunkline.core.values import Address, InboundId, Peer, SessionId, TurnId, WorkKind


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The turn of a person's message, to which everything that it delegates belongs.

    A hand that is an agent passes it on: what it delegates itself has the origin of the first delegation. It holds
    addresses and names only. Prompts, hooks and bindings are those of the moment at which the result is delivered.
    """

    #: the agent that the person wrote to, and the session that its turn belongs to
    agent: str
    session_key: str
    session: SessionId | None = None
    #: what started the turn; not a message only if the delegation named the place of its result
    work: WorkKind = WorkKind.MESSAGE
    inbound: InboundId
    turn: TurnId
    #: the place of the message: channel, account (the bot that received it), conversation, kind, thread and parent
    place: Address | None = None
    #: where its answer goes; the thread of it is opened on the message `open_on` first
    reply_to: Address | None = None
    open_on: str | None = None
    #: what messages to `reply_to` show of where they come from, if the turn named that place itself
    mark: ContextMark | None = None
    #: who wrote it
    asked_by: Peer | None = None
    #: the platform's id of the message
    message_id: str = ""
    #: seconds; when the delegation captured it
    at: float = 0.0
    #: of the turn that delegated; see `Work.chain`
    chain: int = 0

    def mark_at(self, place: Address) -> ContextMark | None:
        """The mark that a report of a delegation has to show at a place."""
        return self.mark if self.reply_to is not None and self.reply_to.lane == place.lane else None
