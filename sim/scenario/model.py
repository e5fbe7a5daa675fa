"""The scenario file, as models: metadata, gateway, world, cast, script, expectations. Version 1.

People read and write these files, so the fields are words, references are names (``ops/deploy``, ``@ana``), and there
is no code: matching is by text with ``*``, texts are templates with ``{text}``-like slots. The field docstrings are the
reference (docs/scenarios.md and `trunkline schema` are made from them). References are checked by `sim.scenario.check`.

A *place* is written ``platform/room``, ``platform/room/thread`` or ``platform/@person`` (a direct conversation);
``platform:account/...`` names one of several bot accounts; the platform may be left out where the rest is unambiguous.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from core.config import Duration, GatewayConfig, Model
from core.values import Idempotency
from sim.scenario.shorthand import as_names, as_rules, as_settings

SCENARIO_VERSION = 1


# ---------------------------------------------------------------- world


class Person(Model):
    """Somebody who talks to the gateway."""

    name: str = ""
    """Display name; by default the key."""
    roles: tuple[str, ...] = ()
    """Roles that they hold in guilds."""


class ThreadSpec(Model):
    """A thread (Discord) or topic (Telegram) that exists from the start."""

    id: str | None = None
    """The platform's id; made from the name when not given."""


class RoomSpec(Model):
    """A guild channel (Discord) or group (Telegram)."""

    id: str | None = None
    """The platform's id; made from the name when not given."""
    threads: Annotated[
        dict[str, ThreadSpec],
        BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, ThreadSpec | None]),
    ] = Field(default_factory=dict)
    """Threads or topics: a list of names, or name -> settings."""
    accounts: tuple[str, ...] | None = None
    """Bot accounts that are members; by default all."""


class AccountSpec(Model):
    """A bot account of the gateway."""

    bot: str = "trunkline"
    """Its display name."""


class PlatformSpec(Model):
    """One fake platform."""

    guild: str | None = None
    """Discord: the guild's name."""
    accounts: dict[str, AccountSpec] = Field(default_factory=lambda: {"default": AccountSpec()}, min_length=1)
    """The gateway's bots on this platform."""
    rooms: Annotated[
        dict[str, RoomSpec],
        BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, RoomSpec | None]),
    ] = Field(default_factory=dict)
    """Rooms: a list of names, or name -> settings."""
    idempotency: Idempotency | None = None
    """What this platform offers for lost responses; by default what the real one does."""
    stable_ids: bool = True
    """`false`: a replayed message comes under a new id (as on Feishu)."""
    latency: Duration = 0.05
    """Usual time of a request, each way."""


class World(Model):
    """Who and what there is around the gateway."""

    people: Annotated[
        dict[str, Person],
        BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, Person | None]),
    ] = Field(default_factory=dict)
    """A list of names, or name -> settings."""
    crowd: int = Field(default=0, ge=0, le=10_000)
    """This many more people, `p1`, `p2`, ..., with made-up names."""
    discord: PlatformSpec | None = None
    """A fake Discord: rooms are guild channels."""
    telegram: PlatformSpec | None = None
    """A fake Telegram: rooms are groups, threads are topics."""

    @property
    def platforms(self) -> dict[str, PlatformSpec]:
        """The platforms that this world has, by name."""
        found = {"discord": self.discord, "telegram": self.telegram}
        return {name: spec for name, spec in found.items() if spec is not None}


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
    """The message tool."""

    text: str
    """What it says: a template."""
    to: str | None = None
    """A place; not given: where the turn came from."""


class DelegateAction(Model):
    """Give a task to an async hand and go on."""

    hand: str
    """Name of the hand in `cast.hands`."""
    task: str = "{text}"
    """What the hand is asked to do: a template."""


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
    """How agents and hands behave."""

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


# ---------------------------------------------------------------- script


class When(Model):
    """Waits for an event of the run that fits all that is given."""

    event: str
    """Kind of the event, e.g. `wire.accepted`."""
    text: str | None = None
    """Its text, with `*` for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place that it is about."""
    nth: int = Field(default=1, gt=0)
    """Which one of those that fit."""


class Crash(Model):
    """The gateway process dies, as if killed."""

    when: When | None = None
    """Dies at this event; not given: at the step's time."""
    restart_after: Duration = 1.0
    """Down time until the next process starts on the same store."""


class Restart(Model):
    """The gateway is stopped in order and started again."""

    down: Duration = 1.0
    """Time until the next process starts."""


class Replay(Model):
    """The platform's connection resets and it delivers messages again that the gateway had before."""

    messages: tuple[str, ...] = ()
    """Ids of `say` steps; none: every message so far."""


class Wake(Model):
    """A schedule or an operator starts a turn that nobody asked for."""

    agent: str
    """Whose turn it is."""
    text: str
    """What the agent is told."""


class Fault(Model):
    """Something that will go wrong, named and counted."""

    on: Literal["send", "lookup", "store"]
    """What goes wrong: sending, asking the platform about a send, or writing to the store."""
    do: Literal["lose-response", "drop", "refuse", "rate-limit", "error", "slow"]
    """`lose-response`: accepted, but no answer. `drop`: never arrives. `refuse`: refused for good.
    `rate-limit`: wait `for`. `error`: not taken, may pass. `slow`: takes `for` longer. For `store` only `error`."""
    place: str | None = Field(default=None, validation_alias="in")
    """Only there."""
    text: str | None = None
    """Only sends with this text (`*` for anything)."""
    attempt: int | None = Field(default=None, gt=0)
    """Only this attempt."""
    times: int = Field(default=1, gt=0)
    """How often it strikes."""
    for_: Duration = Field(default=5.0, validation_alias="for")
    """The time that `rate-limit` and `slow` speak of."""


class Step(Model):
    """One step of the script: a time, and exactly one thing that happens."""

    at: Duration | None = None
    """Time since the start. Steps are in order of time."""
    after: Duration | None = None
    """Time since the step before. Neither given: at once after it."""
    as_: str | None = Field(default=None, validation_alias="as")
    """Who says it (with `say`)."""
    place: str | None = Field(default=None, validation_alias="in")
    """Where (with `say`, `archive`, `delete`)."""
    id: str | None = None
    """A name for a `say`, to be used by `replay`; by default m1, m2, ... in order."""
    say: str | None = None
    """A person says this."""
    wake: Wake | None = None
    crash: Annotated[Crash | None, BeforeValidator(as_settings)] = None
    restart: Annotated[Restart | None, BeforeValidator(as_settings)] = None
    replay: Annotated[Replay | None, BeforeValidator(as_settings)] = None
    archive: Literal[True] | None = None
    """The thread named by `in` is archived."""
    delete: Literal[True] | None = None
    """The thread named by `in` is deleted."""
    fault: Fault | None = None
    note: str | None = None
    """Nothing happens; for readers."""


# ---------------------------------------------------------------- expectations


class Accepted(Model):
    """A message that people must see."""

    place: str = Field(validation_alias="in")
    """Where they see it."""
    text: str
    """The whole text; `*` stands for anything."""
    times: int = Field(default=1, gt=0)
    """How many of them."""


class ExpectedTranscript(Model):
    """What the session of a place must hold, in order."""

    place: str = Field(validation_alias="in")
    """The place whose session it is."""
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
    text: str | None = None
    """Its text, with `*` for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place that it is about."""
    times: int | None = Field(default=None, ge=0)
    """Exactly this often; not given: at least once."""


class Expect(Model):
    """What must be true of the run. Every invariant must hold in any case."""

    accepted: tuple[Accepted, ...] | None = None
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
    world: World
    cast: Cast
    script: tuple[Step, ...] = Field(min_length=1)
    """What happens, in order of time."""
    expect: Expect = Expect()
