"""Commands and queries of delegations, and their answers."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandResult, repr_without_ticket
from trunkline.core.records.rows import Admission, BrokenRow, CallbackChange, IntentRow, SessionRow, Work
from trunkline.core.states.delegation import CallbackEvent, CallbackState, HandOutcome, WorkState
from trunkline.core.store.commands import Admit, FinishTurn, TurnFinish, Write
from trunkline.core.store.queries import Read
from trunkline.core.store.queue_admin import QueueRow
from trunkline.core.values import DelegationId, InboundId, IntentId, SessionId


class PostVerb(StrEnum):
    """The request of a worker or operator of another process to the gateway."""

    #: a worker has taken the task
    TAKEN = "taken"
    PROGRESS = "progress"
    ANSWER = "answer"
    CANCEL = "cancel"
    RETRY_CALLBACK = "retry-callback"
    DISCARD = "discard"


class HandPost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that another process left for the gateway that works the store."""

    delegation: DelegationId
    verb: PostVerb
    #: of an answer
    outcome: HandOutcome | None = None
    text: str = ""
    #: the worker or operator
    by: str = ""
    #: of an answer or progress: that of the worker that took the task
    ticket: str | None = None
    at: float = 0.0
    #: its number; the command that applies it names it as `post`, and so removes it in the same transaction
    n: int = 0
    #: why its row cannot be read; then nothing but its number and the delegation is known
    problem: str = ""

    def __repr__(self) -> str:
        return repr_without_ticket(self, self.ticket)


class DelegationFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which delegations: all given conditions must hold. Empty: every one."""

    states: tuple[WorkState, ...] = ()
    callbacks: tuple[CallbackState, ...] = ()
    hand: str = ""
    agent: str = ""
    session: SessionId | None = None


class LateResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A result that came after the first one: kept, and never reported. Of a long text only the beginning is kept."""

    outcome: HandOutcome
    text: str
    at: float


class DelegationDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A delegation with everything stored about it."""

    row: DelegationRow
    late: tuple[LateResult, ...] = ()
    #: its messages: those of its callback turn, or what was posted instead
    intents: tuple[QueueRow, ...] = ()
    children: tuple[DelegationId, ...] = ()


class HandFinish(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a hand's result. `first`: it counts. `session`: that of the callback, or of the line instead.

    `replaced`: nothing was stored, because the requester's session was reset or merged, or its place has left it.
    """

    first: bool
    replaced: bool = False
    session: SessionRow | None = None
    #: how far the report has come with it
    change: CallbackChange | None = None
    #: how the first result had ended it; only for a later one
    before: WorkState | None = None
    #: of the turn that ended with it
    turn: TurnFinish | None = None
    #: the post that it came with was applied before: nothing was stored
    again: bool = False


class CallbackRetry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The effect of an operator's retry: messages that are sent again, or else the turn."""

    change: CallbackChange
    #: with a note for `TakeNudges`, as after `RetryIntent`
    intents: tuple[IntentId, ...] = ()
    work: Work | None = None
    session: SessionId | None = None


class ListedDelegations(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Delegations that match a filter. `broken`: rows among them that cannot be read."""

    rows: tuple[DelegationRow, ...]
    broken: tuple[BrokenRow, ...] = ()


class DelegationCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many delegations there are, by either column."""

    states: dict[WorkState, int]
    callbacks: dict[CallbackState, int]
    #: with those whose state cannot be read
    total: int


class AcceptDelegation(Write[bool], frozen=True, kw_only=True):
    """Store a task before its hand starts. Answers whether it is new."""

    row: DelegationRow


class StartDelegation(Write[Admission | None], frozen=True, kw_only=True):
    """Record that the hand is about to work; for an agent, its task is stored with it. Answers that admission.

    `deadline`: that of this run; none: the stored one stays.
    """

    delegation: DelegationId
    now: float
    deadline: float | None = None
    admit: Admit | None = None


class FinishDelegation(Write[HandFinish], frozen=True, kw_only=True):
    """Store the first result together with the callback and the intents it causes. A later one is kept with it.

    Raises `AnswerRefused` for a wrong ticket.
    """

    delegation: DelegationId
    result: HandResult
    callback: Admit | None
    intents: Sequence[IntentRow]
    now: float
    #: a line of the requester's transcript, if the result goes to another session without a callback
    line: str | None = None
    #: keep the text of the result: nothing delivers it
    keep_text: bool = False
    #: why nothing reports it
    callback_reason: Reason | None = None
    #: the ticket that an answer from outside must have; none: it comes from inside
    ticket: str | None = None
    #: a longer text, in characters, is stored once, by its content; none: it is stored in its row
    inline: int | None = None
    #: the turn of an agent that works on it, which ends with this result: stored even if the result is not the first
    turn: FinishTurn | None = None
    #: the number of the `HandPost` that brings it, which is removed with it
    post: int | None = None


class TakeTask(Write[DelegationRow | None], frozen=True, kw_only=True):
    """A worker takes an accepted task of a hand; sessions take turns. Answers it with its ticket; none: no task.

    It may be written by any process: with `post`, the gateway that works the store records it (`HandPost`). A task
    whose deadline has passed is not given away.
    """

    hand: str
    worker: str
    ticket: str
    now: float
    post: bool = True


class NoteProgress(Write[bool], frozen=True, kw_only=True):
    """Store what a hand reports of its progress. Answers whether it still works.

    Raises `AnswerRefused` for a wrong ticket.
    """

    delegation: DelegationId
    text: str
    ticket: str | None = None
    post: int | None = None


class ChangeCallback(Write[CallbackChange | None], frozen=True, kw_only=True):
    """Move the callback of a delegation along its table. Answers none where the event does not apply any more.

    With ``discard`` a turn that is due does not run, and ``begin`` answers none for it.
    """

    delegation: DelegationId
    event: CallbackEvent
    reason: Reason | None = None
    post: int | None = None


class CallbackBegun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to `BeginCallback`. `due` false: an operator has discarded the report, and its turn does not run."""

    due: bool
    change: CallbackChange | None = None
    #: the whole text of a long result
    text: str | None = None


class BeginCallback(Write[CallbackBegun], frozen=True, kw_only=True, gc=False):
    """The turn of a callback begins, for the first time or again after a crash."""

    delegation: DelegationId
    work: Work


class IsDiscarded(Read[bool], frozen=True, kw_only=True):
    """Whether an operator has discarded the report of a delegation. One that was withheld is not."""

    delegation: DelegationId


class RetryCallback(Write[CallbackRetry], frozen=True, kw_only=True):
    """Report a delegation again whose report has failed: its messages are sent again, or its turn runs again.

    Raises `UnknownName`, and `IllegalTransition` where nothing has failed, or nothing of it can be repeated.
    """

    delegation: DelegationId
    now: float
    post: int | None = None


class PostToGateway(Write[bool], frozen=True, kw_only=True):
    """Leave an answer, progress or a request for the gateway that works the store, from any process.

    Answers whether no answer was there before: a later one is kept and never reported. Progress replaces the progress
    that still waits. Raises `UnknownName`; and `AnswerRefused` for what the delegation's row already refuses, and for
    one answer more than may wait (`already-finished`).
    """

    post: HandPost


class DropPost(Write[bool], frozen=True, kw_only=True):
    """Remove a `HandPost` that no command applied. Answers whether it was still there."""

    n: int


class ReadPosts(Read[tuple[HandPost, ...]], frozen=True, kw_only=True):
    """The oldest of what other processes left. Each stays until the command that applies it is stored.

    What workers left comes before the requests of operators, so that an answer that came in time counts.
    Answers fewer than `limit` where their texts are long, and at least one if there is any.
    """

    limit: int = 100
    #: only what was left for this one
    delegation: str | None = None


class FindDelegation(Read[DelegationRow | None], frozen=True, kw_only=True):
    """A delegation; none: there is no such, or its row cannot be read."""

    delegation: str


class ListDelegations(Read[ListedDelegations], frozen=True, kw_only=True):
    """Delegations that match a filter, newest first, without their results. `before`: the oldest already seen."""

    which: DelegationFilter
    before: DelegationId | None = None
    limit: int = 100


class CountDelegations(Read[DelegationCounts], frozen=True, kw_only=True):
    """How many delegations match a filter."""

    which: DelegationFilter


class CountCaused(Read[int], frozen=True, kw_only=True):
    """How many delegations an inbound message has led to, through all turns that followed."""

    inbound: InboundId


class ShowDelegation(Read[DelegationDetails], frozen=True, kw_only=True):
    """A delegation with everything stored about it. Raises `UnknownName`, or `StoreError` for an unreadable row."""

    delegation: str


class ReadResult(Read[str], frozen=True, kw_only=True):
    """The whole text of a result that is stored by its content. Raises `UnknownName` when it is gone."""

    ref: str


class HasPosts(Read[bool], frozen=True, kw_only=True):
    """Whether other processes have left anything."""
