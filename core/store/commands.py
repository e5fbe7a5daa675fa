"""Write commands: what the gateway asks a store to change, as values. Each is one transaction.

A command is generic in its answer: `store.write(Admit(...), story)` calls `story` with an `Admission`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from trunkline.core.keys import Migration, StoredKey
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.heartbeat import HeartbeatText
from trunkline.core.records.inbound import TurnNote
from trunkline.core.records.rows import (
    Admission,
    BindResult,
    CallbackChange,
    IntentRow,
    NewSession,
    ProgressPart,
    ResetResult,
    SendAdmission,
    SendRow,
    SessionRow,
    Settlement,
    Unfinished,
    Work,
)
from trunkline.core.states.binding import BindingEvent
from trunkline.core.states.delegation import CallbackEvent
from trunkline.core.states.intent import DeliveryEvent, end_state, next_state
from trunkline.core.store.queue_admin import BATCH, Nudge, PruneCounts, QueueFilter, QueueVerdict
from trunkline.core.values import InboundId, IntentId, IntentState, Receipt

A = TypeVar("A")


class Write(msgspec.Struct, Generic[A], frozen=True, kw_only=True):
    """A write command whose answer is an `A`."""


# -------------------------------------------------------------------- inbound work


class Admit(Write[Admission], frozen=True, kw_only=True, gc=False):
    """Store an inbound once, with its session and its transcript line.

    If `identity` or one of `also` is known, only the others of them are stored, as identities of the known one.
    """

    work: Work
    identity: str
    also: tuple[str, ...] = ()
    session: NewSession
    now: float


class BeginRun(Write[None], frozen=True, kw_only=True):
    """Record that a turn that an earlier process may have begun is about to run again."""

    work: InboundId


class CountRuns(Write[None], frozen=True, kw_only=True):
    """Count the runs that had begun when an earlier process died."""


class TurnFinish(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to the end of a turn: the ids of the intents that are new, and what became of the callback."""

    new: tuple[IntentId, ...] = ()
    callback: CallbackChange | None = None


class FinishTurn(Write[TurnFinish], frozen=True, kw_only=True, gc=False):
    """End a turn together with its intents."""

    work: Work
    intents: Sequence[IntentRow]
    now: float
    #: how the turn of a message ended
    ended: TurnNote | None = None
    #: what a heartbeat says with one of them
    said: HeartbeatText | None = None
    #: what the end of a callback turn means for the callback, and why
    callback: CallbackEvent | None = None
    callback_reason: Reason | None = None


# -------------------------------------------------------------------- intents


class Enqueue(Write[bool], frozen=True, kw_only=True, gc=False):
    """Store a prepared intent, or one that a hook cancelled. Answers whether it is new: a re-run turn adds nothing."""

    intent: IntentRow
    now: float


class BeginSend(Write[SendAdmission], frozen=True, kw_only=True, gc=False):
    """Store a client's send, its intent, and the session it goes to.

    `send` and `intent` are of the first try. Where the key has sent before, nothing is stored, unless `again` allows
    another try after the state of the latest one. An intent that hooks have seen (`hooks_pending`) is stored under its
    own id only: as the try that it was prepared for.
    """

    send: SendRow
    intent: IntentRow
    #: the session to create; none: it is known to exist, or there is none
    entry: NewSession | None
    again: Callable[[IntentState], bool]
    now: float


class MarkSending(Write[None], frozen=True, kw_only=True, gc=False):
    """Record that an attempt begins: from now on a crash leaves this intent ambiguous."""

    intent: IntentRow
    now: float

    @property
    def after(self) -> IntentRow:
        """The intent once the attempt is recorded."""
        return self.intent.with_progress(state=next_state(self.intent.progress.state, DeliveryEvent.MARK))


class AckChunk(Write[Settlement], frozen=True, kw_only=True, dict=True):
    """Store the receipt of the next chunk; with the last chunk also the mirror and the end of the intent."""

    intent: IntentRow
    receipt: Receipt
    #: the session that mirrors the intent; only with the last chunk
    mirror: NewSession | None
    #: the mirror was refused and is stored later; see `StoreMirror`
    mirror_due: bool
    now: float

    @cached_property
    def after(self) -> IntentRow:
        """The intent once the receipt is stored: nothing is left of the attempts at the chunk."""
        was, last = self.intent.progress, self.intent.is_last
        progress = ProgressPart(
            state=next_state(was.state, DeliveryEvent.ACK_LAST if last else DeliveryEvent.ACK_CHUNK),
            acked=was.acked + 1,
            attempts=was.attempts if last else 0,
            interrupted=was.interrupted if last else 0,
            reason=Reason.ACCEPTED,
        )
        return msgspec.structs.replace(self.intent, progress=progress)


class Misplace(Write[Settlement], frozen=True, kw_only=True, dict=True):
    """End an intent whose next receipt shows another place, and mirror it where people see it."""

    intent: IntentRow
    receipt: Receipt
    mirror: NewSession | None
    #: see `EndIntent`
    note: str | None
    wake: Work | None
    mirror_due: bool
    now: float

    @cached_property
    def after(self) -> IntentRow:
        """The intent once the receipt is stored."""
        was = self.intent.progress
        state = next_state(was.state, DeliveryEvent.MISPLACE)
        return self.intent.with_progress(state=state, acked=was.acked + 1, next_at=None, reason=Reason.MISPLACED)


class Defer(Write[None], frozen=True, kw_only=True):
    """Try an intent again at `next_at`; its attempts are kept."""

    intent: IntentRow
    next_at: float
    reason: Reason
    now: float

    @property
    def after(self) -> IntentRow:
        """The intent once it is deferred."""
        state = next_state(self.intent.progress.state, DeliveryEvent.DEFER)
        return self.intent.with_progress(state=state, next_at=self.next_at, reason=self.reason)


class EndIntent(Write[Settlement], frozen=True, kw_only=True, dict=True):
    """End an intent in a final state other than delivered; its accepted chunks are mirrored as partial."""

    intent: IntentRow
    event: DeliveryEvent
    reason: Reason
    mirror: NewSession | None
    #: the transcript line that says so, in the session that sent the message; none: no line
    note: str | None
    #: work that is admitted to the session of the note
    wake: Work | None
    #: transcript lines were refused and are stored later; see `StoreMirror`
    mirror_due: bool
    #: an intent that is stored with it
    notice: IntentRow | None
    now: float

    @cached_property
    def after(self) -> IntentRow:
        """The intent once it has ended. Raises `IllegalTransition` for an event that does not end it."""
        was = self.intent.progress
        state = end_state(was.state, self.event, accepted_chunks=was.acked, in_doubt=was.doubt_at is not None)
        return self.intent.with_progress(state=state, next_at=None, reason=self.reason)


class StoreMirror(Write[Settlement], frozen=True, kw_only=True, gc=False):
    """Store the refused transcript lines of an intent. They stay due if an operator has acted since it was read."""

    intent: IntentRow
    mirror: NewSession | None
    note: str | None
    wake: Work | None
    now: float


class EndUnreadableIntent(Write[Settlement], frozen=True, kw_only=True, gc=False):
    """End an open intent whose row cannot be read: it is not mirrored."""

    #: as far as it can be read; see `BrokenIntent`
    intent: IntentRow
    state: IntentState
    reason: Reason
    note: str | None
    wake: Work | None
    now: float


class MarkNotified(Write[bool], frozen=True, kw_only=True, gc=False):
    """Record that the hooks were notified how an intent ended. Answers whether that is new."""

    intent: IntentId


# -------------------------------------------------------------------- sessions


class EnsureSession(Write[SessionRow], frozen=True, kw_only=True):
    """Find the session of a key, or create it."""

    session: NewSession
    now: float


class ResetSession(Write[ResetResult | None], frozen=True, kw_only=True):
    """Give a session the next generation and a new id. Answers none when there is no session to reset.

    A session that is still under the key which its place had in an older configuration is moved first.
    """

    session: NewSession
    now: float


class MigrateKeys(Write[Migration | None], frozen=True, kw_only=True):
    """Rewrite the keys that are not in the form `codec`. Answers none when there are none.

    A key that the plan calls unreadable stays, and is not planned again.
    """

    codec: str
    plan: Callable[[Sequence[StoredKey]], Migration]
    now: float


# -------------------------------------------------------------------- session bindings


class Bind(Write[BindResult], frozen=True, kw_only=True):
    """Store a binding, with the session it is bound to where that is new. A request makes one binding, ever."""

    record: SessionBindingRecord
    session: NewSession | None
    now: float


class ChangeBinding(Write[SessionBindingRecord | None], frozen=True, kw_only=True):
    """Apply an event to a binding. Answers the binding after it; none when the binding has already ended."""

    binding: str
    event: BindingEvent
    changes: Mapping[str, Any]


class TouchBinding(Write[SessionBindingRecord | None], frozen=True, kw_only=True):
    """Move a binding's last activity forward. Answers the binding after it; none when nothing changed."""

    binding: str
    at: float


# -------------------------------------------------------------------- operators and maintenance


class RetryIntent(Write[IntentRow], frozen=True, kw_only=True):
    """Reopen an intent that has ended, from its first chunk without a receipt. Answers the intent before.

    Raises `UnknownName`; and `IllegalTransition` for one that is open, delivered, cancelled, misplaced or in doubt, and
    for a try of a client's send that a later try has replaced.
    """

    intent: str
    now: float


class ResolveIntent(Write[IntentRow], frozen=True, kw_only=True):
    """Record what became of a chunk in doubt. Answers the intent before.

    Raises `UnknownName`; `IllegalTransition`; and `StoreError` for a row that cannot be read.
    """

    intent: str
    verdict: QueueVerdict
    now: float
    provider_id: str = ""


class PurgeIntents(Write[int], frozen=True, kw_only=True):
    """Remove at most `limit` intents that have ended. Answers how many: fewer than `limit` when those were the last.

    Open intents stay, and intents in doubt unless their state is named. So do those with a transcript line or a
    notification of the hooks still due.
    """

    which: QueueFilter
    limit: int = BATCH


class TakeNudges(Write[tuple[Nudge, ...]], frozen=True, kw_only=True):
    """Take some of the notes that operators left. Empty: there are no more."""


class Prune(Write[PruneCounts], frozen=True, kw_only=True):
    """Remove some of what ended before `cutoff`, and the identities of inbounds as old. What is in doubt stays."""

    cutoff: float


class SetAsideBroken(Write[None], frozen=True, kw_only=True):
    """Close the work and delegations that cannot be read; a delegation gets the outcome ``lost``."""

    left: Unfinished
    now: float
