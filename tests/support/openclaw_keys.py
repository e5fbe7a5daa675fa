"""What the tests of openclaw share."""

from typing import Any

from trunkline.core.keys import SessionKey
from trunkline.core.profile_rules import Profile
from trunkline.core.values import ChatKind

MARCH, AUGUST, OURS = Profile.OPENCLAW, Profile.OPENCLAW_2026_08, Profile.TRUNKLINE
DIRECT, GROUP, CHANNEL = ChatKind.DIRECT, ChatKind.GROUP, ChatKind.CHANNEL


def key(kind: ChatKind = DIRECT, peer: str = "u1", **fields: Any) -> SessionKey:
    return SessionKey(**{"agent": "main", "channel": "slack", "kind": kind, "peer": peer, **fields})
