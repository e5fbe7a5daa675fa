"""The rules of OpenClaw as the two profiles that ship: March 2026, and what August changed of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from trunkline.core.decisions import Decisions
from trunkline.core.message_tool.references import MessageReference, decide_reference
from trunkline.core.profile_rules import Profile, ProfileRules
from trunkline.core.profiles.openclaw.channels import AUGUST_CHANNELS, MARCH_CHANNELS
from trunkline.core.profiles.openclaw.completions import MarchRouting, OpenClawRouting
from trunkline.core.profiles.openclaw.config import OpenClawChecks
from trunkline.core.profiles.openclaw.heartbeat import MarchTargets, OpenClawTargets, OpenClawToken
from trunkline.core.profiles.openclaw.keys import AugustKeys, OpenClawKeys
from trunkline.core.profiles.openclaw.message_tool import (
    MarchCallTargets,
    OpenClawBroadcasts,
    OpenClawCallTargets,
    OpenClawChannelChoice,
    OpenClawParameters,
    OpenClawRequirements,
)
from trunkline.core.profiles.openclaw.policy import MARCH_GUARDED, decide_context
from trunkline.core.profiles.openclaw.routing import (
    MarchMatching,
    MarchSessionKeys,
    OpenClawMatching,
    OpenClawScopes,
    OpenClawSendKeys,
    OpenClawSessionKeys,
)
from trunkline.core.profiles.openclaw.sends import OpenClawSends
from trunkline.core.profiles.openclaw.sessions import OpenClawSessions


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
