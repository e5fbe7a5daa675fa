"""What a bot may do in a channel: its roles, and what the channel overwrites. Pure.

The order is Discord's (https://discord.com/developers/docs/topics/permissions#permission-overwrites): everybody's role,
the other roles, then the channel's overwrites for everybody, for the roles together, and for the member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_ADMINISTRATOR = 1 << 3
#: bit -> name, of the permissions that matter to a bot that writes
_NAMES = {
    1: "kick-members",
    2: "ban-members",
    3: "administrator",
    4: "manage-channels",
    5: "manage-server",
    6: "add-reactions",
    10: "view-channel",
    11: "send-messages",
    13: "manage-messages",
    14: "embed-links",
    15: "attach-files",
    16: "read-message-history",
    17: "mention-everyone",
    28: "manage-roles",
    29: "manage-webhooks",
    30: "manage-emoji",
    33: "manage-events",
    34: "manage-threads",
    35: "create-public-threads",
    36: "create-private-threads",
    37: "use-external-stickers",
    38: "send-messages-in-threads",
    40: "moderate-members",
    49: "send-polls",
    51: "pin-messages",
}


def permissions_in(
    guild: str,
    member: str,
    roles: Sequence[str],
    known: Iterable[Mapping[str, Any]],
    overwrites: Iterable[Mapping[str, Any]],
) -> tuple[str, ...]:
    """The names of the permissions of a member in a channel. `guild` is also the id of everybody's role."""
    own = {guild, *roles}
    allowed = 0
    for role in known:
        if role.get("id") in own:
            allowed |= _bits(role.get("permissions"))
    if not allowed & _ADMINISTRATOR:
        there = {str(one.get("id")): one for one in overwrites}
        allowed = _overwritten(allowed, [there[guild]] if guild in there else [])
        allowed = _overwritten(allowed, [there[role] for role in roles if role in there and role != guild])
        allowed = _overwritten(allowed, [there[member]] if member in there else [])
    return tuple(name for bit, name in _NAMES.items() if allowed & (1 << bit) or allowed & _ADMINISTRATOR)


def _overwritten(allowed: int, overwrites: Sequence[Mapping[str, Any]]) -> int:
    """First everything that is denied, then everything that is allowed."""
    for one in overwrites:
        allowed &= ~_bits(one.get("deny"))
    for one in overwrites:
        allowed |= _bits(one.get("allow"))
    return allowed


def _bits(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() else 0
