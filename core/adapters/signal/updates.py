"""The events of signal-cli. Pure. Unknown fields are ignored."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from trunkline.core.well_formed import is_well_formed, well_formed

#: characters of an id
_LONGEST_ID = 200
#: parts of a message that make it something else than a message: a reaction, a deletion, a vote, ...
_NO_MESSAGE = (
    "reaction",
    "remoteDelete",
    "pollVote",
    "pollTerminate",
    "pinMessage",
    "unpinMessage",
    "adminDelete",
    "storyContext",
)
#: parts that say something without words
_WORDLESS = ("attachments", "sticker", "contacts", "pollCreate", "payment")


class SignalEventError(Exception):
    """An event is malformed, or its message could not be decrypted."""


class SaidMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a person."""

    #: phone number, or the account id of somebody who hides it
    author: str
    name: str
    #: id of the group; None: it was written to the account alone
    group: str | None
    #: the time of sending in milliseconds, which is its id
    time: int
    text: str
    #: time of the message that it quotes
    quotes: int | None


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


class _Failure(msgspec.Struct, frozen=True):
    type: str = ""


class _Event(msgspec.Struct, frozen=True):
    envelope: _Envelope | None = None
    account: str | None = None
    exception: _Failure | None = None


def read_event(data: str, number: str) -> SaidMessage | None:
    """The message of an event for the account with a number; None for any other event.

    Receipts, typing, reactions, edits, and what the account's other devices sent are none. Raises `SignalEventError`.
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
    if envelope is None or envelope.data_message is None:
        if event.exception is not None:
            raise SignalEventError(f"signal-cli could not read it: {well_formed(event.exception.type)[:100]}")
        return None
    return _said(envelope, envelope.data_message, number)


def _said(envelope: _Envelope, given: dict[str, Any], number: str) -> SaidMessage | None:
    if any(given.get(name) is not None for name in _NO_MESSAGE):
        return None
    try:
        data = msgspec.convert(given, _Data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SignalEventError(_words(error)) from None
    if not data.message and not any(given.get(name) for name in _WORDLESS):
        return None
    author = envelope.source_number or envelope.source_uuid or envelope.source
    if not author:
        raise SignalEventError("it has no source")
    if author == number:
        return None
    if not 0 < data.timestamp < 10**18:
        raise SignalEventError("its timestamp is no time")
    return SaidMessage(
        author=_checked(author, "source"),
        name=well_formed(envelope.source_name or ""),
        group=None if data.group_info is None else _checked(data.group_info.group_id, "groupId"),
        time=data.timestamp,
        text=well_formed(_with_names(data.message or "", data.mentions or ())),
        quotes=data.quote.id if data.quote is not None and 0 < data.quote.id < 10**18 else None,
    )


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
