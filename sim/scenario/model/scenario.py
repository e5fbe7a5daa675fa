"""The scenario file, as models: metadata, gateway, world, cast, script, expectations. Version 1.

People read and write these files, so the fields are words, references are names (``ops/deploy``, ``@ana``), and there
is no code: matching is by text with ``*``, texts are templates with ``{text}``-like slots. The field docstrings are the
reference (docs/scenarios.md and `trunkline schema` are made from them). References are checked by
`sim.scenario.cross_checks`.
World and script have modules of their own.

A *place* is written ``platform/room``, ``platform/room/thread`` or ``platform/@person`` (a direct conversation);
``platform:account/...`` names one of several bot accounts; the platform may be left out where the rest is unambiguous.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.config import Duration, GatewayConfig, Model
from trunkline.sim.scenario.model.hooks import Hook
from trunkline.sim.scenario.model.steps import (
    BindStep,
    CrashStep,
    Fault,
    FreezeStep,
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
    UnbindStep,
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


class Match(Model):
    """What a rule answers to; all that is given must hold. Texts may use `*` for anything."""

    text: str | None = None
    """What was said to the agent, or the task given to a hand."""
    person: str | None = None
    """Who said it."""
    place: str | None = Field(default=None, validation_alias="in")
    """Where it was said."""
    callback: str | None = None
    """The turn is the result of this hand (`*` for any)."""
    outcome: Literal["ok", "error", "timeout", "lost"] | None = None
    """How that hand ended."""
    wake: bool | None = None
    """The turn was started by a schedule or an operator."""


class SendAction(Model):
    """The message tool. With neither `to` nor `target`, it sends to where the turn came from."""

    text: str
    """What it says: a template."""
    to: str | None = None
    """A place."""
    target: str | None = None
    """A target as agents write it, not checked: `channel:C1`, `@ana:example.org`, ..."""
    channel: str | None = None
    """The platform of a `target`."""
    account: str | None = None
    """The account that sends."""
    thread: str | None = None
    """The platform's id of a thread."""
    session: str | None = None
    """The session that remembers it: a place, or a session key. Not given: that of the target."""


class DelegateAction(Model):
    """Give a task to an async hand and go on."""

    hand: str
    """Name of the hand in `cast.hands`."""
    task: str = "{text}"
    """What the hand is asked to do: a template."""
    thread: bool | None = None
    """`true`: in a thread and a session of its own, or not at all; `false`: without them. Not given: as the channel is
    configured (`spawn_subagent_sessions`)."""


class Action(Model):
    """One thing that an agent does: exactly one field."""

    think: Duration | None = None
    """Take this long."""
    reply: str | None = None
    """The final text of the turn; at most one, at the end."""
    send: SendAction | None = None
    delegate: DelegateAction | None = None
    fail: str | None = None
    """Raise an error with this text."""
    silent: Literal[True] | None = None
    """End the turn without an answer."""


class AgentRule(Model):
    """When an agent gets this, it does that. The first rule that matches is used."""

    when: Match = Match()
    """Not given: anything."""
    do: tuple[Action, ...] = Field(min_length=1)
    """What it does, in order."""


class HandRule(Model):
    """How a hand works on a task: takes a while, then gives a result or fails."""

    when: Match = Match()
    """The tasks that it is for; not given: any."""
    takes: Duration = 1.0
    """How long it works."""
    result: str | None = None
    """The result; `{task}` stands for the task."""
    fails: str | None = None
    """The error instead."""


class Cast(Model):
    """How agents, hands and hooks behave."""

    agents: dict[str, tuple[AgentRule, ...]] = Field(default_factory=dict)
    """The rules of each agent of the gateway. The first that matches is used."""
    hands: dict[
        str,
        Annotated[
            tuple[HandRule, ...],
            BeforeValidator(as_rules, json_schema_input_type=HandRule | list[HandRule]),
        ],
    ] = Field(default_factory=dict)
    """The rules of each hand, or its only rule. The first that matches the task is used."""
    hooks: dict[str, Hook] = Field(default_factory=dict)
    """What users' own code does to messages, by the name of the hook."""


# ---------------------------------------------------------------- expectations


class ExpectedMessage(Model):
    """A message that people must see."""

    place: str = Field(validation_alias="in")
    """Where they see it."""
    text: str
    """The whole text; `*` stands for anything."""
    media: tuple[str, ...] | None = None
    """The files that come with it, as they were named; not given: not compared."""
    times: int = Field(default=1, gt=0)
    """How many of them."""


class ExpectedTranscript(Model):
    """What a session must hold, in order."""

    place: str | None = Field(default=None, validation_alias="in")
    """The place whose session it is, by its own route: a binding does not count."""
    session: str | None = None
    """Or the key of the session."""
    lines: tuple[str, ...]
    """`user: ...`, `assistant: ...` or `hand: ...`; `*` stands for anything."""


class ExpectedEvent(Model):
    """An event that must be in the run."""

    kind: str
    """Its kind, e.g. `intent.settled`."""
    reason: str | None = None
    """Its reason code."""
    state: str | None = None
    """The state of the intent that it tells of."""
    status: str | None = None
    """What a client is told of its send: `delivered`, `queued`, `dry-run`, `not-delivered`, `failed` or `refused`."""
    text: str | None = None
    """Its text, with `*` for anything."""
    detail: str | None = None
    """Its detail, with `*` for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place that it is about."""
    times: int | None = Field(default=None, ge=0)
    """Exactly this often; not given: at least once."""


class Expect(Model):
    """What must be true of the run. Every invariant must hold in any case."""

    accepted: tuple[ExpectedMessage, ...] | None = None
    """Exactly these messages were accepted anywhere: no more, no fewer, nowhere else. Not given: not compared."""
    transcripts: tuple[ExpectedTranscript, ...] = ()
    """What sessions hold."""
    events: tuple[ExpectedEvent, ...] = ()
    """Events that are in the run."""
    exercised: tuple[str, ...] = ()
    """Invariants that this run must have put to the test."""


class Scenario(Model):
    """A whole scenario file."""

    scenario: Literal[1]
    """Version of the file format."""
    title: str = Field(min_length=1)
    """One line for lists."""
    source: str = ""
    """The public report that it comes from."""
    tags: tuple[str, ...] = ()
    """Words to find it by."""
    bugs: tuple[str, ...] = ()
    """Bug switches that reproduce the report: with any of them on, the run must be violated."""
    breaks: tuple[str, ...] = ()
    """The invariants that the bug switches must be caught by."""
    with_bugs: tuple[str, ...] = ()
    """Bug switches that are on in every run of this file, whatever the command line says."""
    story: str = ""
    """What happens and why, in prose."""
    seed: int = 1
    """Decides every order and draw that the file leaves open."""
    gateway: GatewayConfig = GatewayConfig()
    world: WorldSpec
    stored: PreloadedStore = PreloadedStore()
    cast: Cast
    script: tuple[ScriptStep, ...] = Field(min_length=1)
    """What happens, in order of time."""
    expect: Expect = Expect()


__all__ = [
    "PLATFORMS",
    "SCENARIO_VERSION",
    "AccountSpec",
    "Action",
    "AgentRule",
    "BindStep",
    "Cast",
    "CrashStep",
    "DelegateAction",
    "Expect",
    "ExpectedEvent",
    "ExpectedMessage",
    "ExpectedTranscript",
    "Fault",
    "FreezeStep",
    "HandRule",
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
    "ThreadSpec",
    "UnbindStep",
    "WakeStep",
    "WebhookStep",
    "When",
    "WorldSpec",
]
