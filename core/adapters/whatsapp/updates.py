"""The webhooks of the Cloud API: messages, and reports about messages of the account. Pure.

Fields that are not known here are ignored. Each message is read by itself, so an unreadable message stops no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

import msgspec

from trunkline.core.adapters.whatsapp.errors import GraphError
from trunkline.core.values import Address, ChatKind, Envelope, Peer
from trunkline.core.well_formed import is_well_formed, well_formed

T = TypeVar("T")
#: seconds since 1970; later is no time
_LATEST = 1e11
#: characters of an id
_LONGEST_ID = 512
#: kinds of messages that say nothing: somebody reacted, or has a new number
_SAY_NOTHING = ("reaction", "system", "ephemeral", "request_welcome", "edit", "revoke")


class UnreadableWebhook(Exception):
    """A malformed body of a webhook, or a malformed part."""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """An unreadable part of a webhook."""

    id: str
    detail: str


class FailureReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a failed delivery of a message which Meta had accepted."""

    id: str
    recipient: str
    error: GraphError


class WebhookContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a webhook for an account, in order."""

    messages: tuple[Envelope, ...] = ()
    failures: tuple[FailureReport, ...] = ()
    unread: tuple[Unread, ...] = ()
    #: ids of other numbers that a part of it is for
    others: tuple[str, ...] = ()


class _Text(msgspec.Struct, frozen=True):
    body: str


class _File(msgspec.Struct, frozen=True):
    caption: str = ""


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
    text: _Text | None = None
    image: _File | None = None
    video: _File | None = None
    document: _File | None = None
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


def read_webhook(body: bytes, number_id: str, account: str) -> WebhookContent:
    """The content of a webhook for the number with an id. Raises `UnreadableWebhook` for a malformed body."""
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
        read = partial(_envelope, _contacts(value), account)
        for message in _mappings(value.get("messages"), unread):
            _collect(message, messages, unread, read)
        for status in _mappings(value.get("statuses"), unread):
            _collect(status, failures, unread, _failure)
    return WebhookContent(
        messages=tuple(messages), failures=tuple(failures), unread=tuple(unread), others=tuple(others)
    )


def _values(given: dict[str, Any], unread: list[Unread]) -> Iterator[dict[str, Any]]:
    """The values of all changes about messages."""
    for entry in _mappings(given.get("entry"), unread):
        for change in _mappings(entry.get("changes"), unread):
            if change.get("field") != "messages":
                continue
            value = change.get("value")
            if isinstance(value, dict):
                yield cast("dict[str, Any]", value)
            else:
                unread.append(Unread(id="", detail="a change has no value"))


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
    entry: dict[str, Any], found: list[T], unread: list[Unread], read: Callable[[dict[str, Any]], T | None]
) -> None:
    try:
        made = read(entry)
    except (UnreadableWebhook, msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        unread.append(Unread(id=_short(entry.get("id")), detail=well_formed(str(error))[:300]))
        return
    if made is not None:
        found.append(made)


def _envelope(contacts: list[_Contact], account: str, given: dict[str, Any]) -> Envelope | None:
    """A message as an envelope; None for a message without content."""
    message = msgspec.convert(given, _Message)
    if message.type in _SAY_NOTHING:
        return None
    if message.type == "unsupported":
        raise UnreadableWebhook("WhatsApp does not show messages of this type to businesses")
    who, name = _person(message, contacts)
    conversation = who if message.group_id is None else _checked(message.group_id, "group_id")
    kind = ChatKind.DIRECT if message.group_id is None else ChatKind.GROUP
    pressed = _choice(message)
    quoted = message.context.id if message.context is not None else None
    return Envelope(
        address=Address(channel="whatsapp", account=account, kind=kind, conversation=conversation),
        peer=Peer(id=who, name=well_formed(name)),
        message_id=_checked(message.id, "id"),
        text=well_formed(_text(message) if pressed is None else pressed.id or pressed.title),
        sent_at=_time(message.timestamp),
        reply_to=quoted if pressed is None and quoted and is_well_formed(quoted) else None,
        pressed=None if pressed is None or not quoted else _checked(quoted, "context"),
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
    if not 0 <= seconds < _LATEST:
        raise UnreadableWebhook("its timestamp is no time")
    return seconds


def _choice(message: _Message) -> _Choice | None:
    if message.type == "interactive" and message.interactive is not None:
        return message.interactive.button_reply or message.interactive.list_reply
    if message.type == "button" and message.button is not None:
        return _Choice(id=message.button.payload or message.button.text, title=message.button.text)
    return None


def _text(message: _Message) -> str:
    if message.type == "text":
        if message.text is None:
            raise UnreadableWebhook("a text without its text")
        return message.text.body
    file = message.image or message.video or message.document
    return "" if file is None else file.caption


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
