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
#: seconds; a longer time is surely a mistake
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
        raise ValueError("the time is too long")
    return float(value)


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(float),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "examples": ["5s", "1m30s"]}]}),
]


class Model(BaseModel):
    """Base of all configuration models: frozen, and unknown fields are errors.

    The text under a field is its reference documentation (`sim.scenario.model_fields.texts_of`). Pydantic does not read
    it, because that would parse the source at every start. Validators are built on first use.
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
    """The kind of a conversation; ``dm`` is the former name of ``direct``."""
    return "direct" if value == "dm" else value


def _id_text(value: object) -> object:
    """An id as text; files often write a platform's numeric ids as numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class AgentConfig(Model):
    """An agent that the gateway can route messages to."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    """Lower case letters, digits, `-` and `_`; not `agent`, the first word of upstream session keys."""
    default: bool = False
    """Answers messages that no route rule matches. If no agent is the default, the first one is."""

    @field_validator("id")
    @classmethod
    def _not_the_marker(cls, name: str) -> str:
        if name == "agent":
            raise ValueError("an agent cannot be called 'agent': upstream session keys begin with that word")
        return name


class PeerMatch(Model):
    """A conversation that a route rule names."""

    kind: Annotated[ChatKind, BeforeValidator(_kind)]
    """`direct` (formerly `dm`), `group` or `channel`. Group and channel match each other."""
    id: Annotated[str, BeforeValidator(_id_text)] = Field(min_length=1)
    """The platform's id, or `*` for every conversation of this kind."""


class RouteMatch(Model):
    """The constraints of a route rule on an inbound message: all given ones must hold."""

    channel: str
    """Platform name."""
    account: str | None = None
    """Account id; `*` for every account; if omitted, the default account only."""
    peer: PeerMatch | None = None
    guild: Annotated[str | None, BeforeValidator(_id_text)] = None
    team: Annotated[str | None, BeforeValidator(_id_text)] = None
    roles: tuple[Annotated[str, BeforeValidator(_id_text)], ...] = ()
    """The sender must hold at least one of them."""


class RuleSessionConfig(Model):
    """Session settings of the conversations that a route rule matches; the default of each is that in `session`."""

    dm_scope: DmScope | None = None
    group_scope: GroupScope | None = None


class RouteRuleConfig(Model):
    """A route rule: gives conversations to an agent."""

    agent: str
    name: str = ""
    """Name in explanations; by default its position, e.g. `bindings[0]`."""
    match: RouteMatch
    session: RuleSessionConfig = RuleSessionConfig()
    """Scopes for these conversations only. Not allowed with `guild`, `team` or `roles`: an outbound message has none of
    them, so it would be mirrored into another session than the conversation's."""


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
    """Settings of one account of a platform; the default of each is that of the platform."""

    text_limit: Annotated[int, Field(gt=0)] | None = None
    """Maximum length of one message of this account, in UTF-16 code units."""
    chunk_mode: ChunkMode | None = None
    """How texts of this account are split into chunks."""


class ThreadBindingsConfig(Model):
    """How conversations of a platform are bound to sessions."""

    enabled: bool = True
    """Whether conversations of this platform can be bound."""
    spawn_subagent_sessions: bool = False
    """Work that an agent delegates in a channel gets its own session and a thread bound to it; the completion goes only
    to that thread. If off, the completion goes to the requester's session."""
    idle_timeout: Duration = 86400.0
    """A binding ends after this long without a message; 0 means never."""
    max_age: Duration = 0.0
    """A binding ends this long after it was made; 0 means never."""
    identity: Literal["bot", "webhook"] = "bot"
    """Who posts in a bound thread. A webhook has its own name, but its messages have neither idempotency keys nor
    look-up: a message whose response is lost is parked instead of resent."""
    identity_fallback: Literal["bot", "none"] = "bot"
    """What happens to a message whose webhook is gone: the bot visibly posts it in the same thread, or it fails."""
    degraded_after: int = Field(default=3, gt=0)
    """After this many such messages in a row the bot posts in the thread until it is bound again."""
    owner: Literal["channel", "account"] = "channel"
    """Which accounts answer in a bound group or thread: only the one it was bound through, or each by its own rules."""
    unarchive: bool = True
    """Unarchive an archived thread, where allowed, before posting in it."""
    fallback: Literal["none", "requester"] = "none"
    """Where a completion goes if its bound conversation cannot be used: nowhere, or visibly to the requester."""
    notice: bool = True
    """Notify the requester, without the content, of a message that cannot be delivered to its bound conversation."""
    farewell: str = ""
    """Message posted in a conversation when its binding expires; empty for none."""
    sweep: Annotated[Duration, Field(gt=0)] = 120.0
    """How often to check that bound conversations still exist."""


class ChannelConfig(Model):
    """Settings of one platform."""

    thread_bindings: ThreadBindingsConfig = ThreadBindingsConfig()
    """Session bindings on this platform."""
    bots: Literal["ignore", "allow"] = "ignore"
    """What to do with messages of other bots and webhooks. The gateway's own are always ignored."""

    auto_thread: bool = False
    """Answer a top-level message of a group or channel in a thread opened on that message."""
    reply_reference: bool = False
    """An answer quotes the message that it answers if both are in the same place."""
    text_limit: Annotated[int, Field(gt=0)] | None = None
    """Maximum length of one message, in UTF-16 code units; the default is the platform's usual limit, or less if its
    adapter says so."""
    chunk_mode: ChunkMode | None = None
    """`length` (the default) splits a text only where it gets too long; `newline` also splits at every paragraph."""
    accounts: dict[str, AccountConfig] = Field(default_factory=dict)
    """Settings by account; account names are case-insensitive."""
    group_dms: tuple[str, ...] = ()
    """Slack: ids of multi-person direct messages, which look like channels."""
    rooms: tuple[str, ...] = ()
    """Slack: ids that are channels even if they look otherwise."""
    default_account: str | None = None
    """The account that sends if none is named; the default is the only account, else `default`."""


class DeliveryConfig(Model):
    """How outbound messages are delivered."""

    request_timeout: Duration = 10.0
    """A send without a response after this long is ambiguous."""
    hook_timeout: Duration = 5.0
    """A hook that has not returned after this long has failed."""
    max_attempts: int = Field(default=5, gt=0)
    """Attempts at a chunk before it is given up."""
    max_interrupted: int = Field(default=10, ge=0)
    """Attempts at a chunk that `max_attempts` does not count, since the process ended before their outcome was known.
    Only where the platform has idempotency keys or look-up: there the next process can find out."""
    backoff: tuple[Duration, ...] = Field(default=(5.0, 25.0, 120.0, 600.0), min_length=1)
    """Wait before attempt 2, 3, ...; the last value repeats."""
    max_age: Duration = 86400.0
    """Messages older than this expire instead of being sent."""
    ambiguous: Literal["park", "resend-marked"] = "park"
    """What to do with a chunk that may have been accepted if the platform has neither idempotency keys nor look-up:
    park it for an operator, or send it once more with `mark` before its text."""
    mark: str = Field(default="[may be a repeat] ", min_length=1)
    """Prefix of a text that is sent once more."""
    not_ready_wait: Duration = 5.0
    """How long to wait before checking again whether a missing or unready adapter can send."""
    recovery_rate: Annotated[float, Field(gt=0)] | None = None
    """Recovered messages sent per second and account after a restart; no limit if omitted."""
    max_text: int = Field(default=1_000_000, gt=0)
    """Maximum length of a text, in characters, that is accepted for sending."""
    lanes: int = Field(default=256, gt=0)
    """Number of conversations that are sent to concurrently."""
    window: int = Field(default=10_000, gt=0)
    """Number of open messages held in memory; beyond it only ids are held."""
    max_backlog: int = Field(default=1_000_000, gt=0)
    """Number of open messages at which senders have to wait."""
    max_backlog_per_conversation: int = Field(default=10_000, gt=0)
    """The same limit for one conversation."""
    lease: Annotated[Duration, Field(gt=0)] = 60.0
    """A gateway that has not renewed its lease on the store for this long is considered gone, and another takes over.
    The lease is renewed three times as often, and is never shorter than three times `request_timeout`."""
    watch: Duration = 20.0
    """A running gateway applies an operator's changes to the store file within this time."""
    failed_notice: str = ""
    """Text to the person whose answer could not be delivered, at the same place; empty: none. It is not sent to a place
    where nothing can be posted any more."""
    notify_agent: bool = False
    """Whether a message that could not be delivered starts a turn of its agent. The transcript gets a line of it in any
    case."""
    retention: Duration = 30 * 86400.0
    """How long finished messages, and the records that detect duplicates of received ones, are kept."""


class HandConfig(Model):
    """Settings of one hand."""

    deadline: Duration = 1800.0
    """A run that has not ended after this long is reported as timed out."""
    on_restart: Literal["lost", "rerun"] = "lost"
    """What happens to a run whose process died: it is reported as lost, or run again if it is declared repeatable."""
    max_attempts: int = Field(default=3, gt=0)
    """How often a repeatable run is made if the process dies each time. Then it is reported as lost."""


class HandsConfig(Model):
    """How the results of async hands are reported."""

    announce: Literal["turn", "direct"] = "turn"
    """`turn`: the requester's agent receives the result and answers; `direct`: the result is posted unchanged."""
    defaults: HandConfig = HandConfig()
    each: dict[str, HandConfig] = Field(default_factory=dict)
    """Settings by hand id."""

    def of(self, hand: str) -> HandConfig:
        """Settings of one hand."""
        return self.each.get(hand, self.defaults)


class TurnsConfig(Model):
    """What happens to turns that take the process down."""

    max_attempts: int = Field(default=3, gt=1)
    """How often a turn is run if the process dies each time. Then it ends as failed. An orderly stop does not count."""
    failed_notice: str = "Sorry, I could not answer this message."
    """What the person then gets instead of an answer; empty for nothing."""


class ControlConfig(Model):
    """Chat commands to the gateway itself: `/focus`, `/unfocus`, `/agents`."""

    enabled: bool = False
    """Whether messages that begin with a command are handled by the gateway instead of an agent."""
    owners: tuple[str, ...] = ()
    """People who may bind and unbind any conversation, as `<channel>:<id>`."""
    names: tuple[str, ...] = ()
    """Names of the gateway's own bots, for commands such as `/focus@name`; if empty, any name matches."""


class GatewayConfig(Model):
    """The whole configuration of a gateway."""

    profile: Profile = Profile.TRUNKLINE
    """Whose rules: `trunkline`, or `openclaw` and `openclaw-2026-08`, which reproduce upstream decisions."""
    agents: tuple[AgentConfig, ...] = (AgentConfig(id="main"),)
    """At least one. The `openclaw` profiles also accept none: route rules may then name any agent."""
    bindings: tuple[RouteRuleConfig, ...] = ()
    session: SessionConfig = SessionConfig()
    channels: dict[str, ChannelConfig] = Field(default_factory=dict)
    delivery: DeliveryConfig = DeliveryConfig()
    hands: HandsConfig = HandsConfig()
    turns: TurnsConfig = TurnsConfig()
    control: ControlConfig = ControlConfig()
    _revision: int = PrivateAttr(default=1)

    @property
    def revision(self) -> int:
        """Number of this configuration in its process: 1 at start, incremented by each reload."""
        return self._revision

    def numbered(self, revision: int) -> GatewayConfig:
        """A copy of this configuration with a revision number."""
        copy = self.model_copy()
        copy._revision = revision
        return copy

    @model_validator(mode="after")
    def _names_fit(self) -> GatewayConfig:
        ids = [agent.id for agent in self.agents]
        if len(set(ids)) != len(ids):
            raise ValueError(f"agents: two agents share an id: {', '.join(sorted(ids))}")
        if self.profile.upstream:
            # Upstream silently gives conversations of an unknown agent to the default one.
            return self
        if not ids:
            raise ValueError(f"agents: there are none; the profile {self.profile.value} needs at least one")
        for index, binding in enumerate(self.bindings):
            if binding.agent not in ids:
                raise ValueError(f"bindings[{index}].agent: no agent {binding.agent!r}; there are: {', '.join(ids)}")
            if binding.session != RuleSessionConfig() and (m := binding.match) and (m.guild or m.team or m.roles):
                raise ValueError(
                    f"bindings[{index}].session: own scopes need a match by peer, account or channel only; an outbound"
                    " message has no guild, team or roles, so it would be mirrored into another session"
                )
        return self

    @property
    def default_agent(self) -> str:
        """The agent marked as default, else the first, else `main`."""
        flagged = (agent.id for agent in self.agents if agent.default)
        return next(flagged, self.agents[0].id if self.agents else "main")

    @property
    def quoting(self) -> tuple[str, ...]:
        """The channels whose answers quote the message that they answer."""
        return tuple(sorted(name for name, channel in self.channels.items() if channel.reply_reference))

    def channel(self, name: str) -> ChannelConfig:
        """Settings of a platform."""
        return self.channels.get(name, _CHANNEL_DEFAULTS)


_CHANNEL_DEFAULTS = ChannelConfig()
