"""From events of Discord to envelopes: messages with their parts, presses, edits, deletions, reactions. Pure."""

from datetime import datetime

import msgspec

from trunkline.core import message_parts
from trunkline.core.adapters.discord import payloads
from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text
from trunkline.core.adapters.own_names import OwnAccount
from trunkline.core.channels.platforms.discord import DiscordMessage, read_inbound
from trunkline.core.values import Address, Deed, DeedKind, Envelope, Peer
from trunkline.core.well_formed import well_formed

# The parts of a message beside its text, read from unknown JSON. Pure.

#: fields of a message that are read here
CONTENT = (
    *("attachments", "components", "embeds", "flags"),
    *("message_snapshots", "poll", "referenced_message", "sticker_items"),
)
#: flag of a voice message
_VOICE = 1 << 13


def parts_of(message: Json) -> tuple[message_parts.Part, ...]:
    """The parts of a message; a forwarded message is in it as a snapshot."""
    parts: list[message_parts.Part] = []
    answered = as_object(message.get("referenced_message"))
    if words := message_parts.with_words(as_text(answered.get("content")), tuple(_content(answered))):
        parts.append(
            message_parts.QuotePart(text=words, author=_name(answered), message_id=as_text(answered.get("id")))
        )
    for snapshot in as_objects(message.get("message_snapshots")):
        forwarded = as_object(snapshot.get("message"))
        words = message_parts.with_words(as_text(forwarded.get("content")), tuple(_content(forwarded)))
        parts.append(message_parts.ForwardPart(text=words or "[message]"))
    return (*parts, *_content(message))


def _content(message: Json) -> list[message_parts.Part]:
    flags = message.get("flags")
    voice = isinstance(flags, int) and bool(flags & _VOICE)
    parts: list[message_parts.Part] = [_file(file, voice=voice) for file in as_objects(message.get("attachments"))]
    for sticker in as_objects(message.get("sticker_items")):
        parts.append(message_parts.FilePart(file=message_parts.MediaKind.STICKER, name=as_text(sticker.get("name"))))
    if poll := as_object(message.get("poll")):
        answers = (as_object(answer.get("poll_media")) for answer in as_objects(poll.get("answers")))
        question = as_text(as_object(poll.get("question")).get("text"))
        parts.append(
            message_parts.PollPart(question=question, options=tuple(as_text(answer.get("text")) for answer in answers))
        )
    parts += [_card(embed) for embed in as_objects(message.get("embeds"))]
    if words := "\n".join(_component_texts(message.get("components"))):
        parts.append(message_parts.CardPart(text=words))
    return parts


def _file(file: Json, *, voice: bool) -> message_parts.FilePart:
    mime_type, size, seconds = as_text(file.get("content_type")), file.get("size"), file.get("duration_secs")
    return message_parts.FilePart(
        file=message_parts.MediaKind.VOICE if voice else message_parts.MediaKind.of(mime_type),
        source=as_text(file.get("url")),
        name=as_text(file.get("filename")),
        mime_type=mime_type,
        size=size if isinstance(size, int) else None,
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
        about=as_text(file.get("description")),
    )


def _card(embed: Json) -> message_parts.CardPart:
    rows = as_objects(embed.get("fields"))
    fields = [f"{as_text(row.get('name'))}: {as_text(row.get('value'))}" for row in rows]
    texts = (as_text(embed.get("description")), *fields, as_text(as_object(embed.get("footer")).get("text")))
    # Discord makes these of the links in a text.
    preview = embed.get("type") in ("link", "video", "article", "image", "gifv")
    words = "\n".join(filter(None, texts))
    title, url = as_text(embed.get("title")), as_text(embed.get("url"))
    return message_parts.CardPart(text=words, title=title, url=url, preview=preview)


def _component_texts(components: object, depth: int = 0) -> list[str]:
    """The texts of components: apps write messages with components."""
    found: list[str] = []
    if depth > 5:
        return found
    for component in as_objects(components):
        found += filter(None, (as_text(component.get("content")), as_text(component.get("label"))))
        found += _component_texts(component.get("components"), depth + 1)
        found += _component_texts([component.get("component"), component.get("accessory")], depth + 1)
    return found


def _name(message: Json) -> str:
    author = as_object(message.get("author"))
    return as_text(author.get("global_name")) or as_text(author.get("username"))


# From what Discord sends to envelopes. Pure.
#
# The bot's own messages are recognised by their author, answers to interactions by the application, whose id their
# webhook has. Messages of the gateway's webhooks are envelopes with `Envelope.webhook`, which the gateway recognises.


class BadEvent(Exception):
    """An event cannot be read; says why."""


class BotIds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    user: str
    application: str


def check_own(message: payloads.MessageData, own: OwnAccount) -> None:
    """Raise `OwnPost` for a message of a bot of the gateway, also for the answer to an interaction."""
    own.check(message.author.id if message.webhook_id is None else message.webhook_id)


def envelope_of(message: payloads.MessageData, channel: payloads.ChannelData, account: str) -> Envelope | None:
    """A message as an envelope; None for a message without author, such as the notice of a new member.

    Raises `BadEvent` for a time that is none.
    """
    if message.type not in payloads.WRITTEN:
        return None
    member = message.member
    return Envelope(
        address=place_of(channel, account, message.author.id),
        peer=peer_of(message.author, member),
        message_id=message.id,
        text=well_formed(message.content),
        parts=parts_of({name: getattr(message, name) for name in CONTENT}),
        sent_at=_seconds(message.timestamp),
        reply_to=None if message.message_reference is None else message.message_reference.message_id,
        guild=message.guild_id or channel.guild_id,
        roles=() if member is None else tuple(well_formed(role) for role in member.roles),
        bot=message.author.bot or message.webhook_id is not None,
        webhook=message.webhook_id,
    )


def press_of(pressed: payloads.InteractionData, channel: payloads.ChannelData, account: str, now: float) -> Envelope:
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


def edit_of(message: payloads.MessageData, whole: Envelope) -> Envelope:
    """The edit of a message, with the whole message. Edits have no id; Discord repeats an edit with the time."""
    name, deed = f"{message.id}/{message.edited_timestamp}", Deed(kind=DeedKind.EDIT, of=message.id)
    return msgspec.structs.replace(whole, message_id=name, deed=deed)


def deed_of(
    deed: Deed,
    name: str,
    channel: payloads.ChannelData,
    account: str,
    now: float,
    reaction: payloads.ReactionData | None = None,
) -> Envelope:
    """A reaction or its end, whose author has no name, or a deletion, without any author. `name`: of the event."""
    member = None if reaction is None else reaction.member
    user = None if member is None else member.user
    if reaction is not None:
        user = user or payloads.UserData(id=reaction.user_id)
    return Envelope(
        address=place_of(channel, account, "" if user is None else user.id),
        peer=Peer(id="") if user is None else peer_of(user, member),
        message_id=name,
        text="" if reaction is None else well_formed(as_text(reaction.emoji.get("name")) or "[emoji]"),
        sent_at=now,
        guild=channel.guild_id,
        bot=user is not None and user.bot,
        deed=deed,
    )


def place_of(channel: payloads.ChannelData, account: str, author: str) -> Address:
    """The place of a channel, thread or direct conversation; the latter has the id of the other participant."""
    kind = "guild_thread" if channel.type in payloads.THREADS else "guild_channel"
    user = None
    if channel.type == payloads.DM:
        kind, user = "dm", channel.recipients[0].id if channel.recipients else author
    elif channel.type == payloads.GROUP_DM:
        kind = "group_dm"
    message = DiscordMessage(
        kind=kind, conversation_id=channel.id, user_id=user, parent_id=channel.parent_id, guild_id=channel.guild_id
    )
    return read_inbound(message, account).address


def peer_of(user: payloads.UserData, member: payloads.MemberData | None) -> Peer:
    """A user with the displayed name."""
    names = (None if member is None else member.nick, user.global_name, user.username)
    return Peer(id=user.id, name=well_formed(next((name for name in names if name), "")))


def _seconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        raise BadEvent("a timestamp that is no time") from None
