"""Events of Slack as envelopes. Pure: from the JSON of an event or of an interaction to an `Envelope`.

Unknown fields are ignored, and unknown kinds are no messages. A message that lacks what an envelope needs is
`UnreadableUpdate`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec

from trunkline.core.adapters.slack.requests import LINK
from trunkline.core.channels.platforms.slack import SlackMessage, read_inbound
from trunkline.core.values import Envelope, Peer
from trunkline.core.well_formed import is_well_formed, well_formed

T = TypeVar("T")
Kind = Literal["channel", "im", "mpim"]
_KINDS: dict[str, Kind] = {
    "channel": "channel",
    "group": "channel",
    "im": "im",
    "mpim": "mpim",
    "app_home": "im",
}
#: kinds of message events that are new messages; the others are edits, deletions and notes of Slack
_NEW = frozenset({None, "file_share", "thread_broadcast", "bot_message", "me_message"})
_LONGEST_ID = 200
_TIME = re.compile(r"\d{1,11}(?:\.\d{1,6})?")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


class UnreadableUpdate(ValueError):
    """An update lacks something for a message."""


class SlackSelf(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of the account, from ``auth.test``."""

    user: str
    bot: str
    team: str


class SlackFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a message."""

    id: str = ""
    name: str | None = None


class MessageEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a ``message`` or ``app_mention`` event for an envelope."""

    type: str
    channel: str
    ts: str
    subtype: str | None = None
    channel_type: str | None = None
    user: str | None = None
    bot_id: str | None = None
    username: str | None = None
    text: str | None = None
    thread_ts: str | None = None
    parent_user_id: str | None = None
    hidden: bool = False
    files: tuple[SlackFile, ...] = ()


class PressedAction(msgspec.Struct, frozen=True, kw_only=True):
    """A pressed button or a choice in a block."""

    type: str = ""
    action_id: str = ""
    action_ts: str = ""
    value: str | None = None
    selected_option: dict[str, Any] | None = None


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a ``block_actions`` payload for an envelope."""

    type: str
    user: dict[str, Any]
    channel: dict[str, Any]
    message: dict[str, Any]
    trigger_id: str
    actions: tuple[PressedAction, ...] = ()


def kind_of(channel_type: str | None, channel: str) -> Kind:
    """The kind of a conversation, by the event, else by the first letter of the id."""
    named = _KINDS.get(channel_type or "")
    return named or ("im" if channel.startswith("D") else "channel")


def read_message(
    event: Mapping[str, Any], account: str, me: SlackSelf, kinds: Mapping[str, Kind], team: str | None
) -> Envelope | None:
    """The envelope of an event; None for own messages and for other events.

    `kinds`: of conversations that are known from other events; an event of kind ``app_mention`` does not say it.
    Raises `UnreadableUpdate`.
    """
    subtype = event.get("subtype")
    if event.get("type") not in ("message", "app_mention") or (isinstance(subtype, str) and subtype not in _NEW):
        return None
    if event.get("hidden") is True or is_own(event, me):
        return None
    read = _convert(event, MessageEvent)
    author = read.user or read.bot_id
    if not author:
        raise UnreadableUpdate("the message has no author")
    kind = kind_of(read.channel_type, read.channel) if read.channel_type else kinds.get(read.channel)
    facts = SlackMessage(
        conversation=kind or kind_of(None, read.channel),
        channel_id=_id(read.channel),
        user=_id(author),
        ts=_id(read.ts),
        thread_ts=None if read.thread_ts is None else _id(read.thread_ts),
        parent_user_id=read.parent_user_id,
    )
    return Envelope(
        address=read_inbound(facts, account).address,
        peer=Peer(id=author, name=well_formed(read.username or "")),
        message_id=read.ts,
        text=_text(read),
        sent_at=seconds(read.ts),
        team=team,
        bot=read.bot_id is not None,
        webhook=read.bot_id if read.user is None else None,
    )


def is_own(event: Mapping[str, Any], me: SlackSelf) -> bool:
    """Whether the account itself has posted a message."""
    return event.get("user") == me.user or (bool(me.bot) and event.get("bot_id") == me.bot)


def read_presses(
    payload: Mapping[str, Any], account: str, kinds: Mapping[str, Kind], team: str | None
) -> list[Envelope]:
    """The envelopes of pressed buttons; none for other interactions. Raises `UnreadableUpdate`."""
    if payload.get("type") != "block_actions" or "message" not in payload:
        return []
    read = _convert(payload, Interaction)
    user, channel, ts = (_word(read.user, "id"), _word(read.channel, "id"), _word(read.message, "ts"))
    root = read.message.get("thread_ts")
    facts = SlackMessage(
        conversation=kinds.get(channel) or _kind_of_name(channel, read.channel.get("name")),
        channel_id=channel,
        user=user,
        ts=ts,
        thread_ts=_id(root) if isinstance(root, str) else None,
    )
    name = read.user.get("name") or read.user.get("username")
    pressed = [action for action in read.actions if not action.action_id.startswith(LINK)]
    return [
        Envelope(
            address=read_inbound(facts, account).address,
            peer=Peer(id=user, name=well_formed(name) if isinstance(name, str) else ""),
            # Slack gives each interaction a trigger of its own, and repeats the trigger on redelivery.
            message_id=_id(read.trigger_id if number == 0 else f"{read.trigger_id}/{number}"),
            text=well_formed(_value(press)),
            sent_at=seconds(press.action_ts) if _TIME.fullmatch(press.action_ts) else seconds(ts),
            team=team,
            pressed=ts,
        )
        for number, press in enumerate(pressed)
    ]


def seconds(ts: str) -> float:
    """The time of a message, from the id. Raises `UnreadableUpdate`."""
    if _TIME.fullmatch(ts) is None:
        raise UnreadableUpdate("the id of the message is no time")
    return float(ts)


def _kind_of_name(channel: str, name: object) -> Kind:
    return "mpim" if isinstance(name, str) and name.startswith("mpdm-") else kind_of(None, channel)


def _value(action: PressedAction) -> str:
    chosen = (action.selected_option or {}).get("value")
    return action.value or (chosen if isinstance(chosen, str) else "") or action.action_id


def _text(read: MessageEvent) -> str:
    """The visible text, and a line for each file: an agent can download the file by the id."""
    text = well_formed(read.text or "")
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    lines = [
        f"[file {well_formed(file.id)}: {well_formed(file.name or 'without a name')}]" for file in read.files if file.id
    ]
    return "\n".join((*([text] if text else ()), *lines))


def _convert(value: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UnreadableUpdate(str(error)) from None


def _word(fields: Mapping[str, Any], name: str) -> str:
    found = fields.get(name)
    if not isinstance(found, str):
        raise UnreadableUpdate(f"`{name}` is missing")
    return _id(found)


def _id(text: str) -> str:
    """An id, checked for storing and sending back. Raises `UnreadableUpdate`."""
    if not text or len(text) > _LONGEST_ID or not is_well_formed(text) or not text.isprintable():
        raise UnreadableUpdate("an id is empty, too long or unprintable")
    return text
