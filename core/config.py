"""The gateway's configuration: one validated model, read from a file or from a scenario's ``gateway`` section.

Field names are snake_case; the upstream camelCase spelling of each is accepted too. Times are seconds, or text such
as ``90s``, ``1m30s``, ``250ms``. Every default is the safe choice: peers are isolated, ambiguity is parked.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from trunkline.core.profiles import Profile
from trunkline.core.values import ChatKind, ChunkMode

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
#: seconds; more than this is not meant
_FOREVER = 1e12
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")


def parse_duration(value: object) -> float:
    """Seconds from a number or from text such as ``1m30s``. Raises `ValueError` with the accepted forms."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("expected a time such as 5s, 250ms or 1m30s")
    if isinstance(value, str):
        text = value.replace(" ", "")
        if not _WHOLE.fullmatch(text):
            raise ValueError(f"{value!r} is not a time: write 5s, 250ms or 1m30s")
        value = round(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)), 6)
    if value < 0:
        raise ValueError("a time cannot be negative")
    if not value < _FOREVER:
        raise ValueError("expected a time that comes")
    return float(value)


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(float),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "examples": ["5s", "1m30s"]}]}),
]


class Model(BaseModel):
    """Base of all configuration models: frozen, and unknown fields are errors.

    The text under a field is its reference (`sim.scenario.model_fields.texts_of`). Models do not read it: that
    parses the source of each at every start. Validators are built when first used: a model inside another needs none.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(name, to_camel(name))),
    )


class DmScope(StrEnum):
    """Which direct conversations share a session."""

    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


class GroupScope(StrEnum):
    """Whether groups and channels have sessions of their own."""

    PER_GROUP = "per-group"
    MAIN = "main"


def _kind(value: object) -> object:
    """The kind of a conversation; ``dm`` is the old word for ``direct``."""
    return "direct" if value == "dm" else value


def _id_text(value: object) -> object:
    """An id as text; platforms' ids are often numbers, and so written in files."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class AgentConfig(Model):
    """An agent that the gateway can hand messages to."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    """Lower case letters, digits, `-` and `_`; not `agent`, with which keys of the upstream gateway begin."""
    default: bool = False
    """Answers what no binding claims. Without any, the first agent is the default."""

    @field_validator("id")
    @classmethod
    def _not_the_marker(cls, name: str) -> str:
        if name == "agent":
            raise ValueError("an agent cannot be called 'agent': upstream session keys begin with that word")
        return name


class PeerMatch(Model):
    """A conversation that a route binding names."""

    kind: Annotated[ChatKind, BeforeValidator(_kind)]
    """`direct` (or the old word `dm`), `group` or `channel`. Group and channel are one kind here."""
    id: Annotated[str, BeforeValidator(_id_text)] = Field(min_length=1)
    """The platform's id, or `*` for every conversation of this kind."""


class RouteMatch(Model):
    """What an inbound message must have: all constraints that are given must hold together."""

    channel: str
    """Platform name."""
    account: str | None = None
    """Account id; `*` for every account; not given: the default account only."""
    peer: PeerMatch | None = None
    guild: Annotated[str | None, BeforeValidator(_id_text)] = None
    team: Annotated[str | None, BeforeValidator(_id_text)] = None
    roles: tuple[Annotated[str, BeforeValidator(_id_text)], ...] = ()
    """The sender holds at least one of them."""


class RuleSessionConfig(Model):
    """Session settings of the conversations that a binding claims; what is not given is as in `session`."""

    dm_scope: DmScope | None = None
    group_scope: GroupScope | None = None


class RouteRuleConfig(Model):
    """Gives conversations to an agent."""

    agent: str
    name: str = ""
    """Name in explanations; by default its position, e.g. `bindings[0]`."""
    match: RouteMatch
    session: RuleSessionConfig = RuleSessionConfig()
    """Scopes for these conversations only. Not together with `guild`, `team` or `roles`: an outbound message has none
    of them, and would be remembered in another session than the conversation's."""


class SessionConfig(Model):
    """How conversations become sessions."""

    dm_scope: DmScope = DmScope.PER_ACCOUNT_CHANNEL_PEER
    group_scope: GroupScope = GroupScope.PER_GROUP
    """`main`: groups and channels share the agent's main session."""
    main_key: str = Field(default="main", min_length=1)
    """Name of an agent's main session in the `openclaw` profiles; `v1` keys always say `main`."""
    identity_links: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Canonical name -> ids (`<id>` or `<channel>:<id>`) of one person on several platforms."""


class AccountConfig(Model):
    """Settings of one account of a platform; what is not given is as for the platform."""

    text_limit: Annotated[int, Field(gt=0)] | None = None
    """Longest text of one message of this account, in UTF-16 code units."""
    chunk_mode: ChunkMode | None = None
    """Where texts of this account are cut."""


class ThreadBindingsConfig(Model):
    """How conversations of a platform are bound to sessions (seed 002)."""

    enabled: bool = True
    """Conversations of this platform can be bound at all."""
    spawn_subagent_sessions: bool = False
    """Work that an agent delegates in a channel gets a session of its own, and a thread that is bound to it: its
    completion goes there and nowhere else. Off, delegated work is told as ever."""
    idle_timeout: Duration = 86400.0
    """A binding ends when nothing was said for so long; 0: never for that."""
    max_age: Duration = 0.0
    """A binding ends so long after it was made; 0: never for that."""
    identity: Literal["bot", "webhook"] = "bot"
    """Who speaks in a bound thread. A webhook has a name of its own, but a platform can neither be given a key with
    its messages nor be asked for them: one whose answer is lost is parked instead of being sent again."""
    identity_fallback: Literal["bot", "none"] = "bot"
    """What becomes of a message whose webhook is gone: the bot says it in the same thread, visibly; or it fails."""
    degraded_after: int = Field(default=3, gt=0)
    """After so many such messages in a row the bot is who speaks there, until the thread is bound again."""
    unarchive: bool = True
    """An archived thread is unarchived, where that is allowed, when something is to be said there."""
    fallback: Literal["none", "requester"] = "none"
    """Where a completion goes whose bound conversation cannot be used: nowhere, or, visibly, to whoever asked."""
    notice: bool = True
    """Whoever asked is told, without its content, of what cannot be said where it belongs."""
    farewell: str = ""
    """Said in a conversation whose binding expires; empty: nothing is."""
    sweep: Annotated[Duration, Field(gt=0)] = 120.0
    """How often bound conversations are looked at: whether they are still there."""


class ChannelConfig(Model):
    """Settings of one platform."""

    thread_bindings: ThreadBindingsConfig = ThreadBindingsConfig()
    """Conversations that are bound to sessions."""
    bots: Literal["ignore", "allow"] = "ignore"
    """What becomes of messages that other bots and webhooks write. Those of the gateway itself are never taken."""

    auto_thread: bool = False
    """Answer a top-level message of a group or channel in a thread opened on it."""
    reply_reference: bool = False
    """Answers quote the message that they answer, where they are in the same place."""
    text_limit: Annotated[int, Field(gt=0)] | None = None
    """Longest text of one message, in UTF-16 code units; by default what is usual on the platform, or less where its
    adapter says so."""
    chunk_mode: ChunkMode | None = None
    """`length` (the default): a text is cut where it gets too long; `newline`: at every paragraph as well."""
    accounts: dict[str, AccountConfig] = Field(default_factory=dict)
    """Settings by account; the case of its name does not count."""
    group_dms: tuple[str, ...] = ()
    """Slack: ids of multi-person direct messages, which look like channels."""
    rooms: tuple[str, ...] = ()
    """Slack: ids that are channels, whatever they look like."""
    default_account: str | None = None
    """The account that sends where none is named; by default the only one, else `default`."""


class DeliveryConfig(Model):
    """How outbound messages are tried."""

    request_timeout: Duration = 10.0
    """A send that has no answer by then is ambiguous."""
    hook_timeout: Duration = 5.0
    """A hook that has no answer by then has failed."""
    max_attempts: int = Field(default=5, gt=0)
    backoff: tuple[Duration, ...] = Field(default=(5.0, 25.0, 120.0, 600.0), min_length=1)
    """Wait before attempt 2, 3, ...; the last one repeats."""
    max_age: Duration = 86400.0
    """Older intents expire instead of being sent."""
    ambiguous: Literal["park", "resend-marked"] = "park"
    """What becomes of a chunk that may have been accepted, where the platform has neither idempotency keys nor look-up:
    parked for an operator, or sent once more with `mark` before its text."""
    mark: str = Field(default="[may be a repeat] ", min_length=1)
    """Begins a text that is sent once more."""
    not_ready_wait: Duration = 5.0
    """An adapter that is missing, or not ready, is looked at again after this."""
    recovery_rate: Annotated[float, Field(gt=0)] | None = None
    """Messages a second of each account that are sent of what an earlier process left; not given: no limit."""
    max_text: int = Field(default=1_000_000, gt=0)
    """Longest text, in characters, that is taken for sending at all."""
    lanes: int = Field(default=256, gt=0)
    """Conversations that are sent to at the same time."""
    window: int = Field(default=10_000, gt=0)
    """Open messages that are held in memory; of those beyond it only the ids are."""
    max_backlog: int = Field(default=1_000_000, gt=0)
    """Open messages at which whoever wants to say something has to wait."""
    max_backlog_per_conversation: int = Field(default=10_000, gt=0)
    """The same for each conversation."""
    lease: Annotated[Duration, Field(gt=0)] = 60.0
    """A gateway that works a store and has not renewed its lease for this long is taken for gone, and another takes
    over. It renews three times as often; never shorter than three times `request_timeout`."""
    watch: Duration = 20.0
    """A running gateway takes up what an operator changed from outside within this time."""
    retention: Duration = 30 * 86400.0
    """Finished messages, and what is remembered of those received, are kept this long."""


class HandConfig(Model):
    """How one hand is run."""

    deadline: Duration = 1800.0
    """A run that has not ended by then is reported as timed out."""
    on_restart: Literal["lost", "rerun"] = "lost"
    """What a run becomes whose process died: reported as lost, or (declared repeatable) run again."""


class HandsConfig(Model):
    """How the results of async hands are told."""

    announce: Literal["turn", "direct"] = "turn"
    """`turn`: the requester's agent gets the result and answers; `direct`: the result is posted as it is."""
    defaults: HandConfig = HandConfig()
    each: dict[str, HandConfig] = Field(default_factory=dict)
    """Settings by hand id."""

    def of(self, hand: str) -> HandConfig:
        """Settings of one hand."""
        return self.each.get(hand, self.defaults)


class ControlConfig(Model):
    """Commands that people give the gateway itself: `/focus`, `/unfocus`, `/agents`."""

    enabled: bool = False
    """Messages that begin with such a word are commands, and reach no agent."""
    owners: tuple[str, ...] = ()
    """People who may bind and unbind any conversation, as `<channel>:<id>`."""
    names: tuple[str, ...] = ()
    """Names of the gateway's own bots, for commands such as `/focus@name`; none given: any name is taken for one."""


class GatewayConfig(Model):
    """Everything that the gateway is told."""

    profile: Profile = Profile.TRUNKLINE
    """Whose rules: `trunkline`, or `openclaw` and `openclaw-2026-08`, which reproduce upstream decisions."""
    agents: tuple[AgentConfig, ...] = (AgentConfig(id="main"),)
    """At least one; none are legal in the `openclaw` profiles, where a binding then names whatever agent it wants."""
    bindings: tuple[RouteRuleConfig, ...] = ()
    session: SessionConfig = SessionConfig()
    channels: dict[str, ChannelConfig] = Field(default_factory=dict)
    delivery: DeliveryConfig = DeliveryConfig()
    hands: HandsConfig = HandsConfig()
    control: ControlConfig = ControlConfig()
    _revision: int = PrivateAttr(default=1)

    @property
    def revision(self) -> int:
        """Number of this configuration in its process: 1 at the start, and one more with each reload."""
        return self._revision

    def numbered(self, revision: int) -> GatewayConfig:
        """The same configuration under a number."""
        copy = self.model_copy()
        copy._revision = revision
        return copy

    @model_validator(mode="after")
    def _names_fit(self) -> GatewayConfig:
        ids = [agent.id for agent in self.agents]
        if len(set(ids)) != len(ids):
            raise ValueError(f"agents: two agents share an id: {', '.join(sorted(ids))}")
        if self.profile.upstream:
            # Upstream gives conversations of an unknown agent to the default one, silently.
            return self
        if not ids:
            raise ValueError(f"agents: there are none; the profile {self.profile.value} needs at least one")
        for index, binding in enumerate(self.bindings):
            if binding.agent not in ids:
                raise ValueError(f"bindings[{index}].agent: no agent {binding.agent!r}; there are: {', '.join(ids)}")
            if binding.session != RuleSessionConfig() and (m := binding.match) and (m.guild or m.team or m.roles):
                raise ValueError(
                    f"bindings[{index}].session: scopes of its own need a binding by peer, account or channel; an"
                    " outbound message has no guild, team or roles, and would be remembered in another session"
                )
        return self

    @property
    def default_agent(self) -> str:
        """The agent flagged as default, else the first, else `main`."""
        flagged = (agent.id for agent in self.agents if agent.default)
        return next(flagged, self.agents[0].id if self.agents else "main")

    def channel(self, name: str) -> ChannelConfig:
        """Settings of a platform."""
        return self.channels.get(name, _CHANNEL_DEFAULTS)


_CHANNEL_DEFAULTS = ChannelConfig()
