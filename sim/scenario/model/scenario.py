"""The models of a scenario file: metadata, gateway, world, cast, script, expectations.

People read and write these files, so fields are words, references are names (``ops/deploy``, ``@ana``), and there is no
code: texts are matched with ``*``, and templates have slots like ``{text}``. docs/scenarios.md and `trunkline schema`
are generated from the docstrings of models and fields. `sim.scenario.cross_checks` checks references.

A *place* is written ``platform/room``, ``platform/room/thread`` or ``platform/@person`` (a direct conversation).
``platform:account/...`` names one of several bot accounts. The platform may be omitted if the rest is unambiguous.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.config import Duration, GatewayConfig, Model
from trunkline.core.config.base import Flag
from trunkline.sim.scenario.model.agent_actions import AgentAction
from trunkline.sim.scenario.model.hands import ExpectedDelegation, ExpectedGiven, HandRule, WorkerSpec
from trunkline.sim.scenario.model.hooks import Hook
from trunkline.sim.scenario.model.rules import Match
from trunkline.sim.scenario.model.steps import ScriptStep
from trunkline.sim.scenario.model.world import PreloadedStore, WorldSpec
from trunkline.sim.scenario.shorthand import as_rules

#: the version in which whatever a scenario arms must strike, and whatever it expects must be able to fail
SCENARIO_VERSION = 2


class AgentRule(Model):
    """A rule of an agent: what the agent does in a turn that matches. The first rule that matches applies."""

    when: Match = Match()
    """The turns it applies to; by default any."""
    do: tuple[AgentAction, ...] = Field(min_length=1)
    """The actions, in order."""
    may_miss: Literal[True] | None = None
    """Whether a run may have no turn for it."""


class Cast(Model):
    """How agents, hands, workers and hooks behave."""

    agents: dict[str, tuple[AgentRule, ...]] = Field(default_factory=dict)
    """The rules of each agent of the gateway. The first that matches applies."""
    hands: dict[
        str,
        Annotated[tuple[HandRule, ...], BeforeValidator(as_rules, json_schema_input_type=HandRule | list[HandRule])],
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


class ExpectedMessage(Model):
    """A message that people must see."""

    place: str = Field(validation_alias="in")
    """The place where they see it."""
    text: str
    """The whole text; `*` stands for anything."""
    media: tuple[str, ...] | None = None
    """The attached files, by the names they were sent with; by default not compared."""
    reply_to: str | None = None
    """The message that it quotes: the id of a `say`, or the text of a message of the gateway with `*` for anything; an
    empty text: none. By default not compared."""
    identity: str | None = None
    """The name that it is shown under, where that is not the bot's, with `*` for anything; an empty text: the bot's. By
    default not compared."""
    buttons: tuple[str, ...] | None = None
    """The texts of its buttons, row by row; by default not compared."""
    session: str | None = None
    """The session that holds it, as the gateway says: a place for its session, or a session key. By default not
    compared."""
    by: Duration | None = None
    """When they see it at the latest, in the run's time; by default not compared."""
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
    in_order: Flag = False
    """Whether the messages of each place must have come in the order of `accepted`."""
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

    scenario: Literal[1, 2]
    """Version of the file format. 2 is strict: whatever a scenario arms must strike, unless `may_miss` says otherwise,
    and whatever it expects must be able to fail. `trunkline upgrade FILE` makes a file of version 1 strict."""
    title: str = Field(min_length=1)
    """One line, for lists."""
    source: str = ""
    """The public report it comes from."""
    tags: tuple[str, ...] = ()
    """Words to find it by."""
    bugs: tuple[str, ...] = ()
    """Bug switches that reproduce the report: with any of them on, the run must violate an invariant."""
    breaks: tuple[str, ...] = ()
    """The invariants that the bug switches break: each of them some of these and no other, together all of them."""
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
