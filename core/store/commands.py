"""Write commands: what the gateway asks a store to change, as values. Each is one transaction.

A command is generic in its answer: `store.write(Admit(...), story)` calls `story` with an `Admission`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from trunkline.core.keys import Migration, StoredKey
from trunkline.core.reasons import Reason
from trunkline.core.records import rows
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.deeds import DeedPlan, DeedSubject
from trunkline.core.records.heartbeat import HeartbeatText
from trunkline.core.records.inbound import TurnNote
from trunkline.core.states.binding import BindingEvent
from trunkline.core.states.delegation import CallbackEvent
from trunkline.core.states.intent import DeliveryEvent, end_state, next_state
from trunkline.core.store import queue_admin
from trunkline.core.values import InboundId, IntentId, IntentState, Receipt

A = TypeVar("A")


class Write(msgspec.Struct, Generic[A], frozen=True, kw_only=True):
    """A write command whose answer is an `A`."""


class Admit(Write[rows.Admission], frozen=True, kw_only=True, gc=False):
    """Store an inbound once, with the session and the transcript line.

    If `identity` or one of `also` is known, only the others of them are stored, as identities of the known one.
    """

    work: rows.Work
    identity: str
    also: tuple[str, ...] = ()
    session: rows.NewSession
    now: float
    #: a bot wrote it: it follows the last turn of its session, and is not stored where that chain is at its end
    chain: rows.BotChain | None = None


class BeginRun(Write[None], frozen=True, kw_only=True):
    """Record that a turn that an earlier process may have begun is about to run again."""

    work: InboundId
    #: instead: it has run for a while, so that a death of the process does not follow its start at once
    outlived: bool = False


class CountRuns(Write[None], frozen=True, kw_only=True):
    """Count the runs that had begun when an earlier process died."""

    #: the turns that are charged with it
    charged: frozenset[InboundId] = frozenset()


class TurnFinish(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to the end of a turn: the ids of the intents that are new, and what became of the callback."""

    new: tuple[IntentId, ...] = ()
    callback: rows.CallbackChange | None = None


class FinishTurn(Write[TurnFinish], frozen=True, kw_only=True, gc=False):
    work: rows.Work
    intents: Sequence[rows.IntentRow]
    now: float
    #: how the turn of a message ended
    ended: TurnNote | None = None
    #: what a heartbeat says with one of them
    said: HeartbeatText | None = None
    #: what the end of a callback turn means for the callback, and why
    callback: CallbackEvent | None = None
    callback_reason: Reason | None = None


class TakeDeed(Write[rows.ChangedLine | None], frozen=True, kw_only=True, gc=False):
    """Store a deed under its identity: the change of a question in the queue, or the note about it.

    Answers the line of the message, if it has changed.
    """

    identity: str
    subject: DeedSubject
    plan: DeedPlan
    #: who did it, as ``<channel>:<id>``
    author: str
    #: work that is admitted to the session
    wake: rows.Work | None
    now: float


class Enqueue(Write[bool], frozen=True, kw_only=True, gc=False):
    """Store a prepared intent, or one that a hook cancelled. Answers whether it is new: a re-run turn adds nothing."""

    intent: rows.IntentRow
    now: float
    #: the text that a heartbeat says with it
    said: HeartbeatText | None = None


class BeginSend(Write[rows.SendAdmission], frozen=True, kw_only=True, gc=False):
    """Store a client's send, its intent, and the session it goes to.

    `send` and `intent` are of the first try. Where the key has sent before, nothing is stored, unless `again` allows
    another try after the state of the latest one. An intent that hooks have seen (`hooks_pending`) is stored under its
    own id only: as the try that it was prepared for.
    """

    send: rows.SendRow
    intent: rows.IntentRow
    #: the session to create; none: it is known to exist, or there is none
    entry: rows.NewSession | None
    again: Callable[[IntentState], bool]
    now: float


class MarkSending(Write[None], frozen=True, kw_only=True, gc=False):
    """Record that an attempt begins: from now on a crash leaves this intent ambiguous."""

    intent: rows.IntentRow
    now: float

    @property
    def after(self) -> rows.IntentRow:
        return self.intent.with_progress(state=next_state(self.intent.progress.state, DeliveryEvent.MARK))


class AckChunk(Write[rows.Settlement], frozen=True, kw_only=True, dict=True):
    """Store the receipt of the next chunk; with the last chunk also the mirror and the end of the intent."""

    intent: rows.IntentRow
    receipt: Receipt
    #: the session that mirrors the intent; only with the last chunk
    mirror: rows.NewSession | None
    #: the mirror was refused and is stored later; see `StoreMirror`
    mirror_due: bool
    now: float

    @cached_property
    def after(self) -> rows.IntentRow:
        """The intent once the receipt is stored: nothing is left of the attempts at the chunk."""
        was, last = self.intent.progress, self.intent.is_last
        progress = rows.ProgressPart(
            state=next_state(was.state, DeliveryEvent.ACK_LAST if last else DeliveryEvent.ACK_CHUNK),
            acked=was.acked + 1,
            attempts=was.attempts if last else 0,
            interrupted=was.interrupted if last else 0,
            reason=Reason.ACCEPTED,
        )
        return msgspec.structs.replace(self.intent, progress=progress)


class WithLines(Write[rows.Settlement], frozen=True, kw_only=True):
    """Leaves transcript lines about an intent that ends other than delivered."""

    intent: rows.IntentRow
    #: the line that says so, in the session that sent the message; none: no line
    note: str | None
    #: work that is admitted to the session of the note
    wake: rows.Work | None
    now: float


class Misplace(WithLines, frozen=True, kw_only=True, dict=True):
    """End an intent whose next receipt shows another place, and mirror it where people see it."""

    receipt: Receipt
    mirror: rows.NewSession | None
    #: see `EndIntent`
    mirror_due: bool

    @cached_property
    def after(self) -> rows.IntentRow:
        was = self.intent.progress
        state = next_state(was.state, DeliveryEvent.MISPLACE)
        return self.intent.with_progress(state=state, acked=was.acked + 1, next_at=None, reason=Reason.MISPLACED)


class Defer(Write[bool], frozen=True, kw_only=True):
    """Try an intent again at `next_at`; its attempts are kept. Answers whether `notice` is new."""

    intent: rows.IntentRow
    next_at: float
    reason: Reason
    now: float
    #: an intent that is stored with it
    notice: rows.IntentRow | None = None

    @property
    def after(self) -> rows.IntentRow:
        state = next_state(self.intent.progress.state, DeliveryEvent.DEFER)
        return self.intent.with_progress(state=state, next_at=self.next_at, reason=self.reason)


class EndIntent(WithLines, frozen=True, kw_only=True, dict=True):
    """End an intent in a final state other than delivered; its accepted chunks are mirrored as partial."""

    event: DeliveryEvent
    reason: Reason
    mirror: rows.NewSession | None
    #: transcript lines were refused and are stored later; see `StoreMirror`
    mirror_due: bool
    #: an intent that is stored with it
    notice: rows.IntentRow | None

    @cached_property
    def after(self) -> rows.IntentRow:
        """The intent once it has ended. Raises `IllegalTransition` for an event that does not end it."""
        was = self.intent.progress
        state = end_state(was.state, self.event, accepted_chunks=was.acked, in_doubt=was.doubt_at is not None)
        return self.intent.with_progress(state=state, next_at=None, reason=self.reason)


class StoreMirror(WithLines, frozen=True, kw_only=True, gc=False):
    """Store the refused transcript lines of an intent. They stay due if an operator has acted since it was read."""

    mirror: rows.NewSession | None


class EndUnreadableIntent(WithLines, frozen=True, kw_only=True, gc=False):
    """End an open intent whose row cannot be read: it is not mirrored. `intent`: as far as it can be read."""

    state: IntentState
    reason: Reason


class LoseChunk(Write[tuple[rows.IntentRow, rows.Settlement] | None], frozen=True, kw_only=True, gc=False):
    """Take an accepted chunk back by the platform's word, in the queue and in transcripts. Answers the new intent.

    None: it was lost before, or the gateway itself was to delete it. Raises `IllegalTransition`.
    """

    intent: IntentId
    chunk: int
    reason: Reason
    #: admit work to the session that sent it
    wake: bool
    now: float


class MarkNotified(Write[bool], frozen=True, kw_only=True, gc=False):
    """Record that the hooks were notified how an intent ended. Answers whether that is new."""

    intent: IntentId


class EnsureSession(Write[rows.SessionRow], frozen=True, kw_only=True):
    """Find the session of a key, or create it."""

    session: rows.NewSession
    now: float


class ResetSession(Write[rows.ResetResult | None], frozen=True, kw_only=True):
    """Give a session the next generation and a new id. Answers none when there is no session to reset.

    A session that is still under the key which its place had in an older configuration is moved first.
    """

    session: rows.NewSession
    now: float


class MigrateKeys(Write[Migration | None], frozen=True, kw_only=True):
    """Rewrite the keys that are not in the form `codec`. Answers none when there are none.

    A key that the plan calls unreadable stays, and is not planned again.
    """

    codec: str
    plan: Callable[[Sequence[StoredKey]], Migration]
    now: float


class Bind(Write[rows.BindResult], frozen=True, kw_only=True):
    """Store a binding, with the session it is bound to where that is new. A request makes one binding, ever."""

    record: SessionBindingRecord
    session: rows.NewSession | None
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


class RetryIntent(Write[rows.IntentRow], frozen=True, kw_only=True):
    """Reopen an intent that has ended, from its first chunk without a receipt. Answers the intent before.

    Raises `UnknownName`; and `IllegalTransition` for one that is open, delivered, cancelled, misplaced or in doubt, and
    for a try of a client's send that a later try has replaced.
    """

    intent: str
    now: float


class ResolveIntent(Write[rows.IntentRow], frozen=True, kw_only=True):
    """Record what became of a chunk in doubt. Answers the intent before.

    Raises `UnknownName`; `IllegalTransition`; and `StoreError` for a row that cannot be read.
    """

    intent: str
    verdict: queue_admin.QueueVerdict
    now: float
    provider_id: str = ""


class PurgeIntents(Write[queue_admin.PurgedBatch], frozen=True, kw_only=True):
    """Remove at most `limit` intents that have ended, in order behind number `past`. A batch looks at a bounded part.

    Open intents stay, and intents in doubt unless their state is named. So do those with a transcript line or a
    notification of the hooks still due.
    """

    which: queue_admin.QueueFilter
    past: int = 0
    limit: int = queue_admin.BATCH


class TakeNudges(Write[tuple[queue_admin.Nudge, ...]], frozen=True, kw_only=True):
    """Take some of the operators' notes. Empty: there are no more."""


class Prune(Write[queue_admin.PruneCounts], frozen=True, kw_only=True):
    """Remove some of what ended before `cutoff`, and the identities of inbounds as old. What is in doubt stays.

    A sweep repeats it with the progress of the answer before, until that is over: it visits each row once.
    """

    cutoff: float
    progress: queue_admin.SweepProgress = queue_admin.SweepProgress()


class SetAsideBroken(Write[None], frozen=True, kw_only=True):
    """Close the work and delegations that cannot be read; a delegation gets the outcome ``lost``."""

    left: rows.Unfinished
    now: float
