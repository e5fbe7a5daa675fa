"""What operators' commands ask of a gateway, whether of its store file or over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from trunkline.core.errors import UsageError
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.store.delegations import DelegationFilter, HandPost
from trunkline.core.store.operators.bindings import BindingsOverview
from trunkline.core.store.operators.hands import HandInspection, HandPosted, HandsOverview, TakenTask
from trunkline.core.store.operators.queue import IntentInspection, QueueChanges, QueueOverview
from trunkline.core.store.operators.sessions import SessionSummary, TranscriptPage
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.values import DelegationId, IntentState


class Unavailable(UsageError):
    """The gateway cannot be reached now, or is not ready; it may be there again soon."""


class NotPossible(Exception):
    """The command is not possible, and changed nothing."""


class Operator(Protocol):
    """A gateway, as operators and workers see it.

    Every method raises `UsageError` for what cannot be asked, such as a file that is no store, and `UnknownName` for an
    id that is not there. One that changes something raises `NotPossible`, and then nothing was changed.
    """

    @property
    def option(self) -> str:
        """The option that names this gateway on the command line, as it can be typed again."""
        ...

    @property
    def acts_at_once(self) -> bool:
        """Whether a change is carried out when its method returns. Else the gateway finds it in its store."""
        ...

    # ------------------------------------------------------------ queue

    def queue(self, which: QueueFilter, *, limit: int) -> QueueOverview:
        """The first `limit` matching intents in the order of their creation, and the totals."""
        ...

    def intent(self, intent: str) -> IntentInspection:
        """One intent, and what can be done to it."""
        ...

    def retry(self, intents: Sequence[str]) -> QueueChanges:
        """Retry all of these intents, or none."""
        ...

    def retry_all(self, which: QueueFilter) -> QueueChanges:
        """Retry all matching intents that can be retried."""
        ...

    def resolve(self, intent: str, verdict: QueueVerdict, *, message_id: str = "") -> QueueChanges:
        """Record what became of the chunk in doubt."""
        ...

    def purgeable(self, which: QueueFilter, *, older_than: float | None) -> Mapping[IntentState, int]:
        """How many intents `purge` would remove, by state. `older_than`: seconds since they were last written."""
        ...

    def purge(self, which: QueueFilter, *, older_than: float | None) -> int:
        """Remove intents that have ended; how many."""
        ...

    # ------------------------------------------------------------ bindings, sessions

    def bindings(self, *, ended: bool) -> BindingsOverview:
        """All bindings; ended ones only with `ended`."""
        ...

    def unbind(self, binding: str, reason: str) -> SessionBindingRecord:
        """End a binding; the record after it."""
        ...

    def sessions(self) -> Iterator[SessionSummary]:
        """Every session, ordered by key and generation."""
        ...

    def transcript(self, name: str) -> Iterator[TranscriptPage]:
        """The transcript of a session in pages, at least one; lines that are added meanwhile are left out."""
        ...

    # ------------------------------------------------------------ hands

    def hands(self, which: DelegationFilter, *, before: DelegationId | None, limit: int) -> HandsOverview:
        """The newest `limit` matching delegations, older than `before`, and the totals."""
        ...

    def delegation(self, delegation: str) -> HandInspection:
        """One delegation, and what can be done to it."""
        ...

    def post(self, post: HandPost) -> HandPosted:
        """Give the gateway an answer, progress, or an operator's request."""
        ...

    def take(self, hand: str, worker: str) -> TakenTask | None:
        """Take the next task of a hand; None: there is none."""
        ...
