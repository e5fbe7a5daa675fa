"""From what Discord sends to envelopes. Pure.

The bot's own messages are recognised by their author, answers to interactions by the application, whose id their
webhook has. Messages of the gateway's webhooks are envelopes with `Envelope.webhook`, which the gateway recognises.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from trunkline.core.adapters.discord.payloads import (
    DM,
    GROUP_DM,
    THREADS,
    WRITTEN,
    ChannelData,
    InteractionData,
    MemberData,
    MessageData,
    UserData,
)
from trunkline.core.channels.platforms.discord import DiscordMessage, read_inbound
from trunkline.core.values import Address, Envelope, Peer
from trunkline.core.well_formed import well_formed


class BadEvent(Exception):
    """An event cannot be read; says why."""


class BotIds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ids of the account on Discord."""

    user: str
    application: str


def is_own(message: MessageData, own: BotIds) -> bool:
    """Whether the bot posted a message, under the bot's name or as the answer to an interaction."""
    if message.webhook_id is not None:
        return message.webhook_id == own.application
    return message.author.id == own.user


def envelope_of(message: MessageData, channel: ChannelData, account: str) -> Envelope | None:
    """A message as an envelope; None for a message without author, such as the notice of a new member.

    Raises `BadEvent` for a time that is none.
    """
    if message.type not in WRITTEN:
        return None
    member = message.member
    return Envelope(
        address=place_of(channel, account, message.author.id),
        peer=peer_of(message.author, member),
        message_id=message.id,
        text=text_of(message),
        sent_at=_seconds(message.timestamp),
        reply_to=None if message.message_reference is None else message.message_reference.message_id,
        guild=message.guild_id or channel.guild_id,
        roles=() if member is None else tuple(well_formed(role) for role in member.roles),
        bot=message.author.bot or message.webhook_id is not None,
        webhook=message.webhook_id,
    )


def press_of(pressed: InteractionData, channel: ChannelData, account: str, now: float) -> Envelope:
    """The use of a component as an envelope: the text is the button's value, or the values chosen from a menu.

    Raises `BadEvent` if nobody used it.
    """
    user = pressed.user if pressed.member is None else pressed.member.user
    if user is None:
        raise BadEvent("an interaction without a user")
    return Envelope(
        address=place_of(channel, account, user.id),
        peer=peer_of(user, pressed.member),
        message_id=pressed.id,
        text=well_formed(", ".join(pressed.data.values) or pressed.data.custom_id),
        sent_at=now,
        guild=pressed.guild_id or channel.guild_id,
        roles=() if pressed.member is None else tuple(well_formed(role) for role in pressed.member.roles),
        bot=user.bot,
        pressed=pressed.message.id,
    )


def place_of(channel: ChannelData, account: str, author: str) -> Address:
    """The place of a channel, thread or direct conversation; the latter has the id of the other participant."""
    kind = "guild_thread" if channel.type in THREADS else "guild_channel"
    user = None
    if channel.type == DM:
        kind, user = "dm", channel.recipients[0].id if channel.recipients else author
    elif channel.type == GROUP_DM:
        kind = "group_dm"
    message = DiscordMessage(
        kind=kind, conversation_id=channel.id, user_id=user, parent_id=channel.parent_id, guild_id=channel.guild_id
    )
    return read_inbound(message, account).address


def peer_of(user: UserData, member: MemberData | None) -> Peer:
    """A user with the displayed name."""
    names = (None if member is None else member.nick, user.global_name, user.username)
    return Peer(id=user.id, name=well_formed(next((name for name in names if name), "")))


def text_of(message: MessageData) -> str:
    """The text of a message, followed by the addresses of the files."""
    lines = [message.content, *(file.url for file in message.attachments)]
    return well_formed("\n".join(line for line in lines if line))


def _seconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        raise BadEvent("a timestamp that is no time") from None
