"""Events of hands, workers and agents: what they really did and saw, as the cast records it.

The gateway's own record of a delegation is compared with these facts: invariants need no word of the gateway for what a
hand returned, or for what an agent was given.
"""

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address, Peer, WorkKind
from trunkline.sim.events.base import SimBody


class HandBegan(SimBody, frozen=True, kw_only=True):
    """A hand of the cast, or an agent that is one, began to work on a task. A run that is made again begins again."""

    hand: str
    task: str
    #: the gateway process that runs it, and the number of its start
    process: str
    generation: int
    #: the hand is an agent, which works in a turn
    agent: bool = False


class HandAnswered(SimBody, frozen=True, kw_only=True):
    """A hand returned a text or failed. A run that was aborted, or whose process died, never answers."""

    hand: str
    #: ``ok`` or ``error``
    outcome: HandOutcome
    #: what it returned, or its error
    text: str
    process: str
    generation: int
    #: an agent that returned nothing: its task goes on while it has delegations of its own
    silent: bool = False
    agent: bool = False
    #: words of it that nothing else in the scenario says, so that they prove where they come from (invariant C1)
    marks: tuple[str, ...] = ()


class AgentReasoned(SimBody, frozen=True, kw_only=True):
    """An agent wants a text said with reasoning inside, which is for nobody (invariant C9)."""

    agent: str
    #: words of the reasoning that nothing else in the scenario says
    marks: tuple[str, ...]


class AgentQuotes(SimBody, frozen=True, kw_only=True):
    """An agent names the message that it answers: by a tag in a text, or to its tool (invariant R1)."""

    agent: str
    #: an intent, or the platform's id of a message
    message: str


class HandProgressed(SimBody, frozen=True, kw_only=True):
    """A hand in the gateway's process reported its progress, which is no result."""

    hand: str
    text: str


class WorkerTook(SimBody, frozen=True, kw_only=True):
    """A worker outside took a task."""

    worker: str
    hand: str
    task: str


class WorkerReported(SimBody, frozen=True, kw_only=True):
    """A worker reported its progress. `named` is the delegation that it names; empty `reason`: taken."""

    worker: str
    named: str
    text: str
    accepted: bool
    reason: Reason | None = None


class WorkerAnswered(SimBody, frozen=True, kw_only=True):
    """A worker answered: its task, or by a mistake another one.

    `accepted`: the store has kept the answer for the gateway, which may still ignore it as a later one.
    """

    worker: str
    #: the hand that the worker works for
    hand: str
    #: the delegation that it names
    named: str
    outcome: HandOutcome
    text: str
    #: the ticket that it shows is the one that it got for the named delegation
    ticket_right: bool
    accepted: bool
    #: why it was refused
    reason: Reason | None = None
    detail: str = ""
    #: as of `hand.answered`
    marks: tuple[str, ...] = ()


class WorkerDied(SimBody, frozen=True, kw_only=True):
    """A worker died with a task in its hands; nobody answers it."""

    worker: str
    hand: str


class GivenPrompt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A system prompt of one turn, as the agent was given it."""

    #: ``base``, ``channel`` or ``callback``
    kind: str
    text: str


class AgentGiven(SimBody, frozen=True, kw_only=True):
    """The input that an agent was given for a turn. Recorded of callbacks and tasks, and of turns with prompts."""

    agent: str
    session_id: str
    session_key: str
    #: why the turn runs
    work: WorkKind
    #: the author of the text
    peer: Peer
    #: the person for whom the turn is done
    asked_by: Peer | None
    place: Address | None
    text: str
    prompts: tuple[GivenPrompt, ...] = ()
    #: the prompts as one text
    prompt: str | None = None
    #: the hand, its outcome and the label of a callback
    hand: str = ""
    outcome: HandOutcome | None = None
    label: str = ""
    #: what a model is given, with ``{text}`` where the text stands; empty: the text itself
    frame: str = ""


class AgentAnswered(SimBody, frozen=True, kw_only=True):
    """An agent has returned: what it was given for the turn, and its answer. Never, if the process dies before."""

    agent: str
    work: WorkKind
    #: what it was given, by whom, and where
    given: str
    peer: Peer
    place: Address | None = None
    #: what it returned, as it is; none: nothing
    text: str | None = None
    #: how it failed: the error that it raised, or the type of what it returned instead of a text
    failed: str = ""
    #: the session that it was given; empty: a trace of an earlier version
    session_key: str = ""


class AgentSends(SimBody, frozen=True, kw_only=True):
    """An agent asks its message tool to say a text; recorded before the call, which the gateway may refuse."""

    agent: str
    text: str
    #: the place as the agent names it; empty: that of the turn
    to: str = ""


class AgentDelegated(SimBody, frozen=True, kw_only=True):
    """An agent called the delegation tool, and the call has returned. The ids name its turn, and what was accepted."""

    agent: str
    session_id: str
    #: number of the action in its turn; a turn that runs again makes the same calls
    call: int
    hand: str
    task: str
    #: when it was called
    since: float
    #: the type of the error; empty: it was accepted
    refused: str = ""
    #: the reason of a refusal, and the place of the turn
    reason: str = ""
    at: Address | None = None
    #: the place that the agent named for the answer
    reply_to: Address | None = None


class AgentChecked(SimBody, frozen=True, kw_only=True):
    """An agent asked for its open delegations, or had one ended: the answer depends on how far the hands have come."""

    agent: str
    #: ``check`` or ``cancel``
    call: str
    answer: str
