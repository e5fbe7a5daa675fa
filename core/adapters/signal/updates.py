"""The events of signal-cli. Pure. Unknown fields are ignored."""

import json
from typing import Any, cast

import msgspec

from trunkline.core import message_parts
from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text, as_texts
from trunkline.core.adapters.own_names import OwnAccount
from trunkline.core.values import DeedKind
from trunkline.core.well_formed import is_well_formed, well_formed

_LONGEST_ID = 200
#: parts of a message that make it something else than a message: a reaction, a deletion, a vote, ...
_NO_MESSAGE = ("pollVote", "pollTerminate", "pinMessage", "unpinMessage", "adminDelete")


class SignalEventError(Exception):
    """An event is malformed, or the message could not be decrypted."""


class SaidMessage(msgspec.Struct, frozen=True, kw_only=True):
    #: phone number, or the account id of somebody who hides it
    author: str
    #: the account id
    uuid: str | None
    name: str
    #: id of the group; None: it was written to the account alone
    group: str | None
    #: the time of sending in milliseconds, which is its id
    time: int
    text: str
    parts: tuple[message_parts.Part, ...]
    #: time of the message that it quotes
    quotes: int | None
    #: it says nothing, but is done to a message: the time and the author of that; empty: the same author
    deed: DeedKind | None = None
    of: tuple[int, str] = (0, "")


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    group_id: str
    type: str = "DELIVER"


class _Quote(msgspec.Struct, frozen=True):
    id: int


class _Mention(msgspec.Struct, frozen=True):
    start: int
    length: int
    name: str | None = None
    number: str | None = None
    uuid: str | None = None


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    timestamp: int
    message: str | None = None
    group_info: _Group | None = None
    quote: _Quote | None = None
    mentions: tuple[_Mention, ...] | None = None


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    source: str | None = None
    source_number: str | None = None
    source_uuid: str | None = None
    source_name: str | None = None
    data_message: dict[str, Any] | None = None
    edit_message: dict[str, Any] | None = None
    sync_message: dict[str, Any] | None = None


class _Failure(msgspec.Struct, frozen=True):
    type: str = ""


class _Event(msgspec.Struct, frozen=True):
    envelope: _Envelope | None = None
    account: str | None = None
    exception: _Failure | None = None


def read_event(data: str, number: str, own: OwnAccount) -> SaidMessage | None:
    """The message of an event for the account with a number, or a deed; None for any other event.

    Receipts and typing are none. Raises `SignalEventError`, and `OwnPost` with all names of the
    author: of a message, or of an event from another device of the account.
    """
    try:
        # Not by msgspec: half of a surrogate pair in a text must not make the message unreadable.
        given = json.loads(data)
        event = msgspec.convert(given, _Event)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise SignalEventError(_words(error)) from None
    if event.account is not None and event.account.startswith("+") and event.account != number:
        return None
    envelope = event.envelope
    if envelope is not None and (envelope.data_message or envelope.edit_message or envelope.sync_message):
        own.check(envelope.source_number, envelope.source_uuid, envelope.source)
    if envelope is not None and envelope.edit_message is not None:
        edit = envelope.edit_message
        return _said(envelope, as_object(edit.get("dataMessage")), edit.get("targetSentTimestamp", 0))
    if envelope is None or envelope.data_message is None:
        if event.exception is not None:
            raise SignalEventError(f"signal-cli could not read it: {well_formed(event.exception.type)[:100]}")
        return None
    return _said(envelope, envelope.data_message)


def _said(envelope: _Envelope, given: dict[str, Any], edits: object = None) -> SaidMessage | None:
    """A message or a deed. `edits`: the time of the edited message."""
    if any(given.get(name) is not None for name in _NO_MESSAGE):
        return None
    try:
        data = msgspec.convert(given, _Data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SignalEventError(_words(error)) from None
    parts = parts_of(given)
    deed, of, whose, emoji = _deed_in(given, edits)
    if deed is None and not data.message and not any(map(message_parts.says_something, parts)):
        return None
    author = envelope.source_number or envelope.source_uuid or envelope.source
    if not author:
        raise SignalEventError("it has no source")
    if not 0 < data.timestamp < 10**18:
        raise SignalEventError("its timestamp is no time")
    return SaidMessage(
        author=_checked(author, "source"),
        uuid=envelope.source_uuid,
        name=well_formed(envelope.source_name or ""),
        group=None if data.group_info is None else _checked(data.group_info.group_id, "groupId"),
        time=data.timestamp,
        text=well_formed(emoji or _with_names(data.message or "", data.mentions or ())),
        parts=parts,
        deed=deed,
        of=(of, whose),
        quotes=data.quote.id if data.quote is not None and 0 < data.quote.id < 10**18 else None,
    )


def _deed_in(given: Json, edits: object) -> tuple[DeedKind | None, int, str, str]:
    """The kind of a deed, time and author of the message (empty: the author of the deed), and the emoji."""
    reaction, deletion = as_object(given.get("reaction")), as_object(given.get("remoteDelete"))
    kind, of = (None if edits is None else DeedKind.EDIT), edits
    if deletion:
        kind, of = DeedKind.DELETE, deletion.get("timestamp")
    elif reaction:
        kind = DeedKind.UNREACT if reaction.get("isRemove") is True else DeedKind.REACT
        of = reaction.get("targetSentTimestamp")
    if kind is None:
        return None, 0, "", ""
    if not isinstance(of, int) or not 0 < of < 10**18:
        raise SignalEventError("it does not say which message it is about")
    whose = as_text(reaction.get("targetAuthorNumber")) or as_text(reaction.get("targetAuthor"))
    return kind, of, whose, as_text(reaction.get("emoji"))


def _with_names(text: str, mentions: tuple[_Mention, ...]) -> str:
    """The text with the mentioned names in place of their placeholders, whose ranges are in UTF-16 code units."""
    units = text.encode("utf-16-le", "surrogatepass")
    for mention in sorted(mentions, key=lambda mention: mention.start, reverse=True):
        start, end = 2 * mention.start, 2 * (mention.start + mention.length)
        if 0 <= start < end <= len(units):
            name = f"@{mention.name or mention.number or mention.uuid or ''}"
            units = units[:start] + name.encode("utf-16-le", "surrogatepass") + units[end:]
    return units.decode("utf-16-le", "surrogatepass")


def _checked(id: str, name: str) -> str:  # noqa: A002 -- the word
    if not 0 < len(id) <= _LONGEST_ID or not is_well_formed(id) or not id.isprintable():
        raise SignalEventError(f"{name} is no id")
    return id


def _words(error: Exception) -> str:
    return well_formed(str(cast("object", error)))[:300] or type(error).__name__


def parts_of(data: Json) -> tuple[message_parts.Part, ...]:
    """The parts of a message, as signal-cli writes it."""
    parts: list[message_parts.Part] = []
    if quote := as_object(data.get("quote")):
        files = [_file(file).words for file in as_objects(quote.get("attachments"))]
        words = as_text(quote.get("text")) or "\n".join(files)
        author = as_text(quote.get("authorNumber")) or as_text(quote.get("author"))
        if words:
            parts.append(message_parts.QuotePart(text=words, author=author, message_id=str(quote.get("id", ""))))
    if data.get("storyContext"):
        parts.append(message_parts.OtherPart(what="answer to a story"))
    parts += [_file(file) for file in as_objects(data.get("attachments"))]
    if data.get("sticker"):
        parts.append(message_parts.FilePart(file=message_parts.MediaKind.STICKER))
    parts += [_contact(contact) for contact in as_objects(data.get("contacts"))]
    if poll := as_object(data.get("pollCreate")):
        options = tuple(as_texts(poll.get("options")))
        parts.append(message_parts.PollPart(question=as_text(poll.get("question")), options=options))
    if data.get("payment"):
        parts.append(message_parts.OtherPart(what="payment", text=as_text(as_object(data["payment"]).get("note"))))
    for preview in as_objects(data.get("previews")):
        words = as_text(preview.get("description"))
        url, title = as_text(preview.get("url")), as_text(preview.get("title"))
        parts.append(message_parts.CardPart(text=words, title=title, url=url, preview=True))
    return tuple(parts)


def _file(file: Json) -> message_parts.FilePart:
    mime_type, size = as_text(file.get("contentType")), file.get("size")
    # Voice notes are recorded as AAC, and have no name.
    voice = mime_type in ("audio/aac", "audio/mp4") and not file.get("filename")
    return message_parts.FilePart(
        file=message_parts.MediaKind.VOICE if voice else message_parts.MediaKind.of(mime_type),
        id=as_text(file.get("id")),
        name=as_text(file.get("filename")) or as_text(file.get("fileName")),
        mime_type=mime_type,
        size=size if isinstance(size, int) else None,
        about=as_text(file.get("caption")),
    )


def _contact(contact: Json) -> message_parts.ContactPart:
    name = as_object(contact.get("name"))
    shown = as_text(name.get("display")) or as_text(name.get("given")) or as_text(contact.get("organization"))
    ways = (*as_objects(contact.get("phone")), *as_objects(contact.get("email")))
    reached = [as_text(way.get("value")) for way in ways]
    return message_parts.ContactPart(name=shown, reached_at=tuple(filter(None, reached)))
