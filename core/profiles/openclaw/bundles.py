"""The rules of OpenClaw as the two profiles that ship: March 2026, and what August changed of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from trunkline.core.config import GatewayConfig, HeartbeatConfig
from trunkline.core.config.gateway import ConfigChecks
from trunkline.core.decisions import Decisions
from trunkline.core.message_tool.references import MessageReference, decide_reference
from trunkline.core.profile_rules import Profile, ProfileRules
from trunkline.core.profiles.openclaw.channels.platforms import AUGUST_CHANNELS, MARCH_CHANNELS
from trunkline.core.profiles.openclaw.delivery import (
    MarchRouting,
    MarchTargets,
    OpenClawRouting,
    OpenClawSends,
    OpenClawSessions,
    OpenClawTargets,
    OpenClawToken,
)
from trunkline.core.profiles.openclaw.keys import AugustKeys, OpenClawKeys
from trunkline.core.profiles.openclaw.message_tool import (
    MARCH_GUARDED,
    MarchCallTargets,
    OpenClawBroadcasts,
    OpenClawCallTargets,
    OpenClawChannelChoice,
    OpenClawParameters,
    OpenClawRequirements,
    decide_context,
)
from trunkline.core.profiles.openclaw.routing import (
    MarchMatching,
    MarchSessionKeys,
    OpenClawMatching,
    OpenClawScopes,
    OpenClawSendKeys,
    OpenClawSessionKeys,
)


class OpenClawChecks(ConfigChecks):
    """Conversations of an unknown agent silently go to the default one, and unknown gates are ignored."""

    def accepts_agent(self, name: str, config: GatewayConfig) -> bool:
        return True

    def accepts_gate(self, name: str, gates: Sequence[str]) -> bool:
        return True

    def check_heartbeat(self, path: str, heartbeat: HeartbeatConfig, agent: str, config: GatewayConfig) -> None:
        """Unusable values are taken as no hours, the user's zone and the default target."""

    def check_agents(self, config: GatewayConfig) -> None:
        """There may be none, and route rules may name any."""


def _decide_reference(*asked: Any, agent: str | None, **more: Any) -> MessageReference:
    """The messages of an account are known, and not which agent sent them."""
    return decide_reference(*asked, agent=None, **more)


def _keep_mirror(key: str | None, *_: object) -> str | None:
    """The session of a message stays, whatever the scopes are when it is sent."""
    return key


_DECISIONS = Decisions(
    decide_reference=_decide_reference,
    todays_mirror=_keep_mirror,
    decide_context=decide_context,
    resolve_destination=OpenClawRouting().resolve,
)
MARCH = ProfileRules(
    Profile.OPENCLAW,
    replace(
        _DECISIONS,
        decide_context=partial(decide_context, guarded=MARCH_GUARDED),
        resolve_destination=MarchRouting().resolve,
    ),
    OpenClawChecks(),
    OpenClawKeys(),
    MARCH_CHANNELS,
    MarchMatching(),
    MarchSessionKeys(),
    OpenClawScopes(),
    OpenClawSendKeys(),
    OpenClawSessions(),
    MarchTargets(),
    OpenClawToken(),
    OpenClawSends(),
    OpenClawParameters(),
    OpenClawChannelChoice(),
    MarchCallTargets(),
    OpenClawBroadcasts(),
    OpenClawRequirements(),
)
AUGUST = ProfileRules(
    Profile.OPENCLAW_2026_08,
    _DECISIONS,
    AugustKeys(),
    AUGUST_CHANNELS,
    OpenClawMatching(),
    OpenClawSessionKeys(),
    OpenClawTargets(),
    OpenClawCallTargets(),
    base=MARCH,
)
