"""From an update of Telegram to an envelope. Pure.

A topic is a thread of its group, also in private chats; "General" is the group itself. The number that Telegram puts
on replies outside of topics is that of a reply chain, see `trunkline.core.values.Envelope.threaded` (scenario B090).
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

import msgspec

from trunkline.core.adapters.telegram.update_types import (
    TelegramPost,
    TelegramPress,
    TelegramUpdate,
    TelegramUser,
    UpdateHead,
    update_of,
)
from trunkline.core.channels.platforms.telegram import TelegramMessage, read_inbound
from trunkline.core.values import Address, Envelope, Peer
from trunkline.core.well_formed import is_well_formed

#: in front of the id of a file that Telegram keeps; the address of the file itself contains the bot's token
FILE_PREFIX = "telegram-file:"
#: bytes of an update as JSON; a message has 4096 characters
_LARGEST = 1_000_000
_NUMBER = re.compile(rb'(?<!\\)"update_id"\s*:\s*([0-9]{1,18})')
_TYPES = ("private", "group", "supergroup", "channel")
#: ids and times that can be stored
_MOST_BITS = 63
#: what is wrong with an error of msgspec, without the values
_LONGEST = 300


class BadUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An unreadable update."""

    detail: str


class ReadUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """An update: the number, and the message or the fault; None for an update without a message."""

    #: None: not even its number can be read
    number: int | None
    content: Envelope | BadUpdate | None = None


def read_batch(body: bytes, account: str, bot: int) -> list[ReadUpdate] | None:
    """The updates in an answer to `getUpdates`, in the order of their numbers. `bot`: the bot's own id.

    None: the body as a whole cannot be read.
    """
    try:
        answer = json.loads(body.decode("utf-8", "surrogatepass"))
        found = cast("list[Any]", answer["result"])
        if not isinstance(found, list):  # pyright: ignore[reportUnnecessaryIsInstance] -- from outside
            return None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    updates = [read_update(update, account, bot, len(body)) for update in found]
    return sorted(updates, key=lambda update: -1 if update.number is None else update.number)


def read_body(body: bytes, account: str, bot: int) -> ReadUpdate:
    """The update in the body of a webhook call."""
    try:
        value = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        return ReadUpdate(number=number_in(body), content=BadUpdate(detail=f"no JSON: {type(error).__name__}"))
    return read_update(value, account, bot, len(body))


def number_in(body: bytes) -> int | None:
    """The number of the first update in a body without valid JSON."""
    found = _NUMBER.search(body)
    return None if found is None else int(found[1])


def read_update(value: Any, account: str, bot: int, size: int) -> ReadUpdate:
    """An update from a JSON value. `size`: the maximum number of bytes."""
    try:
        number = msgspec.convert(value, UpdateHead).update_id
    except msgspec.ValidationError as error:
        return ReadUpdate(number=None, content=BadUpdate(detail=str(error)[:_LONGEST]))
    if not 0 <= number < 2**_MOST_BITS:
        # An offset below 0 would make Telegram forget the updates before it.
        return ReadUpdate(number=None, content=BadUpdate(detail="update_id is no number of an update"))
    try:
        if size > _LARGEST and len(json.dumps(value)) > _LARGEST:
            return ReadUpdate(number=number, content=BadUpdate(detail=f"more than {_LARGEST} bytes"))
        return ReadUpdate(number=number, content=_content(update_of(value), account, bot))
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
        return ReadUpdate(number=number, content=BadUpdate(detail=str(error)[:_LONGEST]))


def _content(update: TelegramUpdate, account: str, bot: int) -> Envelope | None:
    post = update.message or update.channel_post
    if post is not None:
        return _message(post, account, bot)
    if update.callback_query is not None:
        return _press(update.callback_query, account)
    return None


def _message(post: TelegramPost, account: str, bot: int) -> Envelope | None:
    """A message; None for the bot's own."""
    if post.from_ is not None and post.from_.id == bot:
        return None
    address, threaded = _place(post, account)
    replied = None if post.reply_to_message is None else post.reply_to_message.message_id
    # Every message of a topic "replies" to the message that opened it.
    quotes = replied is not None and replied != post.message_thread_id
    return Envelope(
        address=address,
        peer=_author(post),
        message_id=_id(post.message_id),
        text=_text(post),
        sent_at=float(post.date),
        reply_to=str(replied) if quotes else None,
        threaded=threaded,
        bot=post.from_ is not None and post.from_.is_bot and post.sender_chat is None,
    )


def _press(press: TelegramPress, account: str) -> Envelope:
    """The press of a button. Raises `ValueError` for a button below a message without chat."""
    if press.message is None:
        raise ValueError("a button of a message without a chat")
    if not press.id or not is_well_formed(press.id):
        raise ValueError("the id of the press cannot be stored")
    address, threaded = _place(press.message, account)
    return Envelope(
        address=address,
        peer=_person(press.from_),
        message_id=press.id,
        text=press.data,
        # A press has no time of its own; that of its message may be long ago.
        sent_at=float(press.message.date),
        pressed=_id(press.message.message_id),
        threaded=threaded,
        bot=press.from_.is_bot,
    )


def _place(post: TelegramPost, account: str) -> tuple[Address, bool]:
    """The place of a message, and whether the thread is a topic."""
    if post.chat.type not in _TYPES:
        raise ValueError("a chat of an unknown type")
    found = read_inbound(
        TelegramMessage(
            chat_id=_id(post.chat.id),
            chat_type=post.chat.type,  # type: ignore[arg-type] -- checked above
            message_id=post.message_id,
            thread_id=post.message_thread_id,
            is_forum=post.chat.is_forum,
            is_topic=post.is_topic_message,
        ),
        account,
    )
    if found.threaded or post.message_thread_id is None:
        return found.address, True
    return msgspec.structs.replace(found.address, thread=_id(post.message_thread_id)), False


def _author(post: TelegramPost) -> Peer:
    """The author of a message: a person, or the group or channel in whose name a person wrote."""
    if post.sender_chat is not None:
        return Peer(id=_id(post.sender_chat.id), name=post.sender_chat.title)
    if post.from_ is not None:
        return _person(post.from_)
    return Peer(id=_id(post.chat.id), name=post.chat.title)


def _person(user: TelegramUser) -> Peer:
    return Peer(id=_id(user.id), name=user.name)


def _id(number: int) -> str:
    if number == 0 or number.bit_length() > _MOST_BITS:
        raise ValueError("an id that is none")
    return str(number)


def _text(post: TelegramPost) -> str:
    """The text or caption, what has no text in words, and a line ``MEDIA:<address>`` for the file."""
    lines = [post.text or post.caption] if post.text or post.caption else []
    if post.sticker is not None and post.sticker.emoji:
        lines.append(post.sticker.emoji)
    if post.location is not None:
        lines.append(f"[location: {post.location.latitude:.6f}, {post.location.longitude:.6f}]")
    if post.contact is not None:
        lines.append(f"[contact: {post.contact.first_name} {post.contact.phone_number}]")
    lines += [f"MEDIA:{FILE_PREFIX}{file.file_id}" for file in post.files]
    return "\n".join(lines)
