"""A delegation as the store keeps it."""

from enum import StrEnum

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.records.origin import Origin
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.values import Address, DelegationId, InboundId, SessionId, TurnId


class HandResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of a hand."""

    outcome: HandOutcome
    text: str


class HandKind(StrEnum):
    """The kind of hand that works on a delegation."""

    #: a function in the gateway's process: `trunkline.core.hands.port.HandRunner`
    FUNCTION = "function"
    #: another agent of the gateway, in a session of its own
    AGENT = "agent"
    #: a worker outside, which takes the task and answers later
    WORKER = "worker"


def repr_without_ticket(value: msgspec.Struct, ticket: str | None) -> str:
    """The `repr` of a value that has a ticket, without it: logs and tracebacks must not show the secret."""
    shown = value if ticket is None else msgspec.structs.replace(value, ticket="…")
    return msgspec.Struct.__repr__(shown)


class DelegationRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A task given to a hand. `origin` and `reply_to` are frozen at the call."""

    id: DelegationId
    state: WorkState = WorkState.ACCEPTED
    callback: CallbackState = CallbackState.WAITING
    #: why the callback is in this state, where it is not obvious
    callback_reason: Reason | None = None
    kind: HandKind = HandKind.FUNCTION
    hand: str
    task: str
    #: the caller's own name for it; never identifies it
    label: str = ""
    agent: str
    session_key: str
    #: the session that delegated: the result belongs to no other
    session: SessionId | None = None
    turn: TurnId
    inbound: InboundId
    #: where the answer of the callback turn goes; none: the caller is itself a hand, and its own result goes on
    reply_to: Address | None
    #: the thread of `reply_to` is opened on this message before anything is said there
    open_on: str | None = None
    #: none in rows of earlier versions
    origin: Origin | None = None
    #: the delegation that the caller itself works on, and how many delegations stand one above the other
    parent: DelegationId | None = None
    depth: int = 1
    outcome: HandOutcome | None = None
    #: none while `result_ref` names a text that is stored elsewhere
    result: str | None = None
    result_ref: str | None = None
    #: the last that the hand reported of its progress
    progress: str = ""
    #: the worker that took the task, and the secret by which its answer is recognised
    worker: str = ""
    ticket: str | None = None
    #: key of its own session: one that is bound to a conversation, or that of the agent that works on it
    child_key: str | None = None
    accepted_at: float
    started_at: float | None = None
    finished_at: float | None = None
    #: when it is ended as timed out; counted from its start, and from its acceptance for a worker
    deadline: float | None = None
    #: seconds that one run may take
    timeout: float | None = None
    #: maximum length of its result, in characters, as configured at its acceptance; none in rows of earlier versions
    max_result: int | None = None

    def __repr__(self) -> str:
        return repr_without_ticket(self, self.ticket)
