"""Read queries: what the gateway and operators ask a store, as values. Each is generic in its answer."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from trunkline.core.records import rows
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.deeds import DeedSubject
from trunkline.core.records.messages import KnownMessage
from trunkline.core.store.queue_admin import IntentDetails, QueueFilter, QueueRow
from trunkline.core.values import Address, IntentId, IntentState, SessionId, TranscriptLine

A = TypeVar("A")


class Read(msgspec.Struct, Generic[A], frozen=True, kw_only=True):
    """A query whose answer is an `A`."""


class LoadUnfinished(Read[rows.Unfinished], frozen=True, kw_only=True):
    """The work left open by an earlier process."""


class OpenIntent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An open intent without texts: enough for the queue of the lane."""

    n: int
    id: IntentId
    address: Address
    #: the session whose turn it answers; none: it is no answer of a turn
    answers: SessionId | None = None


class ListOpenIntents(Read[tuple[OpenIntent, ...]], frozen=True, kw_only=True):
    """Open intents in the order of their creation, starting behind number `after`."""

    after: int
    limit: int


class LoadIntents(Read[rows.LoadedIntents], frozen=True, kw_only=True):
    """The intents with these ids, with their texts, in the order of their creation."""

    ids: Sequence[IntentId]


class FindIntentFate(Read[rows.IntentFate | None], frozen=True, kw_only=True):
    """State, reason and receipts of an intent."""

    intent: IntentId


class FindMessage(Read[KnownMessage], frozen=True, kw_only=True):
    """The message that an agent names: by an intent's id, or by the platform's id in a conversation.

    Own messages with a platform's id are found among the newest intents and in the transcripts of `keys` and of the
    sessions that `agents` have for the place.
    """

    name: str
    #: the conversation in which it is a platform's id; none: it can only be an intent's
    place: Address | None = None
    #: the identities that a person's message with this id has; see `Decisions.identify`
    identities: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class FindSubject(Read[DeedSubject | None], frozen=True, kw_only=True):
    """The message of a deed, with the session of today for it."""

    place: Address
    message: str
    #: the identity that a person's message with this id has; and how that begins and ends in any thread of the place
    identity: str
    in_threads: tuple[str, str] | None
    #: the identity of the deed itself
    deed: str
    agents: tuple[str, ...]


class FindSend(Read[rows.SendRow | None], frozen=True, kw_only=True):
    """The latest try of a client's send."""

    key: str


class ListDueMirrors(Read[tuple[rows.StoredIntent, ...]], frozen=True, kw_only=True):
    """Intents whose transcript lines were refused and are stored later.

    An intent with a note of an operator comes after that note is taken: its lines follow from it.
    """


class ListUnnotified(Read[tuple[tuple[int, rows.IntentRow, rows.IntentFate], ...]], frozen=True, kw_only=True):
    """Intents that have ended without their hooks being notified, with their numbers, behind number `after`."""

    after: int
    limit: int


class FindSession(Read[rows.SessionRow | None], frozen=True, kw_only=True):
    key: str


class FindRequester(Read[rows.SessionRow | None], frozen=True, kw_only=True):
    """The session that delegated, if a key has it today, and the place of the request has not left it."""

    session: SessionId
    origin: Address | None


class ReadTranscript(Read[tuple[TranscriptLine, ...]], frozen=True, kw_only=True):
    """The transcript of a session by id, whatever the key."""

    session: SessionId
    #: its newest lines only; None: all
    last: int | None = None
    #: whether lines name who wrote them
    authors: bool = False


class ListBindings(Read[rows.StoredBindings], frozen=True, kw_only=True):
    """Bindings in the order of their creation; ended ones only with `ended`."""

    ended: bool = False


class FindBinding(Read[SessionBindingRecord | None], frozen=True, kw_only=True):
    """A binding by id, whatever the status."""

    binding: str


class FindBindingOfRequest(Read[SessionBindingRecord | None], frozen=True, kw_only=True):
    """The binding of a request, whatever the status."""

    request: str


class ListOwnWebhooks(Read[tuple[tuple[str, str], ...]], frozen=True, kw_only=True):
    """Channel and id of each webhook that a binding has or had."""


class CountOpenByBinding(Read[dict[str, int]], frozen=True, kw_only=True):
    """How many open intents each binding has."""


class ListIntents(Read[tuple[QueueRow, ...]], frozen=True, kw_only=True):
    """Intents, open and ended, in the order of their creation, starting behind number `after`."""

    which: QueueFilter
    after: int = 0
    limit: int = 100


class CountIntents(Read[dict[IntentState, int]], frozen=True, kw_only=True):
    """How many intents a filter matches, by state."""

    which: QueueFilter


class CountPurgeable(Read[dict[IntentState, int]], frozen=True, kw_only=True):
    """How many intents `PurgeIntents` would remove, by state."""

    which: QueueFilter


class ShowIntent(Read[IntentDetails], frozen=True, kw_only=True):
    """An intent. Raises `UnknownName`, and `StoreError` for a row that cannot be read."""

    intent: str


class HasNudges(Read[bool], frozen=True, kw_only=True):
    """Whether an operator left a note that `TakeNudges` has not taken yet."""


class FindHolder(Read[str | None], frozen=True, kw_only=True):
    """The process that works the store, according to its lease; none: none does."""

    now: float
