"""Requests to an adapter for actions that are no messages, and their part that an intent stores."""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Address, Identity, IntentId, Style


class ActionPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The part of an intent that makes it a change instead of a message. Its chunk has the new text, emoji or name."""

    action: Action
    #: the platform's id of the message that is meant
    message_id: str | None = None
    #: or the intent that sent it, whose receipt has the id; that one may still be queued
    of: IntentId | None = None
    #: take a reaction away instead of adding it
    remove: bool = False
    #: the other parameters, as a JSON object with the names of the tool
    fields: str | None = None


class ActionRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A change for a platform. A repeat has the same content and the same key."""

    action: Action
    #: the conversation that is concerned; of an action without a target see `core.actions.places`
    address: Address
    #: idempotency key, stable over retries, restarts and processes
    key: str
    intent: IntentId
    attempt: int
    #: its number among the requests of the intent: a deletion has one for each message
    chunk: int = 0
    message_id: str | None = None
    #: the new text, the emoji, or the new name
    text: str = ""
    #: the text in the other forms of the platform
    html: str | None = None
    styles: tuple[Style, ...] = ()
    remove: bool = False
    #: the other parameters, as a JSON object with the names of the tool
    fields: str | None = None
    #: the webhook that posted the message; none: the bot
    identity: Identity | None = None
    #: seq of the attempt in the gateway's log
    cause: int | None = None


class ActionQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A question for a platform."""

    action: Action
    #: the conversation that is concerned; of an action without a target see `core.actions.places`
    address: Address
    message_id: str | None = None
    #: the other parameters, as a JSON object with the names of the tool
    fields: str | None = None
    cause: int | None = None
