"""The models of hands and workers (`cast`), and of what a run expects of delegations."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.config import Duration, Model
from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.sim.scenario.model.rules import Match, Nonsense
from trunkline.sim.scenario.shorthand import as_rules

#: longest result that a scenario can ask for, in characters
LARGEST = 20_000_000


class ProgressReport(Model):
    """A report of how far the work has come."""

    at: Duration = 0.0
    """Time since the beginning of the work."""
    text: str
    """The text: a template."""


class HandRule(Model):
    """How a hand works on a task: it takes a while, then returns a result or fails."""

    when: Match = Match()
    """The tasks it applies to; by default any."""
    takes: Duration = 1.0
    """How long it takes."""
    progress: tuple[ProgressReport, ...] = ()
    """What it reports meanwhile."""
    result: str | None = None
    """The result; `{task}` stands for the task."""
    result_size: int | None = Field(default=None, ge=0, le=LARGEST)
    """Repeat the result until it has this many characters."""
    fails: str | None = None
    """Fail with this error instead."""
    nonsense: Nonsense | None = None
    """Misbehave instead, in one of the ways of an agent's `nonsense`."""
    plugin: str | None = None
    """Let a hand of a plug-in work on it instead, by its name, such as `acme.search`."""
    may_miss: Literal[True] | None = None
    """Whether a run may have no task for it."""


class WorkerRule(Model):
    """How a worker works on a task that it has taken."""

    text: str | None = None
    """The tasks it applies to, by their text, with `*` for anything; by default any."""
    works: Duration = 1.0
    """How long it works before it answers."""
    progress: tuple[ProgressReport, ...] = ()
    """What it reports meanwhile."""
    result: str | None = None
    """The result; `{task}` stands for the task, `{n}` for the number of the answer."""
    result_size: int | None = Field(default=None, ge=0, le=LARGEST)
    """Repeat the result until it has this many characters."""
    fails: str | None = None
    """Answer with this error instead."""
    answers: int = Field(default=1, ge=0, le=10)
    """How often it answers. Only the first answer counts; with 0 it keeps the task and never answers."""
    again_after: Duration = 1.0
    """Time between two answers."""
    ticket: Literal["wrong", "none"] | None = None
    """Answer with a ticket that is not that of the task, or without one."""
    names: Literal["other", "unknown"] | None = None
    """Answer another delegation: the oldest open one that is not its own, or one that never existed."""
    dies: Literal[True] | None = None
    """Die instead of answering, once the task is taken. It does not come back."""
    may_miss: Literal[True] | None = None
    """Whether a run may have no task for it."""


class WorkerSpec(Model):
    """A worker in a process of its own: it takes tasks of a hand, one at a time, and answers on the store.

    It needs no gateway: it survives crashes, and answers while none runs. The hand must be configured with
    `gateway.hands.each.HAND.worker`. A running gateway takes an answer within `gateway.hands.watch`.
    """

    hand: str
    """The hand whose tasks it takes."""
    takes_after: Duration = 0.5
    """How long a task waits until it takes it."""
    rules: Annotated[
        tuple[WorkerRule, ...], BeforeValidator(as_rules, json_schema_input_type=WorkerRule | list[WorkerRule])
    ] = (WorkerRule(),)
    """How it works on a task, or its only way. The first that matches the task applies."""


class ExpectedDelegation(Model):
    """Delegations that must have ended like this. Every field given must hold."""

    hand: str | None = None
    """The hand."""
    label: str | None = None
    """The label that the agent gave to it."""
    task: str | None = None
    """The task; `*` stands for anything."""
    agent: str | None = None
    """The agent that delegated."""
    asked_by: str | None = None
    """The person for whom it was delegated."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place that the answer belongs to."""
    work: WorkState | None = None
    """How the work ended."""
    result: str | None = None
    """The first result; `*` stands for anything."""
    callback: CallbackState | None = None
    """How far its report came."""
    reason: str | None = None
    """The reason code of its report."""
    times: int = Field(default=1, ge=0)
    """How many such delegations."""


class ExpectedGiven(Model):
    """A turn in which an agent must have been given this. Turns of plain messages without a prompt do not count."""

    agent: str | None = None
    """The agent."""
    text: str | None = None
    """The text of the turn; `*` stands for anything."""
    sender: str | None = Field(default=None, validation_alias="from")
    """The id of its author, such as `hand:research`."""
    asked_by: str | None = None
    """The person for whom the turn is done."""
    callback: str | None = None
    """The turn delivers the result of this hand."""
    outcome: Literal["ok", "error", "timeout", "cancelled", "lost"] | None = None
    """How that hand ended."""
    prompts: tuple[str, ...] | None = None
    """All of its system prompts, in order; `*` stands for anything."""
    times: int = Field(default=1, ge=0)
    """How many such turns. A turn that runs again counts again."""
