"""The present of a gateway: work that has not ended and the newest lines, as of one moment."""

from collections.abc import Callable

import msgspec

from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import StoredIntent, Work
from trunkline.core.store.queries import Read
from trunkline.core.values import Address, SessionId, TranscriptLine


class PresentSession(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    id: SessionId
    agent: str
    generation: int
    address: Address | None
    lines: tuple[TranscriptLine, ...]


class Present(msgspec.Struct, frozen=True, kw_only=True):
    #: the answer of `ReadPresent.mark`
    mark: int
    #: sessions with lines among the newest, or with something open
    sessions: tuple[PresentSession, ...]
    #: work whose turn has not ended
    works: tuple[tuple[Work, SessionId], ...]
    #: those that are open or parked
    intents: tuple[StoredIntent, ...]
    #: delegations whose work or report has not ended
    delegations: tuple[DelegationRow, ...]
    bindings: tuple[SessionBindingRecord, ...]
    #: what there is more of than was read, in words
    left_out: tuple[str, ...] = ()


class ReadPresent(Read[Present], frozen=True, kw_only=True):
    """Read unfinished work and the newest lines, in a single transaction."""

    #: called inside of the transaction, by the thread that also commits and records what is durable
    mark: Callable[[], int]
    #: newest lines of all transcripts together, and of each
    lines: int = 5_000
    lines_each: int = 50
    #: of work, intents and delegations, each
    rows: int = 2_000
