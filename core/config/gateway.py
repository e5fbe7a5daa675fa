"""The whole configuration of a gateway."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from pydantic import Field, PrivateAttr, field_validator, model_validator

from trunkline.core.calendar.cron import check_expression, check_time
from trunkline.core.calendar.hours import minutes
from trunkline.core.calendar.zones import LOCAL, USER, zone
from trunkline.core.channels import ChannelRulebook, known_channels, rules_for
from trunkline.core.channels.rules import WEB_CHAT
from trunkline.core.config.base import Flag, Model
from trunkline.core.config.channels import ChannelConfig
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.config.heartbeat import LAST, NONE, OWNER, ActiveHoursConfig, HeartbeatConfig
from trunkline.core.config.routing import RouteRuleConfig, RuleSessionConfig, SessionConfig
from trunkline.core.config.schedule import CronConfig
from trunkline.core.config.tools import MessageToolConfig, ToolsConfig, merged
from trunkline.core.config.work import ControlConfig, HandsConfig, TurnsConfig
from trunkline.core.errors import KeyFormatError, UnknownName
from trunkline.core.keys import canonical_key
from trunkline.core.profile_rules import Profile, ProfileRules, profile_rules

#: the entry of `channels` that holds for all of them
DEFAULTS = "defaults"


def deliverable_channels(config: "GatewayConfig") -> tuple[str, ...]:
    """The channels that a target may name: those configured, in their order, then those with rules of their own."""
    named = (name.strip().lower() for name in config.channels if name != DEFAULTS)
    routed = (binding.match.channel.strip().lower() for binding in config.bindings)
    return tuple(dict.fromkeys((*named, *routed, *known_channels())))


def _sections(config: "GatewayConfig") -> Iterator[tuple[str, HeartbeatConfig, str]]:
    if config.heartbeat is not None:
        yield "heartbeat", config.heartbeat, config.default_agent
    for index, agent in enumerate(config.agents):
        if agent.heartbeat is not None:
            yield f"agents[{index}].heartbeat", agent.heartbeat, agent.id


def heartbeat_agents(config: "GatewayConfig") -> tuple[str, ...]:
    """The agents that have a heartbeat: those with a section of their own, else the default agent."""
    own = tuple(agent.id for agent in config.agents if agent.heartbeat is not None)
    return own or ((config.default_agent,) if config.heartbeat is not None else ())


class ConfigChecks:
    """The checks of a configuration under a profile. A check raises `ValueError` for a value that cannot be meant."""

    def accepts_agent(self, name: str, config: "GatewayConfig") -> bool:
        """Whether a name of an agent can be meant: there is an agent that has it."""
        return any(agent.id == name for agent in config.agents)

    def accepts_gate(self, name: str, gates: Sequence[str]) -> bool:
        """Whether a channel can be meant to have a gate."""
        return name in gates

    def check_heartbeat(self, path: str, heartbeat: HeartbeatConfig, agent: str, config: "GatewayConfig") -> None:
        """Check a `heartbeat` section of an agent."""
        if heartbeat.file is not None and heartbeat.text is not None:
            raise ValueError(f"{path}: `file` and `text` are both given; keep one of them")
        if 0 < heartbeat.every < 1:
            raise ValueError(f"{path}.every: {heartbeat.every:g} s is too short; the least is 1s, and 0 means never")
        _check_zone(f"{path}.user_timezone", heartbeat.user_timezone, (LOCAL,))
        if heartbeat.active_hours is not None:
            _check_hours(f"{path}.active_hours", heartbeat.active_hours)
        _check_target(path, heartbeat.target, heartbeat.to, config)
        if heartbeat.session is not None:
            _check_session(f"{path}.session", heartbeat.session, agent)

    def check_agents(self, config: "GatewayConfig") -> None:
        ids = [agent.id for agent in config.agents]
        if not ids:
            raise ValueError(f"agents: there are none; the profile {config.profile.value} needs at least one")
        for index, binding in enumerate(config.bindings):
            if binding.agent not in ids:
                raise ValueError(f"bindings[{index}].agent: no agent {binding.agent!r}; there are: {', '.join(ids)}")
            if binding.session != RuleSessionConfig() and (m := binding.match) and (m.guild or m.team or m.roles):
                raise ValueError(
                    f"bindings[{index}].session: own scopes need a match by peer, account or channel only; an outbound"
                    " message has no guild, team or roles, so it would be mirrored into another session"
                )


def check_heartbeats(config: "GatewayConfig") -> None:
    """Raise `ValueError` for what cannot be meant."""
    for path, heartbeat, agent in _sections(config):
        config.rules[ConfigChecks].check_heartbeat(path, heartbeat, agent, config)
    given = config.channels.get(DEFAULTS)
    if given is not None and (others := given.model_fields_set - {"heartbeat"}):
        raise ValueError(
            f"channels.{DEFAULTS}: only `heartbeat` holds for all channels, not {', '.join(sorted(others))}"
        )
    ids = [entry.id for entry in config.cron]
    for index, entry in enumerate(config.cron):
        if entry.id in ids[:index]:
            raise ValueError(f"cron[{index}].id: another entry is called {entry.id!r}; each needs its own id")
        _check_entry(f"cron[{index}]", entry, config)


def _check_session(path: str, text: str, agent: str) -> None:
    try:
        owner = canonical_key(text).agent
    except KeyFormatError as error:
        raise ValueError(f"{path}: {error.facts}") from None
    if owner != agent:
        raise ValueError(
            f"{path}: {text!r} is a session of agent {owner!r}; the heartbeat of {agent!r} needs one of its own"
        )


def _check_hours(path: str, hours: ActiveHoursConfig) -> None:
    with _at(f"{path}.start"):
        start = minutes(hours.start)
    with _at(f"{path}.end"):
        end = minutes(hours.end, end=True)
    if start == end:
        raise ValueError(
            f"{path}: they end when they start, at {hours.start}; leave `active_hours` out to run all day,"
            " or set `every` to 0 to run never"
        )
    _check_zone(f"{path}.timezone", hours.timezone, (USER, LOCAL))


def _check_zone(path: str, name: str, words: tuple[str, ...]) -> None:
    if name not in words:
        with _at(path, f", or {' or '.join(words)}"):
            zone(name)


@contextmanager
def _at(path: str, more: str = "") -> Generator[None]:
    """Errors begin with the path of the value."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}{more}") from None


def _check_target(path: str, target: str | None, to: str | None, config: "GatewayConfig") -> None:
    if target is None or target in (LAST, NONE, OWNER):
        if to is not None and target in (NONE, OWNER):
            raise ValueError(
                f"{path}.to: the target {target!r} has no recipient of its own; name a channel, or remove `to`"
            )
        return
    known = deliverable_channels(config)
    if config.rules[ChannelRulebook].delivers(WEB_CHAT):
        known = tuple(dict.fromkeys((*known, WEB_CHAT)))
    if target.strip().lower() not in known:
        raise ValueError(
            f"{path}.target: unknown channel {target!r}; write `owner`, `last`, `none` or a channel. One that an"
            f" adapter of yours serves needs an entry in `channels`. Known: {', '.join(known)}"
        )


def _check_entry(path: str, entry: CronConfig, config: "GatewayConfig") -> None:
    given = [name for name in ("at", "every", "cron") if getattr(entry, name) is not None]
    if len(given) != 1:
        raise ValueError(f"{path}: it needs one of `at`, `every` and `cron`, and has {' and '.join(given) or 'none'}")
    if not entry.text.strip():
        raise ValueError(f"{path}.text: it is blank; say what the agent is asked")
    with _at(f"{path}.cron"):
        if entry.cron is not None:
            check_expression(entry.cron)
    with _at(f"{path}.at"):
        if entry.at is not None:
            check_time(entry.at)
    _check_zone(f"{path}.timezone", entry.timezone, (USER, LOCAL))
    if entry.agent is not None and entry.agent not in (ids := [agent.id for agent in config.agents]):
        raise ValueError(f"{path}.agent: no agent {entry.agent!r}; there are: {', '.join(ids)}")
    if entry.wake is None:
        _check_target(path, entry.target, entry.to, config)
        return
    if (agent := entry.agent or config.default_agent) not in heartbeat_agents(config):
        raise ValueError(
            f"{path}.wake: agent {agent!r} has no heartbeat; configure one, or remove `wake` to start a turn"
        )
    if entry.target is not None or entry.to is not None or entry.account_id is not None:
        raise ValueError(f"{path}.target: the heartbeat delivers to its own target; remove `target`, or remove `wake`")


class AgentConfig(Model):
    """An agent that the gateway can route messages to."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    """Lower case letters, digits, `-` and `_`; not `agent`, the first word of upstream session keys."""
    default: Flag = False
    """Answers messages that no route rule matches. If no agent is the default, the first one is."""
    prompt: str = ""
    """Base system prompt of its turns. Those of the channel and of a callback follow it."""
    tools: ToolsConfig = ToolsConfig()
    """Settings of its tools; each that is given replaces the one in `tools`."""
    heartbeat: HeartbeatConfig | None = None
    """Its heartbeat; each setting that is given replaces the one in `heartbeat`. If any agent has this section, only
    agents with it have heartbeats."""

    @field_validator("id")
    @classmethod
    def _not_the_marker(cls, name: str) -> str:
        if name == "agent":
            raise ValueError("an agent cannot be called 'agent': upstream session keys begin with that word")
        return name


class GatewayConfig(Model):
    """The whole configuration of a gateway."""

    profile: Profile = Profile.TRUNKLINE
    """Whose rules: `trunkline`, or `openclaw` and `openclaw-2026-08`, which reproduce upstream decisions."""
    agents: tuple[AgentConfig, ...] = (AgentConfig(id="main"),)
    """At least one. The `openclaw` profiles also accept none: route rules may then name any agent."""
    bindings: tuple[RouteRuleConfig, ...] = ()
    """Rules that say which agent answers where. The most specific one wins."""
    session: SessionConfig = SessionConfig()
    channels: dict[str, ChannelConfig] = Field(default_factory=dict)
    """Settings of channels, by the name of the channel."""
    delivery: DeliveryConfig = DeliveryConfig()
    hands: HandsConfig = HandsConfig()
    turns: TurnsConfig = TurnsConfig()
    control: ControlConfig = ControlConfig()
    tools: ToolsConfig = ToolsConfig()
    heartbeat: HeartbeatConfig | None = None
    """The heartbeat of the default agent, and the defaults of agents that have a section of their own. Without any such
    section there are no heartbeats."""
    cron: tuple[CronConfig, ...] = ()
    """The schedule."""
    _revision: int = PrivateAttr(default=1)

    @property
    def rules(self) -> ProfileRules:
        return profile_rules(self.profile)

    @property
    def revision(self) -> int:
        """Number of this configuration in its process: 1 at start, incremented by each reload."""
        return self._revision

    def numbered(self, revision: int) -> "GatewayConfig":
        copy = self.model_copy()
        copy._revision = revision
        return copy

    @model_validator(mode="after")
    def _names_fit(self) -> "GatewayConfig":
        ids = [agent.id for agent in self.agents]
        if len(set(ids)) != len(ids):
            raise ValueError(f"agents: two agents share an id: {', '.join(sorted(ids))}")
        check_heartbeats(self)
        for name, hand in self.hands.each.items():
            for caller in hand.callers or ():
                if not self.accepts_agent(caller):
                    raise ValueError(f"hands.each.{name}.callers: no agent {caller!r}; there are: {', '.join(ids)}")
        self.rules[ConfigChecks].check_agents(self)
        return self

    @model_validator(mode="after")
    def _second_channels_exist(self) -> "GatewayConfig":
        for name, channel in self.channels.items():
            second = channel.after_call
            if second is None:
                continue
            if name != "voice":
                raise ValueError(f"channels.{name}.after_call: only voice has calls; write it under channels.voice")
            if not second.strip() or second.strip().lower() == name:
                raise ValueError(
                    f"channels.{name}.after_call: expected another channel, such as telegram, found {second!r}"
                )
        return self

    @model_validator(mode="after")
    def _gates_exist(self) -> "GatewayConfig":
        agents = [agent.id for agent in self.agents]
        for name, channel in self.channels.items():
            for agent in channel.prompts:
                if not self.accepts_agent(agent):
                    raise ValueError(f"channels.{name}.prompts: no agent {agent!r}; there are: {', '.join(agents)}")
            gates = rules_for(name).gates
            for gate in channel.actions:
                if not self.rules[ConfigChecks].accepts_gate(gate, gates):
                    there = ", ".join(gates) or "none, since its actions are not known"
                    raise ValueError(f"channels.{name}.actions: no gate {gate!r}; there are: {there}")
        return self

    @property
    def default_agent(self) -> str:
        """The agent marked as default, else the first, else `main`."""
        flagged = (agent.id for agent in self.agents if agent.default)
        return next(flagged, self.agents[0].id if self.agents else "main")

    @property
    def quoting(self) -> tuple[str, ...]:
        """The channels whose answers quote the answered message."""
        return tuple(sorted(name for name, channel in self.channels.items() if channel.reply_reference))

    def known_agent(self, named: str | None) -> str:
        """The named agent, else the default agent. Raises `UnknownName`."""
        known = [agent.id for agent in self.agents]
        if named and named not in known:
            raise UnknownName(f"no agent {named!r}; there are: {', '.join(known)}")
        return named or self.default_agent

    def accepts_agent(self, name: str) -> bool:
        return self.rules[ConfigChecks].accepts_agent(name, self)

    def message_tool(self, agent: str) -> MessageToolConfig:
        """Settings of an agent's message tool: its own, else those of all agents."""
        own = next((one.tools.message for one in self.agents if one.id == agent), None)
        return merged(self.tools.message, own) if own is not None and own.model_fields_set else self.tools.message

    def channel(self, name: str) -> ChannelConfig:
        return self.channels.get(name, _CHANNEL_DEFAULTS)


_CHANNEL_DEFAULTS = ChannelConfig()
