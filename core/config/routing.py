"""Configuration of routing: which agent gets a conversation, and which conversations share a session."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from trunkline.core.config.base import Model, id_text
from trunkline.core.values import ChatKind


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


class PeerMatch(Model):
    """A conversation that a route rule names."""

    kind: Annotated[ChatKind, BeforeValidator(_kind)]
    """`direct` (formerly `dm`), `group` or `channel`. Group and channel match each other."""
    id: Annotated[str, BeforeValidator(id_text)] = Field(min_length=1)
    """The platform's id, or `*` for every conversation of this kind."""


class RouteMatch(Model):
    """The constraints of a route rule on an inbound message: all given ones must hold."""

    channel: str
    """Platform name."""
    account: str | None = None
    """Account id; `*` for every account; if omitted, the default account only."""
    peer: PeerMatch | None = None
    guild: Annotated[str | None, BeforeValidator(id_text)] = None
    """Id of a server of Discord."""
    team: Annotated[str | None, BeforeValidator(id_text)] = None
    """Id of a workspace of Slack."""
    roles: tuple[Annotated[str, BeforeValidator(id_text)], ...] = ()
    """The sender must hold at least one of them."""


class RuleSessionConfig(Model):
    """Session settings of the conversations that a route rule matches; the default of each is that in `session`."""

    dm_scope: DmScope | None = None
    group_scope: GroupScope | None = None


class RouteRuleConfig(Model):
    """A route rule: gives conversations to an agent."""

    agent: str
    """The agent that answers."""
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
