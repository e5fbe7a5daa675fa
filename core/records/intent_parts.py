"""Groups of fields that few intents have; the store keeps each group in one column, as JSON."""

from __future__ import annotations

import msgspec

from trunkline.core.actions.requests import ActionPart
from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Address, Identity, Peer


class BoundPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The fields of an intent that concern its session binding and its notice; stored together as JSON."""

    binding: str | None = None
    identity: Identity | None = None
    notice_to: Address | None = None
    notice_open_on: str | None = None


class ExtraPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The fields of an intent that few intents have; stored together as JSON."""

    parts: MessageParts | None = None
    action: ActionPart | None = None
    recipient: Peer | None = None
