"""The models of a scenario file, version 1: metadata, gateway, world, cast, script, expectations.

People read and write these files, so fields are words, references are names (``ops/deploy``, ``@ana``), and there is no
code: texts are matched with ``*``, and templates have slots like ``{text}``. docs/scenarios.md and `trunkline schema`
are generated from the docstrings of models and fields. `sim.scenario.cross_checks` checks references.

A *place* is written ``platform/room``, ``platform/room/thread`` or ``platform/@person`` (a direct conversation).
``platform:account/...`` names one of several bot accounts. The platform may be omitted if the rest is unambiguous.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.config import Duration, GatewayConfig, Model
from trunkline.sim.scenario.model.agent_actions import AgentAction, DelegateAction, SendAction
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.hands import ExpectedDelegation, ExpectedGiven, HandRule, WorkerSpec
from trunkline.sim.scenario.model.hooks import Hook
from trunkline.sim.scenario.model.rules import Match
from trunkline.sim.scenario.model.steps import (
    BindStep,
    ClockStep,
    CrashStep,
    FreezeStep,
    HandsStep,
    PollStep,
    QueueStep,
    ReloadStep,
    ReplayStep,
    ResetStep,
    RestartStep,
    RotateStep,
    ScriptStep,
    SecondProcessStep,
    SendStep,
    SystemEventStep,
    UnbindStep,
    WakeHeartbeatStep,
    WakeStep,
    WebhookStep,
    When,
)
from trunkline.sim.scenario.model.world import (
    PLATFORMS,
    AccountSpec,
    PersonSpec,
    PlatformSpec,
    PreloadedSession,
    PreloadedStore,
    RoomSpec,
    ThreadSpec,
    WorldSpec,
)
from trunkline.sim.scenario.shorthand import as_rules

SCENARIO_VERSION = 1


# ---------------------------------------------------------------- cast


class AgentRule(Model):
    """A rule of an agent: what the agent does in a turn that matches. The first rule that matches applies."""

    when: Match = Match()
    """The turns it applies to; by default any."""
    do: tuple[AgentAction, ...] = Field(min_length=1)
    """The actions, in order."""


class Cast(Model):
    """How agents, hands, workers and hooks behave."""

    agents: dict[str, tuple[AgentRule, ...]] = Field(default_factory=dict)
    """The rules of each agent of the gateway. The first that matches applies."""
    hands: dict[
        str,
        Annotated[
            tuple[HandRule, ...],
            BeforeValidator(as_rules, json_schema_input_type=HandRule | list[HandRule]),
        ],
    ] = Field(default_factory=dict)
    """The rules of each hand, or its only rule. The first that matches the task applies. Agents are hands, too, by
    their names, and have their rules in `agents`."""
    workers: dict[str, WorkerSpec] = Field(default_factory=dict)
    """Workers outside the gateway, by name."""
    hooks: dict[str, Hook] = Field(default_factory=dict)
    """Hooks: user code that runs before messages are stored, and after they end. By name."""

    @property
    def takes_gateway_down(self) -> bool:
        """Whether an agent, a hand or a hook ends the process from inside."""
        ways: set[object] = {action.nonsense for rules in self.agents.values() for rule in rules for action in rule.do}
        ways |= {rule.nonsense for rules in self.hands.values() for rule in rules}
        ways |= {hook.nonsense for hook in self.hooks.values()}
        return "takes-gateway-down" in ways


# ---------------------------------------------------------------- expectations


class ExpectedMessage(Model):
    """A message that people must see."""

    place: str = Field(validation_alias="in")
    """The place where they see it."""
    text: str
    """The whole text; `*` stands for anything."""
    media: tuple[str, ...] | None = None
    """The attached files, by the names they were sent with; by default not compared."""
    times: int = Field(default=1, gt=0)
    """How many such messages."""


class ExpectedTranscript(Model):
    """The lines that a session must hold, in order."""

    place: str | None = Field(default=None, validation_alias="in")
    """The place whose session is meant: the session its route leads to, ignoring bindings."""
    session: str | None = None
    """Or the session key."""
    lines: tuple[str, ...]
    """`user: ...`, `assistant: ...` or `hand: ...`; `*` stands for anything."""


class ExpectedEvent(Model):
    """An event that the run must contain."""

    kind: str
    """Its kind, e.g. `intent.settled`."""
    reason: str | None = None
    """Its reason code."""
    state: str | None = None
    """The state of its intent."""
    status: str | None = None
    """The status that a client receives for its send: `delivered`, `queued`, `dry-run`, `not-delivered`, `failed` or
    `refused`."""
    text: str | None = None
    """Its text, with `*` for anything."""
    detail: str | None = None
    """Its detail, with `*` for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place it is about."""
    times: int | None = Field(default=None, ge=0)
    """Exactly this many; by default at least one."""


class Expect(Model):
    """The expectations of a run, besides the invariants, which must always hold."""

    accepted: tuple[ExpectedMessage, ...] | None = None
    """Exactly the messages that platforms accepted: no more, no fewer, nowhere else. By default not compared."""
    transcripts: tuple[ExpectedTranscript, ...] = ()
    """The lines of sessions."""
    events: tuple[ExpectedEvent, ...] = ()
    """Events that the run must contain."""
    hands: tuple[ExpectedDelegation, ...] = ()
    """How delegations ended."""
    given: tuple[ExpectedGiven, ...] = ()
    """What agents were given in turns that deliver a result, work on a task, or have a prompt."""
    exercised: tuple[str, ...] = ()
    """Invariants that this run must exercise."""


class AttachSpec(Model):
    """The settings of a scenario for `trunkline attach`."""

    needs: tuple[str, ...] = ()
    """What the gateway must be able to do, as words of its profile: `threads`, `streaming`, ..."""
    patience: Duration | None = Field(default=None, gt=0)
    """A question that nothing followed within this time counts as lost; by default as the profile says."""
    settle: Duration | None = Field(default=None, gt=0)
    """A run has ended when everything was answered, and then nothing happened for so long; by default as the profile
    says."""
    watched: Duration | None = None
    """If the gateway ends by itself, it is started again after this time; by default it is not."""


class Scenario(Model):
    """A whole scenario file."""

    scenario: Literal[1]
    """Version of the file format."""
    title: str = Field(min_length=1)
    """One line, for lists."""
    source: str = ""
    """The public report it comes from."""
    tags: tuple[str, ...] = ()
    """Words to find it by."""
    bugs: tuple[str, ...] = ()
    """Bug switches that reproduce the report: with any of them on, the run must violate an invariant."""
    breaks: tuple[str, ...] = ()
    """The invariants that must catch the bug switches."""
    with_bugs: tuple[str, ...] = ()
    """Bug switches that are on in every run of this file, whatever the command line says."""
    story: str = ""
    """What happens and why, in prose."""
    seed: int = 1
    """Decides every order and random draw that the file leaves open."""
    gateway: GatewayConfig = GatewayConfig()
    world: WorldSpec
    stored: PreloadedStore = PreloadedStore()
    cast: Cast
    script: tuple[ScriptStep, ...] = Field(min_length=1)
    """What happens, in chronological order."""
    expect: Expect = Expect()
    attach: AttachSpec = AttachSpec()


__all__ = [
    "PLATFORMS",
    "SCENARIO_VERSION",
    "AccountSpec",
    "AgentAction",
    "AgentRule",
    "AttachSpec",
    "BindStep",
    "Cast",
    "ClockStep",
    "CrashStep",
    "DelegateAction",
    "Expect",
    "ExpectedDelegation",
    "ExpectedEvent",
    "ExpectedGiven",
    "ExpectedMessage",
    "ExpectedTranscript",
    "Fault",
    "FreezeStep",
    "HandRule",
    "HandsStep",
    "Hook",
    "Match",
    "PersonSpec",
    "PlatformSpec",
    "PollStep",
    "PreloadedSession",
    "PreloadedStore",
    "QueueStep",
    "ReloadStep",
    "ReplayStep",
    "ResetStep",
    "RestartStep",
    "RoomSpec",
    "RotateStep",
    "Scenario",
    "ScriptStep",
    "SecondProcessStep",
    "SendAction",
    "SendStep",
    "SystemEventStep",
    "ThreadSpec",
    "UnbindStep",
    "WakeHeartbeatStep",
    "WakeStep",
    "WebhookStep",
    "When",
    "WorkerSpec",
    "WorldSpec",
]
