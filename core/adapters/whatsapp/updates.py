"""The webhooks of the Cloud API: messages, and reports about messages of the account. Pure.

Fields that are not known here are ignored. Each message is read by itself, so an unreadable message stops no other.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

import msgspec

from trunkline.core import message_parts
from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text
from trunkline.core.adapters.own_names import OwnAccount, OwnPost
from trunkline.core.adapters.whatsapp.errors import GraphError
from trunkline.core.channels.acts import album_of
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, Deed, DeedKind, Envelope, Peer
from trunkline.core.well_formed import is_well_formed, well_formed

T = TypeVar("T")
#: seconds since 1970; later is no time
_LATEST = 1e11
#: the fields of changes that are read: `message_echoes` are sent by the app of the account's own number
_FIELDS = ("messages", "smb_message_echoes", "message_echoes")
_LONGEST_ID = 512
#: kinds of messages in which nobody says anything, such as that somebody has a new number
_SAY_NOTHING = ("system", "ephemeral", "request_welcome", "edit", "revoke")


# The content of a message: the person's text, and the parts beside it, read from unknown JSON.

_FILES = {
    "image": message_parts.MediaKind.PICTURE,
    "video": message_parts.MediaKind.VIDEO,
    "audio": message_parts.MediaKind.SOUND,
    "voice": message_parts.MediaKind.VOICE,
    "document": message_parts.MediaKind.DOCUMENT,
    "sticker": message_parts.MediaKind.STICKER,
}
#: kinds whose message is a text alone
_TEXTS = ("text", "button")


def text_of(message: Json) -> str:
    content = as_object(message.get(as_text(message.get("type"))))
    return as_text(content.get("body")) or as_text(content.get("caption"))


def parts_of(message: Json) -> tuple[message_parts.Part, ...]:
    """The parts of a message. Every kind has one, apart from texts: also kinds that are not known."""
    context, advert = as_object(message.get("context")), as_object(message.get("referral"))
    parts: list[message_parts.Part] = []
    if context.get("forwarded") is True or context.get("frequently_forwarded") is True:
        parts.append(message_parts.ForwardPart())
    kind = as_text(message.get("type"))
    parts += [] if kind in _TEXTS else _content(kind, message.get(kind))
    if advert:
        words = as_text(advert.get("body"))
        title, url = as_text(advert.get("headline")), as_text(advert.get("source_url"))
        parts.append(message_parts.CardPart(title=title, text=words, url=url))
    if product := as_text(as_object(context.get("referred_product")).get("product_retailer_id")):
        parts.append(message_parts.OtherPart(what="about the product", text=product))
    return tuple(parts)


def _content(kind: str, value: object) -> list[message_parts.Part]:
    content = as_object(value)
    if kind in _FILES:
        shown = message_parts.MediaKind.VOICE if content.get("voice") is True else _FILES[kind]
        name, mime_type = as_text(content.get("filename")), as_text(content.get("mime_type"))
        return [message_parts.FilePart(file=shown, id=as_text(content.get("id")), name=name, mime_type=mime_type)]
    if kind == "location":
        return [_location(content)]
    if kind == "contacts":
        return [_contact(contact) for contact in as_objects(value)] or [message_parts.OtherPart(what="contacts")]
    if kind == "order":
        items = (
            f"{item.get('quantity')} x {item.get('product_retailer_id')}"
            for item in as_objects(content.get("product_items"))
        )
        words = ", ".join((*items, *filter(None, (as_text(content.get("text")),))))
        return [message_parts.OtherPart(what="order", text=words)]
    if kind == "interactive" and (form := as_object(content.get("nfm_reply"))):
        words = as_text(form.get("response_json")) or as_text(form.get("body"))
        return [message_parts.OtherPart(what="form", text=words)]
    if kind in ("unsupported", "unknown"):
        return [message_parts.OtherPart(what="a message that WhatsApp does not show to businesses")]
    return [message_parts.OtherPart(what=kind or "message")]


def _location(content: Json) -> message_parts.Part:
    name = ", ".join(filter(None, (as_text(content.get("name")), as_text(content.get("address")))))
    try:
        # Meta's schema has texts where its examples have numbers.
        latitude, longitude = (float(content.get(field) or "") for field in ("latitude", "longitude"))
    except (TypeError, ValueError):
        return message_parts.OtherPart(what="location", text=name)
    return message_parts.LocationPart(latitude=latitude, longitude=longitude, name=name)


def _contact(contact: Json) -> message_parts.ContactPart:
    name = as_object(contact.get("name"))
    reached = [
        as_text(phone.get("phone")) or as_text(phone.get("wa_id")) for phone in as_objects(contact.get("phones"))
    ]
    reached += [as_text(email.get("email")) for email in as_objects(contact.get("emails"))]
    shown = as_text(name.get("formatted_name")) or as_text(name.get("first_name"))
    return message_parts.ContactPart(name=shown, reached_at=tuple(filter(None, reached)))


class UnreadableWebhook(Exception):
    """A malformed body of a webhook, or a malformed part."""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a webhook without a message for the gateway."""

    id: str
    detail: str
    reason: Reason = Reason.BAD_UPDATE


class FailureReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a failed delivery of a message which Meta had accepted."""

    id: str
    recipient: str
    error: GraphError


class WebhookContent(msgspec.Struct, frozen=True, kw_only=True):
    messages: tuple[Envelope, ...] = ()
    failures: tuple[FailureReport, ...] = ()
    unread: tuple[Unread, ...] = ()
    #: ids of other numbers that a part of it is for
    others: tuple[str, ...] = ()


class _QuickReply(msgspec.Struct, frozen=True):
    text: str
    payload: str = ""


class _Choice(msgspec.Struct, frozen=True):
    id: str
    title: str = ""


class _Interactive(msgspec.Struct, frozen=True):
    button_reply: _Choice | None = None
    list_reply: _Choice | None = None


class _Context(msgspec.Struct, frozen=True):
    id: str | None = None


class _Message(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    id: str
    timestamp: str | int
    type: str
    sender: str | None = None
    from_user_id: str | None = None
    group_id: str | None = None
    context: _Context | None = None
    button: _QuickReply | None = None
    interactive: _Interactive | None = None


class _Profile(msgspec.Struct, frozen=True):
    name: str = ""


class _Contact(msgspec.Struct, frozen=True):
    wa_id: str | None = None
    user_id: str | None = None
    profile: _Profile | None = None


class _Status(msgspec.Struct, frozen=True):
    id: str
    status: str
    recipient_id: str | None = None
    errors: list[GraphError] = []


def read_webhook(body: bytes, number_id: str, account: str, own: OwnAccount) -> WebhookContent:
    """The content of a webhook for the number with an id; `own` learns the names of the number.

    Raises `UnreadableWebhook` for a malformed body.
    """
    try:
        # Not by msgspec: one half of a surrogate pair would make the whole body unreadable.
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableWebhook(f"the body is no JSON: {type(error).__name__}") from None
    if not isinstance(given, dict):
        raise UnreadableWebhook("the body is no JSON object")
    messages: list[Envelope] = []
    failures: list[FailureReport] = []
    unread: list[Unread] = []
    others: list[str] = []
    for value in _values(cast("dict[str, Any]", given), unread):
        metadata = value.get("metadata")
        number = cast("dict[str, Any]", metadata).get("phone_number_id") if isinstance(metadata, dict) else None
        if number != number_id:
            others.append(_short(number))
            continue
        own.learn(_digits(cast("dict[str, Any]", metadata).get("display_phone_number")))
        unread += [_echo(echo, own) for echo in _mappings(value.get("message_echoes"), unread)]
        unread += [_report(error) for error in _mappings(value.get("errors"), unread)]
        read = partial(_envelope, _contacts(value), account, own)
        for message in _mappings(value.get("messages"), unread):
            _collect(message, messages, unread, read)
        for status in _mappings(value.get("statuses"), unread):
            _collect(status, failures, unread, _failure)
    return WebhookContent(
        messages=tuple(messages), failures=tuple(failures), unread=tuple(unread), others=tuple(others)
    )


def _values(given: dict[str, Any], unread: list[Unread]) -> Iterator[dict[str, Any]]:
    for entry in _mappings(given.get("entry"), unread):
        for change in _mappings(entry.get("changes"), unread):
            if change.get("field") not in _FIELDS:
                continue
            value = change.get("value")
            if isinstance(value, dict):
                yield cast("dict[str, Any]", value)
            else:
                unread.append(Unread(id="", detail="a change has no value"))


def _echo(given: dict[str, Any], own: OwnAccount) -> Unread:
    """A message from the number's own app, whose author has names of the account."""
    own.learn(*(name for name in (given.get("from"), given.get("from_user_id")) if isinstance(name, str)))
    return Unread(id=_short(given.get("id")), detail="the number's own app sent it", reason=Reason.OWN_ECHO)


def _report(given: dict[str, Any]) -> Unread:
    """An error of the number itself, and of no message."""
    code, words = _short(given.get("code")), _short(given.get("message") or given.get("title"))
    return Unread(id="", detail=f"Meta reports the error {code}: {words}", reason=Reason.PLATFORM_ERROR)


def _digits(number: object) -> str:
    return "".join(letter for letter in _short(number) if letter in "0123456789")


def _mappings(found: object, unread: list[Unread]) -> Iterator[dict[str, Any]]:
    if found is None:
        return
    if not isinstance(found, list):
        unread.append(Unread(id="", detail="expected a list"))
        return
    for entry in cast("list[object]", found):
        if isinstance(entry, dict):
            yield cast("dict[str, Any]", entry)
        else:
            unread.append(Unread(id="", detail="expected an object in a list"))


def _collect(
    entry: dict[str, Any], found: list[T], unread: list[Unread], read: Callable[[dict[str, Any]], T | Unread | None]
) -> None:
    try:
        made = read(entry)
    except (UnreadableWebhook, msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        unread.append(Unread(id=_short(entry.get("id")), detail=well_formed(str(error))[:300]))
        return
    except OwnPost as post:
        unread.append(Unread(id=_short(entry.get("id")), detail=str(post), reason=Reason.OWN_ECHO))
        return
    if isinstance(made, Unread):
        unread.append(made)
    elif made is not None:
        found.append(made)


def _envelope(contacts: list[_Contact], account: str, own: OwnAccount, given: dict[str, Any]) -> Envelope | Unread:
    """A message as an envelope; nobody says anything in some kinds. Raises `OwnPost`."""
    message = msgspec.convert(given, _Message)
    own.check(message.sender, message.from_user_id)
    if message.type in _SAY_NOTHING:
        words = as_text(as_object(given.get("system")).get("body"))
        return Unread(id=_short(message.id), detail=f"{message.type} {words}".strip(), reason=Reason.SERVICE_MESSAGE)
    if message.type == "text" and not isinstance(as_object(given.get("text")).get("body"), str):
        raise UnreadableWebhook("a text without its text")
    who, name = _person(message, contacts)
    conversation = who if message.group_id is None else _checked(message.group_id, "group_id")
    reaction = as_object(given.get("reaction"))
    emoji, deed = as_text(reaction.get("emoji")), None
    if message.type == "reaction":
        # Without an emoji, the reaction is gone.
        kind_of_deed = DeedKind.REACT if emoji else DeedKind.UNREACT
        deed = Deed(kind=kind_of_deed, of=_checked(as_text(reaction.get("message_id")), "reaction"))
    kind = ChatKind.DIRECT if message.group_id is None else ChatKind.GROUP
    pressed = _choice(message)
    parts = parts_of(given) if pressed is None and deed is None else ()
    quoted = message.context.id if message.context is not None else None
    return Envelope(
        address=Address(channel="whatsapp", account=account, kind=kind, conversation=conversation),
        peer=Peer(id=who, name=well_formed(name)),
        message_id=_checked(message.id, "id"),
        text=well_formed(emoji or text_of(given) if pressed is None else pressed.id or pressed.title),
        parts=parts,
        act=album_of(parts),
        sent_at=_time(message.timestamp),
        reply_to=quoted if pressed is None and quoted and is_well_formed(quoted) else None,
        pressed=None if pressed is None or not quoted else _checked(quoted, "context"),
        deed=deed,
    )


def _person(message: _Message, contacts: list[_Contact]) -> tuple[str, str]:
    """Id and name of the sender: the phone number, or the business-scoped id of a person with a hidden number."""
    hidden = message.from_user_id or (contacts[0].user_id if len(contacts) == 1 and not message.sender else None)
    if not message.sender and not hidden:
        raise UnreadableWebhook("it has no sender")
    known = (
        contact
        for contact in contacts
        if (message.sender and contact.wa_id == message.sender) or (contact.user_id == hidden)
    )
    found = next(known, _Contact())
    name = "" if found.profile is None else found.profile.name
    if message.sender:
        number = _checked(message.sender, "from")
        return (f"+{number}" if number.isascii() and number.isdecimal() else number), name
    return _checked(hidden or "", "from_user_id"), name


def _time(given: str | int) -> float:
    seconds = float(given)
    if seconds >= _LATEST:
        # Some of Meta's servers write milliseconds.
        seconds /= 1000
    if not 0 <= seconds < _LATEST:
        raise UnreadableWebhook("its timestamp is no time")
    return seconds


def _choice(message: _Message) -> _Choice | None:
    if message.type == "interactive" and message.interactive is not None:
        return message.interactive.button_reply or message.interactive.list_reply
    if message.type == "button" and message.button is not None:
        return _Choice(id=message.button.payload or message.button.text, title=message.button.text)
    return None


def _contacts(value: dict[str, Any]) -> list[_Contact]:
    """The senders of a webhook. An unreadable contact costs only the name."""
    found: list[_Contact] = []
    for contact in _mappings(value.get("contacts"), []):
        try:
            found.append(msgspec.convert(contact, _Contact))
        except (msgspec.MsgspecError, ValueError):
            continue
    return found


def _failure(given: dict[str, Any]) -> FailureReport | None:
    status = msgspec.convert(given, _Status)
    if status.status != "failed":
        return None
    error = status.errors[0] if status.errors else GraphError()
    return FailureReport(id=_checked(status.id, "id"), recipient=well_formed(status.recipient_id or ""), error=error)


def _checked(id: str, name: str) -> str:  # noqa: A002 -- the word
    if not 0 < len(id) <= _LONGEST_ID or not is_well_formed(id) or not id.isprintable():
        raise UnreadableWebhook(f"{name} is no id")
    return id


def _short(value: object) -> str:
    return well_formed(str(value))[:100] if isinstance(value, str | int) else ""
